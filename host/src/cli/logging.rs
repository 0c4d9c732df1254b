//! Log output, always to standard error.

use std::io::{self, IsTerminal};

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::stderr;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging for this process.
pub(super) fn start(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter: EnvFilter = filter
        .parse()
        .with_context(|| format!("{filter:?} is no log filter"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // The default reports a failed write with `eprintln!`, which panics if the reader is gone.
        .log_internal_errors(false)
        .with_writer(|| stderr::Log);
    let started = match format {
        LogFormat::Text => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            builder.with_ansi(colours).with_target(false).try_init()
        }
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}
