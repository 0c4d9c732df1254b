//! A reader of a chat's events: takes event after event, and reads the bytes of output when it sends them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event as Sent;

use super::wire::Data;
use crate::v1::bytes::Bytes;
use crate::visibility::Visibility as _;
use toolhost_call::call::CallStatus;
use toolhost_call::events::{Event, Listener, Numbered, Position, Subject};
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_http::event_stream::Source;
use toolhost_http::process_values::unfinished;
use toolhost_state::id::{CallId, ChatId};

/// The maximum bytes of output in one event.
const EVENT_BYTES: usize = 32 << 10;

/// The maximum bytes of a character that lacks its last byte.
const UNFINISHED: u64 = 3;

/// How long a client is asked to wait before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// The events that a reader asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The client's principal, which decides what events the reader may see.
    pub(super) principal: Principal,
    pub(super) output: bool,
    /// If set, the reader gets only events about this call.
    pub(super) call: Option<CallId>,
}

pub(super) struct Reader {
    host: Host,
    chat: ChatId,
    listener: Listener,
    wanted: Wanted,
    /// The position at which the reader resumes. It may be in the middle of an event.
    resumed: Option<Position>,
    /// For each live process, the cursor past the bytes sent. It is behind the announced output while the first bytes of an
    /// incomplete character are held back.
    sent: HashMap<String, u64>,
    /// Output that is being sent.
    stretch: Option<Stretch>,
    /// The event that follows the output.
    then: Option<(u64, Data)>,
    began: bool,
    over: bool,
}

/// Output that is to be sent.
struct Stretch {
    /// The number of the event that announced the output.
    number: u64,
    process: Arc<Subject>,
    cursor: u64,
    end: u64,
    /// Whether the process is over, so that nothing will complete a character.
    last: bool,
}

impl Reader {
    pub(super) fn new(
        host: Host,
        chat: ChatId,
        listener: Listener,
        wanted: Wanted,
        resumed: Option<Position>,
    ) -> Self {
        Self {
            host,
            chat,
            listener,
            wanted,
            resumed,
            sent: HashMap::new(),
            stretch: None,
            then: None,
            began: false,
            over: false,
        }
    }

    /// Returns whether the reader may see the subject of an event.
    async fn may_hear(&self, event: &Event) -> bool {
        let principal = &self.wanted.principal;
        match event {
            Event::ChatEnded | Event::Reset(_) => true,
            Event::Call { tool, .. } => {
                principal.may_use(tool) && self.host.may_reach(principal.actor(), &self.chat)
            }
            event => {
                let seen = principal.may_see_call(&self.host, &self.chat, event.call());
                seen.await
            }
        }
    }

    fn wants(&self, event: &Event) -> bool {
        let of_call = match (&self.wanted.call, event) {
            (_, Event::ChatEnded | Event::Reset(_)) | (None, _) => true,
            (wanted, event) => event.call() == wanted.as_ref(),
        };
        of_call && (self.wanted.output || !matches!(event, Event::Output { .. }))
    }

    /// Takes up an event: queues its output and the event itself.
    async fn take(&mut self, number: u64, event: Event) {
        match &event {
            Event::Output {
                process,
                offset,
                length,
            } => {
                let end = offset.saturating_add(*length);
                self.begin(number, process, *offset, end, false).await;
            }
            // After a reset, the numbers of events are new, so the old position is void.
            Event::Reset(_) => self.resumed = None,
            Event::ProcessStarted { process, .. } if self.wanted.output => {
                self.sent.insert(process.id.clone(), 0);
            }
            Event::Process {
                process,
                state,
                total,
            } if self.wanted.output && !state.is_live() => {
                self.begin(number, process, *total, *total, true).await;
            }
            _ => {}
        }
        let is_error = match &event {
            Event::Call { call, state, .. } if !state.is_live() => {
                match self.host.status(&self.chat, call).await {
                    Ok(Some(CallStatus::Ended(outcome))) => Some(outcome.is_error()),
                    _ => None,
                }
            }
            _ => None,
        };
        self.then = Data::of(event, self.chat.as_str(), is_error).map(|data| (number, data));
    }

