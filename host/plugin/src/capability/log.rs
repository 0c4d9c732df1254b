//! `toolhost:plugin/log`: lines for the operator's log.

use tracing::Level;
use wasmtime::Result;
use wasmtime::component::Linker;

use super::bindings::toolhost::plugin::log as wit;
use super::{CallContext, Of, State, View};
use crate::line_log::LineLog;

impl LineLog {
    /// Begins a call.
    pub(super) fn begin(context: &CallContext) -> Self {
        context.log.clone()
    }
}

/// Links the interface.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    wit::add_to_linker::<State, Of<LineLog>>(linker, State::view)
}

impl wit::Host for View<'_, LineLog> {
    async fn log(&mut self, level: wit::Level, message: String) -> Result<()> {
        let level = match level {
            wit::Level::Debug => Level::DEBUG,
            wit::Level::Info => Level::INFO,
            wit::Level::Warn => Level::WARN,
            wit::Level::Error => Level::ERROR,
        };
        self.state.line(level, &message);
        Ok(())
    }
}
