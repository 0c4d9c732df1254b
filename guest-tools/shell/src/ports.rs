//! The TCP ports on which a command listens, and the addresses at which the user opens them.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use toolhost_sdk::processes::{Error, ListeningPort, Process};

use crate::notes::{self, Notes, Rank};
use crate::report::Report;
use crate::wait;

/// A port, in a reply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Port {
    port: u16,
    /// The address at which the user opens the server there.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The time from which on it leads nowhere, in seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_unix: Option<u64>,
}

/// Waits for the first port of a process, and returns all that it has then.
pub(crate) fn wait(
    process: &dyn Process,
    timeout: Duration,
    begin: Instant,
) -> Result<Vec<ListeningPort>, Error> {
    process.listening(wait::left(timeout, begin))
}

/// Adds ports to the report of a process.
pub(crate) fn show(ports: Vec<ListeningPort>, report: &mut Report, notes: &mut Notes) {
    let is_running = report.running == Some(true);
    let is_shown = ports.iter().any(|port| port.url.is_some());
    match ports.is_empty() {
        true if is_running => notes.add(Rank::Running, notes::NO_PORT),
        false if is_shown => notes.add(Rank::Running, notes::PORT_FOR_USER),
        false => notes.add(Rank::Running, notes::PORT_FOR_NOBODY),
        true => {}
    }
    let ports = ports.into_iter().map(|port| Port {
        port: port.number,
        url: port.url,
        expires_at_unix: port.expires_at,
    });
    report.ports = ports.collect();
}