    /// Queues the output up to a cursor. It begins where the reader is, or at `offset` if that is not known.
    async fn begin(
        &mut self,
        number: u64,
        process: &Arc<Subject>,
        offset: u64,
        end: u64,
        last: bool,
    ) {
        let known = match last {
            true => self.sent.remove(&process.id),
            false => self.sent.get(&process.id).copied(),
        };
        let resumed = self.resumed.take_if(|at| at.number <= number);
        let part = resumed.and_then(|at| at.part.filter(|_| at.number == number));
        let cursor = match (known, part) {
            (Some(sent), _) => sent,
            (None, Some(part)) => part,
            (None, None) => self.character_start(process, offset).await,
        };
        if cursor < end {
            self.stretch = Some(Stretch {
                number,
                process: Arc::clone(process),
                cursor,
                end,
                last,
            });
        }
    }

    /// Returns where the character begins that `cursor` splits, or `cursor` if it splits none. The earlier stream of a resuming
    /// client did not send the first bytes of such a character.
    async fn character_start(&self, process: &Subject, cursor: u64) -> u64 {
        let from = cursor.saturating_sub(UNFINISHED);
        let bytes = self.read(process, from, cursor - from).await;
        let bytes = bytes.filter(|chunk| chunk.offset == from);
        let count = bytes.map_or(0, |chunk| unfinished(&chunk.data));
        cursor - count as u64
    }

    async fn read(
        &self,
        process: &Subject,
        since: u64,
        max: u64,
    ) -> Option<toolhost_workspace::process::Chunk> {
        let max = usize::try_from(max).unwrap_or(EVENT_BYTES).min(EVENT_BYTES);
        let workspace = self.host.workspace();
        let read = workspace.read(Some(&self.chat), &process.id, since, max);
        read.await.ok()
    }

    /// Sends the next piece of output, and keeps the rest of it.
    async fn deliver(&mut self, stretch: Stretch) -> Option<Sent> {
        let Stretch {
            number,
            process,
            cursor,
            end,
            last,
        } = stretch;
        let chunk = self.read(&process, cursor, end - cursor).await;
        let (data, to, held) = match chunk {
            Some(mut chunk) if chunk.offset == cursor && !chunk.data.is_empty() => {
                let length = chunk.data.len();
                let at_end = cursor + length as u64 >= end;
                let unfinished = unfinished(&chunk.data);
                if unfinished == length && at_end && !last {
                    self.sent.insert(process.id.clone(), cursor);
                    return None;
                }
                let held = unfinished > 0 && unfinished < length;
                if held {
                    chunk.data.truncate(length - unfinished);
                }
                let length = chunk.data.len() as u64;
                let data = Data::Output {
                    process: process.id.clone(),
                    offset: cursor,
                    length,
                    bytes: Bytes::from(chunk.data),
                };
                (data, cursor + length, held && at_end && !last)
            }
            chunk => {
                // The kept output begins after the cursor, or no output is kept any more.
                let next = chunk
                    .map(|chunk| chunk.offset)
                    .filter(|next| *next > cursor);
                let to = next.map_or(end, |next| next.min(end));
                self.host.events().missed(to - cursor);
                let data = Data::Gap {
                    process: process.id.clone(),
                    offset: cursor,
                    length: to - cursor,
                };
                (data, to, false)
            }
        };
        if !last {
            self.sent.insert(process.id.clone(), to);
        }
        if to < end && !held {
            self.stretch = Some(Stretch {
                number,
                process,
                cursor: to,
                end,
                last,
            });
        }
        Some(self.event(number, Some(to), &data))
    }

    /// Makes an event from which a reader can resume.
    fn event(&self, number: u64, part: Option<u64>, data: &Data) -> Sent {
        let events = self.host.events();
        let position = events.position(&self.chat, number, part);
        let (name, data) = data.encode();
        let id = position.to_string();
        Sent::default().event(name).id(id).data(data)
    }
}

impl Source for Reader {
    async fn next(&mut self) -> Option<Sent> {
        if !self.began {
            // The comment tells the client that it misses nothing from now on.
            self.began = true;
            return Some(Sent::default().comment("listening").retry(RETRY));
        }
        loop {
            if let Some(stretch) = self.stretch.take() {
                if let Some(sent) = self.deliver(stretch).await {
                    return Some(sent);
                }
                continue;
            }
            if let Some((number, data)) = self.then.take() {
                self.over |= matches!(data, Data::ChatEnded { .. });
                return Some(self.event(number, None, &data));
            }
            if self.over {
                return None;
            }
            let Numbered { id, event } = self.listener.next().await?;
            if self.wants(&event) && self.may_hear(&event).await {
                self.take(id, event).await;
            }
        }
    }
}
