//! The styles of the reply of a call: JSON, its texts, or text for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::people;
use super::screen::Streamed;
use crate::cli::{Common, exit_code, print};
use toolhost_call::call::Outcome;
use toolhost_call::tool::Content;
use toolhost_service::logging;
use toolhost_workspace::process::Info;

/// The options about the reply.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub(in crate::cli) struct Output {
    /// Print the parts of the reply that are text as they are, and those that are JSON as JSON; an error goes to standard error. Otherwise, a terminal shows the output while the
    /// command runs and the reply for people, and a pipe gets the reply as JSON on one line
    #[arg(long)]
    text: bool,
}

/// How a reply is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Style {
    Json,
    Text,
    /// On a terminal.
    People,
}

impl Output {
    /// Returns how the reply is printed.
    pub(in crate::cli) fn style(self, common: &Common) -> anyhow::Result<Style> {
        match (self.text, common.json) {
            (true, true) => {
                anyhow::bail!("--text and --json exclude each other: leave one of them out")
            }
            (true, false) => Ok(Style::Text),
            (false, false) if std::io::stdout().is_terminal() => Ok(Style::People),
            (false, _) => Ok(Style::Json),
        }
    }
}

impl Style {
    /// Prints the reply, and returns the exit code. `ended`: the processes that had to be ended with the call.
    pub(super) fn print(
        self,
        outcome: &Outcome,
        ended: &[Info],
        streamed: Streamed,
    ) -> anyhow::Result<ExitCode> {
        // A cancelled call has a reply, but only with partial results.
        let failed = outcome.cancelled || outcome.is_error();
        let reply = reply(outcome, ended)?;
        let failed = failed || reply.get("success") == Some(&json!(false));
        match (&outcome.result, self) {
            (_, Self::People) => {
                for line in people::lines(outcome, streamed)? {
                    print(&line)?;
                }
            }
            (Err(error), Self::Text) => logging::failure(error),
            (Ok(reply), Self::Text) => print_texts(&reply.content)?,
            (_, Self::Json) => print(&reply.to_string())?,
        }
        Ok(exit_code(!failed))
    }
}

/// Prints the texts and the JSON of a reply as they are, and a line for every other part.
fn print_texts(parts: &[Content]) -> anyhow::Result<()> {
    for part in parts {
        let text = match part {
            Content::Text { text } => text.trim_end_matches('\n').to_owned(),
            Content::Json { json } => json.get().to_owned(),
            other => {
                let part = serde_json::to_value(other)?;
                let text = |key| part.get(key).and_then(Value::as_str).unwrap_or_default();
                format!(
                    "({} {}, {} bytes)",
                    text("type"),
                    text("media_type"),
                    other.size()
                )
            }
        };
        print(&text)?;
    }
    Ok(())
}

/// Returns the printed form of an outcome: one part bare, several as `content`, a tool error as `error`.
fn reply(outcome: &Outcome, ended: &[Info]) -> serde_json::Result<Value> {
    let mut reply = match &outcome.result {
        Err(error) => json!({ "error": error }),
        Ok(reply) => match reply.content.as_slice() {
            [Content::Json { json }] => serde_json::from_str(json.get())?,
            parts => json!({ "content": parts }),
        },
    };
    if let Value::Object(fields) = &mut reply
        && !ended.is_empty()
    {
        let ended = ended
            .iter()
            .map(|info| json!({ "id": info.id, "command": info.command }))
            .collect::<Vec<_>>();
        fields.insert("ended_processes".into(), ended.into());
    }
    Ok(reply)
}
