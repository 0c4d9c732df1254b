//! Following the output of a process: first the output that is kept, then what comes.

use super::processes::Output;
use super::{Events, Process, Server};
use toolhost_state::id::{CallId, ChatId};

/// How much output one request asks for, in bytes.
const PAGE: usize = 1 << 20;

/// A follower of the output of one process.
pub(in crate::cli) struct Follower<'s> {
    server: &'s Server,
    chat: ChatId,
    id: String,
    /// The cursor of the next byte.
    cursor: u64,
    /// The cursor at which a reader that does not follow stops, once it is known: a process may write faster than it is read.
    until: Option<u64>,
    events: Option<Events>,
    phase: Phase,
    /// Output behind a gap that was returned first.
    held: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Output may be kept that was not read yet.
    Behind,
    /// All is read; events tell of more.
    Level,
    /// The process is over, and some of its output may not be read yet.
    Ending,
    Over,
}

/// A part of the output.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Piece {
    /// Bytes, and the cursor of the first.
    Output(u64, Vec<u8>),
    /// So many bytes from this cursor on are no longer kept.
    Gap(u64, u64),
}

impl<'s> Follower<'s> {
    /// Follows a process from a cursor on.
    pub(in crate::cli) async fn new(
        server: &'s Server,
        process: &Process,
        cursor: u64,
    ) -> anyhow::Result<Self> {
        let (chat, id) = (process.chat()?, process.id.as_str());
        let call = process.call.as_deref().map(str::parse::<CallId>);
        let events = server.events(&chat, call.transpose()?.as_ref()).await?;
        // The events tell of everything that happens after this look.
        let is_live = server.process(&chat, id).await?.is_live();
        let phase = if is_live {
            Phase::Behind
        } else {
            Phase::Ending
        };
        let follower = Self::kept(server, process, cursor)?;
        Ok(Self {
            events: Some(events),
            phase,
            ..follower
        })
    }

    /// Reads the output of a process from a cursor on, as far as it goes now.
    pub(in crate::cli) fn kept(
        server: &'s Server,
        process: &Process,
        cursor: u64,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            server,
            chat: process.chat()?,
            id: process.id.clone(),
            cursor,
            until: None,
            events: None,
            phase: Phase::Ending,
            held: None,
        })
    }

    /// Returns the cursor behind everything that was returned.
    pub(in crate::cli) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Returns how the process stands.
    pub(in crate::cli) async fn process(&self) -> anyhow::Result<Process> {
        self.server.process(&self.chat, &self.id).await
    }

    /// Returns the next piece; `None` when nothing can follow and, if this follows, the shell of the process has ended.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached any more.
    pub(in crate::cli) async fn next(&mut self) -> anyhow::Result<Option<Piece>> {
        if let Some(bytes) = self.held.take() {
            return Ok(Some(self.output(bytes)));
        }
        loop {
            match self.phase {
                Phase::Over => return Ok(None),
                Phase::Level => {
                    if let Some(bytes) = self.listen().await? {
                        return Ok(Some(self.output(bytes)));
                    }
                }
                Phase::Behind | Phase::Ending => {
                    let read = self.server.output(&self.chat, &self.id, self.cursor, PAGE);
                    let read = read.await?;
                    let is_whole = read.end;
                    if let Some(piece) = self.take(read) {
                        return Ok(Some(piece));
                    }
                    // A shell that runs may have closed its output, or is about to end.
                    if is_whole && self.phase == Phase::Level && !self.process().await?.runs() {
                        self.phase = Phase::Over;
                    }
                }
            }
        }
    }

    /// Takes output that was read. Without any, goes over to the next phase.
    fn take(&mut self, mut read: Output) -> Option<Piece> {
        if self.events.is_none() {
            let until = *self.until.get_or_insert(read.total);
            let left = until.saturating_sub(read.offset);
            read.bytes
                .truncate(usize::try_from(left).unwrap_or(usize::MAX));
        }
        if read.offset > self.cursor {
            let gap = Piece::Gap(self.cursor, read.offset - self.cursor);
            self.cursor = read.offset;
            self.held = Some(read.bytes).filter(|bytes| !bytes.is_empty());
            return Some(gap);
        }
        if !read.bytes.is_empty() {
            return Some(self.output(read.bytes));
        }
        self.phase = match self.phase {
            Phase::Ending => Phase::Over,
            _ => Phase::Level,
        };
        None
    }

    fn output(&mut self, bytes: Vec<u8>) -> Piece {
        let offset = self.cursor;
        self.cursor += bytes.len() as u64;
        Piece::Output(offset, bytes)
    }

    /// Waits for an event of the process. Returns the bytes that it brings, if they come next.
    async fn listen(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let heard = match &mut self.events {
            Some(events) => events.next().await?,
            None => None,
        };
        let Some(heard) = heard else {
            // The server ends the stream when it stops, and when the chat is over.
            let is_live = self.process().await?.is_live();
            anyhow::ensure!(!is_live, "the server ended the stream of events");
            self.phase = Phase::Ending;
            return Ok(None);
        };
        if heard.name == "chat_ended" || heard.name == "reset" {
            self.phase = Phase::Behind;
            return Ok(None);
        }
        if heard.text("process") != Some(&self.id) {
            return Ok(None);
        }
        match (heard.name.as_str(), heard.output()) {
            ("output", Some((offset, mut bytes))) => {
                // Output that was read already, perhaps up to the middle of this event.
                let known = self.cursor.checked_sub(offset);
                let known = known.and_then(|known| usize::try_from(known).ok());
                match known {
                    Some(known) if known < bytes.len() => return Ok(Some(bytes.split_off(known))),
                    Some(_) => {}
                    None => self.phase = Phase::Behind,
                }
            }
            ("gap", _) => self.phase = Phase::Behind,
            ("process", _) => match heard.text("status") {
                Some("running") => {}
                // Its output may be over.
                Some("lingering") => self.phase = Phase::Behind,
                _ => self.phase = Phase::Ending,
            },
            _ => {}
        }
        Ok(None)
    }
}
