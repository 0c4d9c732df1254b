//! `toolhost workspaces templates`, `start`, `stop` and `log`: workspaces on machines of their own.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost_plugin::shown;
use toolhost_service::signals::{self, Hangup};
use toolhost_service::stderr;
use toolhost_state::workspace_name::WorkspaceName;

use super::text;
use crate::cli::output::closed;
use crate::cli::table::{self, columns};
use crate::cli::{Common, print, remote};

/// How long one request waits for a line that is followed, in seconds.
const LISTENS: u64 = 60;

#[derive(Debug, Args)]
pub(super) struct Templates {
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
pub(super) struct Start {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
pub(super) struct Log {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    /// Go on with the lines that come, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
pub(super) struct Stop {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    /// End what runs in it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    remote: remote::Remote,
}

/// Reads `NAME=VALUE`.
pub(super) fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write a parameter as NAME=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    Ok((name.to_owned(), value))
}

pub(super) async fn templates(common: &Common, options: &Templates) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Row {
        name: String,
        provider: String,
        workspaces: u64,
        title: Option<String>,
    }
    let found = options.remote.required(common)?.templates().await?;
    if common.json {
        return found.iter().try_for_each(|one| print(&one.to_string()));
    }
    if found.is_empty() {
        stderr::line(format_args!("toolhost: the server has no [templates]"));
        return Ok(());
    }
    let mut rows = vec![["NAME", "PROVIDER", "WORKSPACES", "TITLE"].map(str::to_owned)];
    for one in &found {
        let row = Row::deserialize(one)?;
        let title = row.title.unwrap_or_default();
        let workspaces = row.workspaces.to_string();
        rows.push([&row.name, &row.provider, &workspaces, &title].map(|text| shown(text)));
    }
    print(&columns(&rows, table::width(), 0..1))
}

pub(super) async fn start(common: &Common, options: &Start) -> anyhow::Result<()> {
    let server = options.remote.required(common)?;
    let asked = json!({ "action": "start" });
    let started = server.control_workspace(&options.name, &asked).await?;
    common.report(&text::render(&started), &started)
}

pub(super) async fn stop(common: &Common, options: &Stop) -> anyhow::Result<()> {
    let server = options.remote.required(common)?;
    let asked = json!({ "action": "stop", "force": options.force });
    let stopped = server.control_workspace(&options.name, &asked).await?;
    common.report(&text::render(&stopped), &stopped)
}

pub(super) async fn log(common: &Common, options: &Log) -> anyhow::Result<()> {
    let mut stop = std::pin::pin!(signals::ended(Hangup::Ends));
    let server = options.remote.required(common)?;
    let (mut after, wait) = (0, if options.follow { LISTENS } else { 0 });
    loop {
        let page = tokio::select! {
            () = &mut stop => return Ok(()),
            () = closed() => return Ok(()),
            page = server.workspace_log(&options.name, after, wait) => page?,
        };
        if !page.log.is_empty() || !options.follow {
            common.report(page.log.trim_end(), &json!({ "log": page.log }))?;
        }
        if !options.follow {
            return Ok(());
        }
        after = page.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_json_or_a_text() {
        for (text, value) in [
            ("a=1", json!(1)),
            ("a=true", json!(true)),
            ("a=debian", json!("debian")),
            ("a=\"1\"", json!("1")),
            ("a=", json!("")),
            ("a=b=c", json!("b=c")),
        ] {
            assert_eq!(parameter(text), Ok(("a".to_owned(), value)), "{text}");
        }
        assert!(parameter("a").is_err());
    }
}
