//! `toolhost logs`.

use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::{Writer, closed};
use super::remote::{self, Follower};
use toolhost_service::signals::{self, Hangup};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost logs 7c0e91
  toolhost logs --tail 20 --follow 7c0e91
  toolhost logs --since 65536 7c0e91 --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The id of a process, or the first characters of it
    process: String,
    /// Go on with the output that comes, until the process ends or Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Begin at this byte of the output, which --json names as `offset`; output has no times
    #[arg(
        long,
        value_name = "BYTE",
        default_value = "0",
        conflicts_with = "tail",
        value_parser = byte
    )]
    since: u64,
    /// Print only the last lines of the output that there is
    #[arg(short = 'n', long, value_name = "LINES")]
    tail: Option<u64>,
    /// The chat of the process; a token with a list of tools must name it
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    remote: remote::Remote,
}

/// Parses the place of a byte.
fn byte(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        "it is no number of a byte. Output has no times: for its last lines use --tail LINES, and for what comes from now on use \
         `toolhost attach`"
            .to_owned()
    })
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = options.remote.required(common)?;
    let found = server.find_process(&options.process, options.chat.as_ref());
    let process = found.await?.process;
    let id = &process.id;
    let since = match options.tail {
        Some(lines) => tail(&server, &process.chat()?, id, lines).await?,
        None => options.since,
    };
    let mut follower = match options.follow {
        true => Follower::new(&server, &process, since).await?,
        false => Follower::kept(&server, &process, since)?,
    };
    let mut writer = Writer::new(id, common.json);
    let stop = signals::ended(Hangup::Ends);
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = tokio::select! {
            biased;
            () = &mut stop => break,
            () = closed() => break,
            next = follower.next() => next,
        };
        match next {
            Ok(Some(piece)) => {
                if !writer.write(&piece)? {
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => {
                let instead = if options.tail.is_some() {
                    " instead of --tail"
                } else {
                    ""
                };
                stderr::line(format_args!(
                    "toolhost: to go on, run the same command with --since {}{instead}",
                    follower.cursor()
                ));
                return Err(error);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How much output is read at once to look for lines, in bytes.
const STEP: u64 = 64 << 10;

/// Returns the cursor at which the last lines begin.
async fn tail(server: &remote::Server, chat: &ChatId, id: &str, lines: u64) -> anyhow::Result<u64> {
    let total = server.output(chat, id, 0, LEAST).await?.total;
    let (mut end, mut left) = (total, lines);
    while end > 0 && left > 0 {
        let begin = end.saturating_sub(STEP);
        let max = usize::try_from(end - begin)?.max(LEAST);
        let read = server.output(chat, id, begin, max).await?;
        let kept = begin.max(read.offset);
        let read = read.bytes.get(..usize::try_from(end.saturating_sub(kept))?);
        let read = read.unwrap_or_default();
        // The end of the last line begins no other.
        let read = match end == total {
            true => read.strip_suffix(b"\n").unwrap_or(read),
            false => read,
        };
        if let Some(start) = start_of_lines(read, &mut left) {
            return Ok(kept + start as u64);
        }
        if kept > begin {
            // The output before is no longer kept.
            return Ok(kept);
        }
        end = begin;
    }
    Ok(end)
}

/// The fewest bytes of output that a server returns.
const LEAST: usize = 4;

/// Returns where the last `left` lines begin; `None`, and how many of them lie further ahead, if they do not begin here.
fn start_of_lines(bytes: &[u8], left: &mut u64) -> Option<usize> {
    for (index, _) in bytes
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'\n')
    {
        *left -= 1;
        if *left == 0 {
            return Some(index + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_the_end() {
        let start = |text: &str, mut left: u64| {
            let start = start_of_lines(text.as_bytes(), &mut left);
            (start, left)
        };
        assert_eq!(start("a\nb\nc", 1), (Some(4), 0));
        assert_eq!(start("a\nb\nc", 2), (Some(2), 0));
        assert_eq!(start("a\nb\nc", 3), (None, 1));
        assert_eq!(start("\n\n", 2), (Some(1), 0));
        assert_eq!(start("", 2), (None, 2));
    }
}
