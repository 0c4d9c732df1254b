//! `toolhost kill`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Common, exit_code, print, remote};
use toolhost_plugin::shown;
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost kill 7c0e91
  toolhost kill --signal TERM --grace 30s 7c0e91
  toolhost kill --signal INT 7c0e91 --json";

/// The names that signals have besides those of the server.
const SIGNALS: [(&str, i32, &str); 7] = [
    ("HUP", 1, "hangup"),
    ("INT", 2, "interrupt"),
    ("QUIT", 3, "quit"),
    ("KILL", 9, "kill"),
    ("USR1", 10, "user1"),
    ("USR2", 12, "user2"),
    ("TERM", 15, "terminate"),
];

/// The signal that is followed by another one.
const TERMINATE: &str = "terminate";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The ids of processes, or the first characters of them
    #[arg(value_name = "PROCESS", required = true)]
    processes: Vec<String>,
    /// The signal: KILL, TERM, INT, HUP, QUIT, USR1 or USR2, also as SIGKILL or 9
    #[arg(short, long, value_name = "SIGNAL", default_value = "KILL", value_parser = signal)]
    signal: &'static str,
    /// With TERM: after how long a process that is still there is killed [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = toolhost_service::time::time)]
    grace: Option<Duration>,
    /// The chat of the processes; a token with a list of tools must name it
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    remote: remote::Remote,
}

/// Reads a signal, and returns the name that the server has for it.
fn signal(text: &str) -> Result<&'static str, String> {
    let upper = text.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = SIGNALS.iter().find(|(name, number, own)| {
        *name == short || text == number.to_string() || text.eq_ignore_ascii_case(own)
    });
    let names: Vec<_> = SIGNALS.iter().map(|(name, ..)| *name).collect();
    let own = known.map(|(_, _, own)| *own);
    own.ok_or_else(|| format!("a signal is one of {}", names.join(", ")))
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    if options.grace.is_some() && options.signal != TERMINATE {
        anyhow::bail!(
            "--grace has no effect without --signal TERM: other signals are not followed by KILL"
        );
    }
    let server = options.remote.required(common)?;
    let grace = options.grace.map(|grace| u64::try_from(grace.as_millis()));
    let grace = grace.transpose()?;
    // No process is signalled unless all of them are known.
    let mut found = Vec::new();
    for id in &options.processes {
        found.push(
            server
                .find_process(id, options.chat.as_ref())
                .await?
                .process,
        );
    }
    let mut all_got_it = true;
    for process in found {
        if !process.is_live() {
            all_got_it = false;
            let (id, status) = (shown(&process.id), super::ps::status(&process));
            stderr::line(format_args!(
                "toolhost: the process {id} has ended: {status}"
            ));
            continue;
        }
        let chat = process.chat()?;
        let stood = server
            .signal(&chat, &process.id, options.signal, grace)
            .await?;
        match common.json {
            true => {
                let line = json!({
                    "id": process.id, "chat": chat.as_str(), "command": process.command, "signal": options.signal,
                    "status": stood.get("status"),
                });
                print(&line.to_string())?;
            }
            false => print(&process.id)?,
        }
    }
    Ok(exit_code(all_got_it))
}

#[cfg(test)]
mod tests {
    use toolhost_workspace::process::Signal;

    use super::*;

    #[test]
    fn signals_have_the_names_of_kill() {
        for text in ["KILL", "SIGKILL", "kill", "sigkill", "9"] {
            assert_eq!(signal(text), Ok("kill"), "{text}");
        }
        assert_eq!(signal("terminate"), Ok("terminate"));
        assert_eq!(signal("usr1"), Ok("user1"));
        for (_, _, own) in SIGNALS {
            assert!(Signal::NAMES.contains(&own), "{own}");
        }
        for bad in ["", "SIG", "0", "-9", "STOP"] {
            assert!(signal(bad).unwrap_err().contains("KILL"), "{bad}");
        }
    }
}
