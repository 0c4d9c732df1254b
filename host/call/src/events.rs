//! Events of the chats, as they happen: changes of calls and of processes, and output.
//!
//! Each chat has a buffer of its last events, from which a listener that was away goes on. Publishing never waits. Buffered
//! events are small: an output event names bytes and does not hold them. The server reads the bytes when it delivers the
//! event, from memory or from the saved output. So a slow reader costs nothing and delays no other.
//!
//! Output that no listener has heard of yet is one event, however many pieces it came in. A full buffer drops its first
//! events, and a listener that had not read them hears [`Event::Reset`].

mod buffer;
mod calls;
mod hub;
mod listener;
mod position;
mod processes;
mod reader;
mod relay;
mod stats;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::call::State;
use crate::notice::Notice;
use hub::Hub;
pub use hub::Refused;
pub use listener::Listener;
pub use position::{InvalidPosition, Position};
pub use processes::clip;
pub use reader::Reader;
pub use relay::Relay;
pub use stats::Stats;
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::process;

/// By how much progress grows where nothing is counted: MCP wants it to grow with each notification. The step is smaller than any unit that a
/// tool counts in.
pub const STEP: f64 = 1e-6;

/// Limits of the event buffers and their readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// About how many bytes the buffer of one chat has at most; 1 MiB by default.
    pub per_chat: usize,
    /// About how many bytes the buffers of all chats have at most; 64 MiB by default. Those of the chats that were silent for
    /// longest go first.
    pub total: usize,
    /// How long the buffer of a silent chat without listeners is kept; 10 minutes by default.
    pub kept: Duration,
    /// The most readers of one chat; 16 by default.
    pub readers_per_chat: usize,
    /// The most readers of all chats; 256 by default.
    pub readers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_chat: 1 << 20,
            total: 64 << 20,
            kept: Duration::from_secs(10 * 60),
            readers_per_chat: 16,
            readers: 256,
        }
    }
}

/// The hub where events are published and listened to. Clones share everything.
#[derive(Clone, Debug)]
pub struct Events {
    hub: Arc<Mutex<Hub>>,
    relay: Arc<OnceLock<Relay>>,
}

/// One thing that happened in a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call began, or ended.
    Call {
        /// The call.
        call: CallId,
        /// The tool that was called.
        tool: String,
        /// The state of the call.
        state: State,
    },
    /// A call reports its progress.
    Progress {
        /// The call.
        call: CallId,
        /// How much is done, in a unit of the plugin's choice.
        done: f64,
        /// How much there is to do, if that is known.
        total: Option<f64>,
        /// A text for people.
        message: Option<String>,
    },
    /// A process was started.
    ProcessStarted {
        /// The process.
        process: Arc<Subject>,
        /// Its command, cut at 512 bytes.
        command: String,
        /// The absolute directory in which it was started.
        workdir: PathBuf,
        /// Whether it was started as a background process.
        background: bool,
    },
    /// A process wrote something.
    Output {
        /// The process.
        process: Arc<Subject>,
        /// The cursor of the first byte.
        offset: u64,
        /// The number of bytes, at least 1.
        length: u64,
    },
    /// The state of a process has changed.
    Process {
        /// The process.
        process: Arc<Subject>,
        /// The new state.
        state: process::State,
        /// How many bytes it has written so far.
        total: u64,
    },
    /// Something happened to a process of which the chat wanted to be told.
    Notice {
        /// The process.
        process: Arc<Subject>,
        /// The notice.
        notice: Arc<Notice>,
    },
    /// The chat was ended, with all that ran in it.
    ChatEnded,
    /// The events between the last one that this listener heard and the next are missing.
    Reset(Reset),
}

/// The process that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its id.
    pub id: String,
    /// The call that started it, if one did.
    pub call: Option<CallId>,
}

/// The reason why a listener misses events. The events that are kept follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The position is not that of an event of this chat since this start of the host.
    Unknown,
    /// The events after the position are no longer kept.
    Expired,
    /// The listener was too slow: the next events were dropped while it listened.
    Behind,
    /// Other hosts may have events that this one was not told.
    CutOff,
}

/// An event with its place among those of the chat.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// A number that grows with every event of the chat. [`Event::Reset`] has the number before that of the next event.
    pub id: u64,
    /// The event.
    pub event: Event,
}

impl Default for Events {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Events {
    /// Makes a hub without events.
    pub fn new(limits: Limits) -> Self {
        let hub = Arc::new(Mutex::new(Hub::new(limits)));
        let relay = Arc::default();
        Self { hub, relay }
    }

