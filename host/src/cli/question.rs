//! Questions on the terminal that are answered with yes or no.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use toolhost_service::signals::{self, Hangup};

/// Asks a question, and returns whether the answer is yes. An interrupt is a no.
pub(super) async fn ask(question: &str) -> anyhow::Result<bool> {
    let interrupted = signals::ended(Hangup::Ends);
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "toolhost: {question} [y/N] ").context("cannot write to the terminal")?;
    terminal.flush().context("cannot write to the terminal")?;
    drop(terminal);
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        answer = answer => {
            let answer = answer?.context("cannot read the answer")?;
            Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
        }
        () = interrupted => Ok(false),
    }
}
