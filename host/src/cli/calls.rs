//! `toolhost calls`.

pub(super) mod table;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::lookup::Source;
use super::remote::{self, Filter};
use super::{Common, print, table as tables};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;
use toolhost_state::unix_time;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost calls --since 1h --failed
  toolhost calls --chat support-42
  toolhost calls --tool execute --text 'make: ***' --limit 1000 --json
  toolhost calls --server http://127.0.0.1:7411 --token-file token";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Only calls of this chat [default: of all chats]
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only calls that began within this time, such as 30m, 1h or "2days 12h"
    #[arg(long, value_name = "TIME", value_parser = toolhost_service::time::time)]
    since: Option<Duration>,
    /// Only calls that did not succeed: the tool replied with an error or with "success": false, the host ended them, they were
    /// cancelled, or it cannot be said how they ended
    #[arg(long)]
    failed: bool,
    /// Only calls with this text in their reply, or in their arguments if the host keeps these (--keep-arguments)
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// The most calls that are printed
    #[arg(long, value_name = "N", default_value = "50", value_parser = limit)]
    limit: NonZeroUsize,
    #[command(flatten)]
    remote: remote::Remote,
}

/// Reads the most calls that are printed.
fn limit(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse()
        .map_err(|_| "write how many calls to print, at least 1")
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let since = options.since.map(|since| {
        let begin = SystemTime::now().checked_sub(since).unwrap_or(UNIX_EPOCH);
        unix_time::to_ms(begin)
    });
    let source = Source::new(common, &options.remote)?;
    let filter = Filter {
        chat: options.chat,
        call: None,
        tool: options.tool,
        since_ms: since,
        failed: options.failed,
        running: false,
        text: options.text,
    };
    let (mut left, mut after) = (options.limit.get(), None);
    let mut calls = Vec::new();
    loop {
        let page = source.page(&filter, left, after).await?;
        left -= page.calls.len().min(left);
        if common.json {
            for call in &page.calls {
                print(&serde_json::to_string(call)?)?;
            }
        }
        calls.extend(page.calls);
        after = page.next;
        if left == 0 || after.is_none() {
            break;
        }
    }
    if common.json {
        return Ok(ExitCode::SUCCESS);
    }
    if calls.is_empty() {
        stderr::line(format_args!(
            "toolhost: there is no such call; toolhost chats lists the chats that there are"
        ));
    } else {
        print(&table::render(&calls, tables::width()))?;
    }
    if after.is_some() {
        stderr::line(format_args!(
            "toolhost: there may be older calls; see more of them with --limit"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_nothing_is_told() {
        assert_eq!(limit("7").map(NonZeroUsize::get), Ok(7));
        for text in ["0", "-1", "x"] {
            assert_eq!(
                limit(text),
                Err("write how many calls to print, at least 1")
            );
        }
    }
}
