//! Questions on the terminal: those for yes or no, and those for a text.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use toolhost_service::signals::{self, Hangup};

/// Asks a question, and returns whether the answer is yes. An interrupt is a no.
pub(super) async fn ask(question: &str) -> anyhow::Result<bool> {
    let answer = line(&format!("toolhost: {question} [y/N] ")).await?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// Asks a question, and returns the answer, or the usual one if the answer is empty; `None` after an interrupt or at the end of the input.
pub(super) async fn answer(question: &str, usual: &str) -> anyhow::Result<Option<String>> {
    let answer = line(&format!("{question}\n[{usual}] ")).await?;
    Ok(answer.map(|answer| match &*answer {
        "" => usual.to_owned(),
        _ => answer,
    }))
}

/// Returns the next line of the input, without blanks around it; `None` after an interrupt or at the end of the input.
async fn line(prompt: &str) -> anyhow::Result<Option<String>> {
    let interrupted = signals::ended(Hangup::Ends);
    let mut terminal = std::io::stderr().lock();
    write!(terminal, "{prompt}").context("cannot write to the terminal")?;
    terminal.flush().context("cannot write to the terminal")?;
    drop(terminal);
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .map(|count| (count, line))
    });
    tokio::select! {
        answer = answer => {
            let (count, line) = answer?.context("cannot read the answer")?;
            Ok((count > 0).then(|| line.trim().to_owned()))
        }
        () = interrupted => Ok(None),
    }
}
