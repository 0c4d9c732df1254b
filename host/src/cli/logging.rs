//! Log output, always to standard error.

mod lines;

use std::io::{self, IsTerminal};

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use lines::{Lines, Look};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends spans to a collector, where that is built in and asked for. Dropped, it sends the last ones.
#[derive(Debug)]
pub(super) struct Spans {
    #[cfg(feature = "otel")]
    export: Option<crate::trace::otel::Export>,
}

/// Starts logging for this process. Starts no thread.
pub(super) fn start(filter: &str, format: LogFormat) -> anyhow::Result<Spans> {
    let filter = filtered(filter)?;
    let look = match format {
        LogFormat::Text => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            Look::Text { colours }
        }
        LogFormat::Json => Look::Json,
    };
    // The filter is for lines alone: what is exported does not depend on what is logged.
    let subscriber = tracing_subscriber::registry().with(Lines::new(look).with_filter(filter));
    #[cfg(feature = "otel")]
    let export = crate::trace::otel::Export::configured();
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(export.as_ref().map(crate::trace::otel::Export::layer));
    let started = subscriber.try_init();
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    Ok(Spans {
        #[cfg(feature = "otel")]
        export,
    })
}

/// Reads a filter. What `rmcp` says is in it only if it is asked for by name: lines that have what clients sent in them,
/// however long that is.
fn filtered(text: &str) -> anyhow::Result<EnvFilter> {
    let filter: EnvFilter = text
        .parse()
        .with_context(|| format!("{text:?} is no log filter"))?;
    match text.contains("rmcp") {
        true => Ok(filter),
        false => Ok(filter.add_directive("rmcp=off".parse()?)),
    }
}

impl Spans {
    /// Starts sending them. Threads may be started from here on.
    pub(super) fn connect(&self) {
        #[cfg(feature = "otel")]
        if let Some(export) = &self.export
            && let Err(error) = export.connect()
        {
            tracing::warn!(%error, "spans are not exported");
        }
    }
}

#[cfg(feature = "otel")]
impl Drop for Spans {
    fn drop(&mut self) {
        if let Some(export) = &self.export {
            export.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rmcp_says_is_asked_for_by_name() {
        for (text, has) in [
            ("warn,toolhost=info", false),
            ("trace", false),
            ("warn,rmcp=debug", true),
        ] {
            let filter = filtered(text).unwrap().to_string();
            assert_eq!(filter.contains("rmcp=off"), !has, "{filter}");
        }
        assert!(filtered("a=b=c").is_err());
    }
}
