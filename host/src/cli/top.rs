//! `toolhost top`.

mod rows;
mod terminal;
mod view;

use std::io::IsTerminal as _;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::remote::{self, Now, Snapshot};
use super::{Common, print, table};
use toolhost_service::signals::{self, Hangup};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost top
  toolhost top --json | head -n 1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = Arc::new(options.remote.required(common)?);
    let mut now = Now::new(Arc::clone(&server));
    if common.json {
        let mut stop = pin!(signals::ended(Hangup::Ends));
        loop {
            let next = tokio::select! {
                () = &mut stop => return Ok(ExitCode::SUCCESS),
                // Nothing may change for long, so that nothing is written.
                () = super::output::closed() => return Ok(ExitCode::SUCCESS),
                next = now.next() => next?,
            };
            if !super::output::write(format!("{next}\n").as_bytes())? {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let snapshot = Snapshot::read(&now.next().await?)?;
        let rows = rows::of(&snapshot, None);
        print(&rows::table(&rows, table::width()).join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Errors of the first look are told before the terminal is taken over.
    let first = Snapshot::read(&now.next().await?)?;
    terminal::run(server, now, first).await
}
