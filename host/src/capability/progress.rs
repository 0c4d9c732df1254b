//! `toolhost:plugin/progress`: how far a call has come. It is in the log at debug level; no caller can listen yet.

use wasmtime::Result;

use super::View;
use super::wit::progress::Host;

impl Host for View<'_> {
    async fn report(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<()> {
        let total = total
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        let message = message
            .map(|message| format!(": {message}"))
            .unwrap_or_default();
        self.scope.log.line(
            tracing::Level::DEBUG,
            &format!("progress {done}{total}{message}"),
        );
        Ok(())
    }
}
