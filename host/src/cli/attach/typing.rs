//! `toolhost attach --input`: what comes in on standard input goes to the process.

use std::io::{IsTerminal as _, Read as _, Stdout};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use termion::raw::{IntoRawMode as _, RawTerminal};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver};

use crate::cli::remote::{Process, Refusal, Server};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// Ctrl-], which detaches, as with telnet.
const DETACH: u8 = 0x1d;

/// How many pieces of input wait to be sent.
const WAITING: usize = 16;

/// The largest terminal that the server makes.
const MOST_COLUMNS: u16 = 300;
const MOST_ROWS: u16 = 100;

/// The most bytes that are sent at once.
const PIECE: usize = 16 << 10;

/// What happened at this end.
pub(super) enum Event {
    /// These bytes were typed, and more can come.
    Typed(Vec<u8>),
    /// Standard input has ended.
    End,
    /// The terminal has another size.
    Resized,
    /// Ctrl-] was pressed.
    Detach,
}

/// Standard input, on its way to a process.
pub(super) struct Typing<'s> {
    server: &'s Server,
    chat: ChatId,
    id: String,
    /// Whether the process has a terminal.
    to_terminal: bool,
    /// This terminal in raw mode, if both are terminals. Dropping it brings back what was there.
    raw: Option<RawTerminal<Stdout>>,
    typed: Receiver<Vec<u8>>,
    has_ended: bool,
    resized: Signal,
}

impl<'s> Typing<'s> {
    /// Begins to read standard input. A terminal of the process gets the size of this one.
    pub(super) async fn begin(server: &'s Server, process: &Process) -> anyhow::Result<Self> {
        anyhow::ensure!(
            process.takes_input,
            "the process {} takes no input: its command was started without a terminal and without an open input",
            process.id
        );
        let to_terminal = process.screen.is_some();
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let raw = match to_terminal && is_terminal {
            true => Some(
                std::io::stdout()
                    .into_raw_mode()
                    .context("cannot use the terminal")?,
            ),
            false => None,
        };
        let (send, typed) = mpsc::channel(WAITING);
        // Not a task: a read that waits for a key cannot be cancelled, and would keep the program from its end.
        std::thread::spawn(move || {
            let mut buffer = [0; PIECE];
            let mut stdin = std::io::stdin().lock();
            while let Ok(count @ 1..) = stdin.read(&mut buffer) {
                let piece = buffer.get(..count).unwrap_or_default().to_vec();
                if send.blocking_send(piece).is_err() {
                    return;
                }
            }
        });
        let typing = Self {
            server,
            chat: process.chat()?,
            id: process.id.clone(),
            to_terminal,
            raw,
            typed,
            has_ended: false,
            resized: signal(SignalKind::window_change()).context("cannot handle signals")?,
        };
        typing.resize().await?;
        Ok(typing)
    }

    /// Returns whether this terminal is in raw mode, in which Ctrl-C goes to the process.
    pub(super) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Brings back what the terminal was.
    pub(super) fn leave_raw_mode(&mut self) {
        self.raw = None;
    }

    /// Waits for what happens at this end. Cancel safe.
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            typed = self.typed.recv(), if !self.has_ended => match typed {
                None => Event::End,
                Some(bytes) if self.is_raw() && bytes.contains(&DETACH) => Event::Detach,
                Some(bytes) => Event::Typed(bytes),
            },
            Some(()) = self.resized.recv(), if self.is_raw() => Event::Resized,
            else => std::future::pending().await,
        }
    }

    /// Tells the process of it.
    pub(super) async fn pass_on(&mut self, event: Event) -> anyhow::Result<()> {
        let passed = match event {
            Event::Typed(bytes) => self.send(text(bytes)).await,
            Event::End => {
                self.has_ended = true;
                self.send(json!({ "close": true })).await
            }
            Event::Resized => self.resize().await,
            Event::Detach => Ok(()),
        };
        passed.or_else(|error| self.note(error))
    }

    async fn resize(&self) -> anyhow::Result<()> {
        match termion::terminal_size() {
            Ok((columns @ 2.., rows @ 2..)) if self.to_terminal && self.is_raw() => {
                let (columns, rows) = (columns.min(MOST_COLUMNS), rows.min(MOST_ROWS));
                self.send(json!({ "size": { "rows": rows, "columns": columns } }))
                    .await
            }
            _ => Ok(()),
        }
    }

    async fn send(&self, input: Value) -> anyhow::Result<()> {
        self.server.input(&self.chat, &self.id, &input).await
    }

    /// Goes on after an input that the process did not take: it may have closed its input, or ended.
    fn note(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if Refusal::within(&error).is_none_or(|refusal| refusal.code != "no_input") {
            return Err(error);
        }
        let end = if self.is_raw() { "\r" } else { "" };
        stderr::line(format_args!("toolhost: {error}{end}"));
        self.has_ended = !self.is_raw();
        Ok(())
    }
}

/// Returns bytes as the body of a request.
fn text(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(error) => json!({ "base64": STANDARD.encode(error.as_bytes()) }),
    }
}
