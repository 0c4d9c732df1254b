//! Log output, always to standard error.

mod lines;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use parking_lot::RwLock;
use tracing::Level;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use super::stderr;
use lines::{Lines, Look};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The environment variable with the format. A flag takes precedence over it.
pub(crate) const FORMAT_VARIABLE: &str = "TOOLHOST_LOG_FORMAT";

/// The format of all lines, set before the first one.
static LOOK: RwLock<Look> = RwLock::new(Look::Text { colours: false });

impl LogFormat {
    fn look(self) -> Look {
        match self {
            Self::Text => {
                let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                Look::Text { colours }
            }
            Self::Json => Look::Json,
        }
    }
}

/// Sets the format that the arguments name before they are parsed, so that parse errors use this format.
pub fn expect(arguments: &[OsString]) {
    const FLAG: &str = "--log-format";
    let mut format = std::env::var(FORMAT_VARIABLE).ok();
    let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix(FLAG) {
            Some("") => format = arguments.next().map(Into::into),
            Some(value) => format = value.strip_prefix('=').map(Into::into).or(format),
            None => {}
        }
    }
    let format = format.and_then(|format| LogFormat::from_str(&format, false).ok());
    set(format.unwrap_or(LogFormat::Text).look());
}

fn set(look: Look) {
    *LOOK.write() = look;
}

fn look() -> Look {
    *LOOK.read()
}

/// Returns whether lines are JSON.
pub(crate) fn is_json() -> bool {
    matches!(look(), Look::Json)
}

/// Queues a line that no log filter suppresses. With `--log-format json`, the line has these fields.
pub fn notice(text: impl Display, fields: &[(&'static str, &str)]) {
    stderr::push(look().notice(Level::INFO, &text.to_string(), fields));
}

/// Returns the file to which the lines go; `None` if they go to a terminal, a pipe or a socket. The lines of a server tell its token, or a
/// link to its console.
pub fn log_file() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/2").ok()?;
    path.is_file().then_some(path)
}

/// Queues the reason of a failure.
pub fn failure(text: impl Display) {
    stderr::push(failure_line(text));
}

/// Returns the log line of a failure. In the format for people it names the program.
pub(crate) fn failure_line(text: impl Display) -> String {
    let line = |text: &str| look().notice(Level::ERROR, text, &[]);
    match look() {
        Look::Text { .. } => line(&format!("toolhost: {text}")),
        Look::Json => line(&text.to_string()),
    }
}

/// Returns the line about so many lines that are missing in front of it.
pub(crate) fn missing(count: u64) -> String {
    failure_line(format_args!(
        "{count} lines are missing here, as nobody read them"
    ))
}

/// Returns the arguments as parsed by clap. If they are not valid, prints why and ends the program.
pub fn accepted<T>(parsed: Result<T, clap::Error>) -> T {
    parsed.unwrap_or_else(|error| {
        if !error.use_stderr() || !is_json() {
            error.exit()
        }
        let text = error.render().to_string();
        let line = failure_line(text.trim_start_matches("error: ").trim_end());
        _ = io::stderr().write_all(line.as_bytes());
        std::process::exit(error.exit_code())
    })
}

/// The export of spans to a collector, if it is built in and configured. Dropping this sends the last spans.
#[derive(Debug)]
pub struct Spans {
    #[cfg(feature = "otel")]
    export: Option<toolhost_call::trace::otel::Export>,
}

/// Starts logging for this process. Starts no thread.
pub(crate) fn start(filter: &str, format: LogFormat) -> anyhow::Result<Spans> {
    let filter = filtered(filter)?;
    let look = format.look();
    set(look);
    if format == LogFormat::Json {
        std::panic::set_hook(Box::new(|panic| {
            tracing::error!(%panic, "a thread panicked");
        }));
    }
    // The filter applies to log lines only: exported spans do not depend on it.
    let subscriber = tracing_subscriber::registry().with(Lines::new(look).with_filter(filter));
    #[cfg(feature = "otel")]
    let export = toolhost_call::trace::otel::Export::configured();
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(
        export
            .as_ref()
            .map(toolhost_call::trace::otel::Export::layer),
    );
    let started = subscriber.try_init();
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    Ok(Spans {
        #[cfg(feature = "otel")]
        export,
    })
}

/// Checks the text of a filter.
pub(crate) fn filter(text: &str) -> Result<String, &'static str> {
    let valid = text.parse::<EnvFilter>().is_ok();
    valid
        .then(|| text.to_owned())
        .ok_or("write a level such as info, or a filter such as toolhost=debug")
}

/// Libraries whose lines are left out, unless the filter names them: those of `rmcp` contain messages of clients, in any length, and the pool
/// of connections to a database has a line for each that is lost, while the host says once that the database cannot be reached.
const SILENT: [&str; 2] = ["rmcp", "deadpool"];

/// Parses a filter.
fn filtered(text: &str) -> anyhow::Result<EnvFilter> {
    let filter: EnvFilter = text
        .parse()
        .with_context(|| format!("{text:?} is no log filter"))?;
    let mut filter = filter;
    for name in SILENT.iter().filter(|name| !text.contains(*name)) {
        filter = filter.add_directive(format!("{name}=off").parse()?);
    }
    Ok(filter)
}

impl Spans {
    /// Starts to send spans. Threads may be started from here on.
    pub(crate) fn connect(&self) {
        #[cfg(feature = "otel")]
        if let Some(export) = &self.export
            && let Err(error) = export.connect()
        {
            tracing::warn!(%error, "spans are not exported");
        }
        #[cfg(not(feature = "otel"))]
        if let Some(variable) = wanted(|name| std::env::var(name).ok()) {
            tracing::warn!(
                variable,
                "no spans are exported, as this program was built without OpenTelemetry; build it with `cargo build --release --features otel`"
            );
        }
    }
}

/// Returns the name of the environment variable that enables the export of spans, if one is set.
#[cfg(not(feature = "otel"))]
fn wanted(variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is = |name, value: &str| variable(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let endpoints = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ];
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    endpoints.into_iter().find(is_set)
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
    #[cfg(not(feature = "otel"))]
    fn an_endpoint_asks_for_spans_unless_they_are_turned_off() {
        let wanted_of = |variables: &[(&str, &str)]| {
            wanted(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let (endpoint, traces) = (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        );
        assert_eq!(wanted_of(&[]), None);
        assert_eq!(wanted_of(&[(endpoint, "")]), None);
        assert_eq!(wanted_of(&[(endpoint, "http://x")]), Some(endpoint));
        assert_eq!(wanted_of(&[(traces, "http://x")]), Some(traces));
        for off in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            assert_eq!(wanted_of(&[(endpoint, "http://x"), off]), None);
        }
    }

    #[test]
    fn what_rmcp_says_is_asked_for_by_name() {
        for (text, has) in [
            ("warn,toolhost=info", false),
            ("trace", false),
            ("warn,rmcp=debug", true),
        ] {
            let filter = filtered(text).unwrap().to_string();
            assert_eq!(filter.contains("rmcp=off"), !has, "{filter}");
            assert!(filter.contains("deadpool=off"), "{filter}");
        }
        assert!(filtered("a=b=c").is_err());
    }
}
