//! The terminal of `toolhost top`: keys, redrawing, and the ends of processes.

use std::fmt::Write as _;
use std::io::{self, Stdout, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use termion::cursor::{Goto, HideCursor};
use termion::event::Key;
use termion::input::TermRead as _;
use termion::raw::{IntoRawMode as _, RawTerminal};
use termion::screen::{AlternateScreen, IntoAlternateScreen as _};
use termion::{clear, style};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver};

use super::rows::Target;
use super::view::{Action, View};
use crate::cli::remote::{Now, Server, Snapshot};
use crate::cli::table::padded;
use toolhost_service::signals::{self, Hangup};

/// How long a server is left alone after it could not be reached.
const PAUSE: Duration = Duration::from_secs(1);

/// The terminal in raw mode. Dropping it brings back what was there.
struct Terminal(HideCursor<AlternateScreen<RawTerminal<Stdout>>>);

impl Terminal {
    fn take() -> io::Result<Self> {
        let screen = io::stdout().into_raw_mode()?.into_alternate_screen()?;
        Ok(Self(HideCursor::from(screen)))
    }

    /// Returns columns and lines.
    fn size() -> (usize, usize) {
        match termion::terminal_size() {
            Ok((width @ 1.., height @ 1..)) => (width.into(), height.into()),
            // Some terminals do not say.
            _ => (80, 24),
        }
    }

    fn draw(&mut self, view: &mut View) -> anyhow::Result<()> {
        let (width, height) = Self::size();
        let mut all = String::new();
        for (line, row) in view.lines(width, height).iter().zip(1..) {
            // Behind a full line, the cursor stands on its last character.
            _ = write!(all, "{}{}", Goto(1, row), clear::UntilNewline);
            _ = match line.is_selected {
                true => write!(
                    all,
                    "{}{}{}",
                    style::Invert,
                    padded(&line.text, width),
                    style::Reset
                ),
                false => write!(all, "{}", line.text),
            };
        }
        let written = self
            .0
            .write_all(all.as_bytes())
            .and_then(|()| self.0.flush());
        written.context("cannot write to the terminal")
    }
}

/// Shows what runs until a key or a signal ends that.
pub(super) async fn run(
    server: Arc<Server>,
    now: Now,
    first: Snapshot,
) -> anyhow::Result<ExitCode> {
    let mut stop = std::pin::pin!(signals::ended(Hangup::Ends));
    let mut resized = signal(SignalKind::window_change()).context("cannot handle signals")?;
    let mut snapshots = follow(now);
    let (said, mut messages) = mpsc::unbounded_channel();
    let mut terminal = Terminal::take().context("cannot draw on the terminal")?;
    let mut keys = keys();
    let mut view = View::new(first);
    loop {
        terminal.draw(&mut view)?;
        tokio::select! {
            () = &mut stop => break,
            _ = resized.recv() => {}
            snapshot = snapshots.recv() => match snapshot {
                Some(Ok(snapshot)) => view.update(snapshot),
                Some(Err(error)) => view.say(error),
                None => break,
            },
            Some(message) = messages.recv() => view.say(message),
            key = keys.recv() => match key.map(|key| view.key(key, Terminal::size().1)) {
                None | Some(Action::Quit) => break,
                Some(Action::None) => {}
                Some(Action::End(target)) => {
                    let (server, said) = (Arc::clone(&server), said.clone());
                    tokio::spawn(async move {
                        let text = match end(&server, &target).await {
                            Ok(text) => text,
                            Err(error) => format!("{error:#}"),
                        };
                        _ = said.send(text);
                    });
                }
            },
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Looks at what runs, in a task of its own: drawing and keys cut no look short.
fn follow(mut now: Now) -> Receiver<Result<Snapshot, String>> {
    let (to, snapshots) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let next = now.next().await.and_then(|value| Snapshot::read(&value));
            let failed = next.is_err();
            if to
                .send(next.map_err(|error| format!("{error:#}")))
                .await
                .is_err()
            {
                return;
            }
            if failed {
                tokio::time::sleep(PAUSE).await;
            }
        }
    });
    snapshots
}

/// Reads keys, on a thread that ends with the program.
fn keys() -> UnboundedReceiver<Key> {
    let (to, keys) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for key in io::stdin().keys().map_while(Result::ok) {
            if to.send(key).is_err() {
                return;
            }
        }
    });
    keys
}

/// Ends a process, or cancels a call, and says what happened.
async fn end(server: &Server, target: &Target) -> anyhow::Result<String> {
    match target {
        Target::Call { chat, id } => {
            let (chat, id) = (chat.parse()?, id.parse()?);
            let cancelled = crate::cli::cancel::cancel(server, &chat, &id).await?;
            Ok(cancelled.lines(&id).join("; "))
        }
        Target::Process { chat, id, .. } => {
            let chat = chat.as_deref().context("the process belongs to no chat")?;
            server.signal(&chat.parse()?, id, "terminate", None).await?;
            Ok(format!(
                "process {} was told to end; it is killed after 5s if it does not",
                crate::cli::table::short_id(id)
            ))
        }
    }
}
