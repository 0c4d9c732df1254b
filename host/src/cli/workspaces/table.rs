//! Workspaces as a table for people: a line for each.

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use toolhost_plugin::shown;

use crate::cli::table::{self, columns, time};

const HEAD: [&str; 6] = ["NAME", "PROVIDER", "STATE", "CHATS", "PROCESSES", "USED"];

/// The part of a workspace that the table shows.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    provider: String,
    state: String,
    chats: Option<u64>,
    processes: Option<u64>,
    used_at_unix_ms: Option<u64>,
}

/// Returns a line for each workspace.
pub(super) fn render(found: &[Value]) -> anyhow::Result<String> {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for one in found {
        let row = Row::deserialize(one).context("the server's answer is no list of workspaces")?;
        let number = |number: Option<u64>| number.map_or("-".to_owned(), |n| n.to_string());
        rows.push([
            shown(&row.name),
            shown(&row.provider),
            shown(&row.state),
            number(row.chats),
            number(row.processes),
            row.used_at_unix_ms.map_or("-".to_owned(), time),
        ]);
    }
    Ok(columns(&rows, table::width(), 0..1))
}