    /// Publishes an event to every listener of the chat. Does not wait for listeners.
    pub fn publish(&self, chat: &ChatId, event: Event) {
        self.hub.lock().publish(chat, |_| event);
    }

    /// Publishes the progress of a call that runs here, also for other hosts if the [relay](Self::relay) is used.
    pub fn publish_progress(&self, chat: &ChatId, progress: Event) {
        if let (Some(relay), Some(call)) = (self.relay.get(), progress.call()) {
            relay.add(chat, call, &progress);
        }
        self.publish(chat, progress);
    }

    /// Returns the relay of progress for other hosts. It gets the progress of the calls that run here from now on.
    pub fn relay(&self) -> &Relay {
        self.relay.get_or_init(Relay::default)
    }

    /// Lets the listeners of a chat hear [`Reset::CutOff`], and readers that come back.
    pub fn cut_off(&self, chat: &ChatId) {
        let mut hub = self.hub.lock();
        if hub.has(chat) {
            hub.publish(chat, |_| Event::Reset(Reset::CutOff));
        }
    }

    /// Returns how many readers from outside follow a chat.
    pub fn readers(&self, chat: &ChatId) -> usize {
        self.hub.lock().readers(chat)
    }

    /// Returns whether readers from outside follow a chat, or did so [recently enough](Limits::kept) to come back.
    pub fn are_read(&self, chat: &ChatId) -> bool {
        self.hub.lock().are_read(chat)
    }

    /// Listens to a chat: to the events after the one of this id, or from now on.
    ///
    /// This is for parts of the host, which bound their own number. Readers from outside are counted: see [`Events::read`].
    pub fn listen(&self, chat: &ChatId, after: Option<u64>) -> Listener {
        let after = after.map(|number| self.position(chat, number, None));
        let place = self.hub.lock().listen(chat, after);
        Listener::new(self, chat, place, false)
    }

    /// Listens to a chat for a reader from outside: to the events after a position, or from now on. With [`InvalidPosition`],
    /// to all events that are kept, after [`Event::Reset`].
    ///
    /// # Errors
    ///
    /// [`Refused`] if there are as many readers as there may be.
    pub fn read(
        &self,
        chat: &ChatId,
        after: Option<Result<Position, InvalidPosition>>,
    ) -> Result<Listener, Refused> {
        // An invalid position is treated as one of another start.
        let after = after.map(|after| after.unwrap_or(Position::NOWHERE));
        let place = self.hub.lock().read(chat, after)?;
        Ok(Listener::new(self, chat, place, true))
    }

    /// Returns the limits of the buffers and their readers.
    pub fn limits(&self) -> Limits {
        self.hub.lock().limits
    }

    /// Ends every listener, once it has heard the remaining events. No event is published after this.
    pub fn close(&self) {
        self.hub.lock().close();
    }

    /// Returns a position among the events of a chat in this start.
    pub fn position(&self, chat: &ChatId, number: u64, part: Option<u64>) -> Position {
        let epoch = self.hub.lock().epoch(chat);
        Position {
            epoch,
            number,
            part,
        }
    }

    /// Counts bytes that a reader was told of and could not get, because they are no longer kept.
    pub fn missed(&self, bytes: u64) {
        let stats = &mut self.hub.lock().stats;
        stats.gaps += 1;
        stats.gap_bytes += bytes;
    }

    /// Returns the counters, and the levels of this moment.
    pub fn stats(&self) -> Stats {
        self.hub.lock().stats()
    }
}

impl Event {
    /// Returns the call that the event is about, or the call that started its process, if there is one.
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::Call { call, .. } | Self::Progress { call, .. } => Some(call),
            Self::ProcessStarted { process, .. }
            | Self::Output { process, .. }
            | Self::Process { process, .. }
            | Self::Notice { process, .. } => process.call.as_ref(),
            Self::ChatEnded | Self::Reset(_) => None,
        }
    }

    /// Returns about how many bytes the event takes in a buffer.
    fn size(&self) -> usize {
        let more = match self {
            Self::Call { call, tool, .. } => call.as_str().len() + tool.len(),
            Self::Progress { call, message, .. } => {
                call.as_str().len() + message.as_ref().map_or(0, String::len)
            }
            Self::ProcessStarted {
                process,
                command,
                workdir,
                ..
            } => {
                let call = process.call.as_ref().map_or(0, |call| call.as_str().len());
                process.id.len() + call + command.len() + workdir.as_os_str().len()
            }
            Self::Notice { notice, .. } => std::mem::size_of::<Notice>() + notice.command.len(),
            Self::Process {
                state: process::State::Lost(why),
                ..
            } => why.len(),
            _ => 0,
        };
        std::mem::size_of::<Numbered>() + more
    }
}
