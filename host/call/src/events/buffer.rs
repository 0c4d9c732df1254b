//! The last events of one chat.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{Event, Numbered, Subject};
use toolhost_state::id::{CallId, ChatId};

/// How many of the last events are searched for one that new output can join: about as many as a chat has processes at once.
const LOOK_BACK: usize = 32;

/// How many reports of a call are kept one after the other: all of one that has a few steps.
const STEPS: usize = 16;

/// About how many bytes a buffer has without events.
const EMPTY: usize = 512;

/// A place among the events of a chat: the number of the last event that was heard. For an output event, also how much of it
/// was heard, as the cursor past that output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) number: u64,
    pub(super) part: Option<u64>,
}

impl At {
    /// After the whole event.
    pub(super) fn after(number: u64) -> Self {
        Self { number, part: None }
    }
}

/// The result of a search for the event after a place.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// The event, and the place after it.
    Event(Numbered, At),
    /// No event yet.
    Nothing,
    /// Events that are no longer kept, up to the one of this number.
    Dropped(u64),
}

#[derive(Debug)]
pub(super) struct Buffer {
    events: VecDeque<Numbered>,
    pub(super) bytes: usize,
    /// The number of the last event that is not kept, and the cursor past its output if it was of output.
    pub(super) dropped: (u64, Option<u64>),
    /// The number of the last event.
    pub(super) last: u64,
    /// The greatest number of an event that a listener has heard: it and those before it stay as they are. Only if it is the
    /// last one may output join it, for which its listeners wait.
    heard: u64,
    /// The processes that are not over.
    processes: HashMap<String, Arc<Subject>>,
    pub(super) listeners: usize,
    /// The listeners that count against the limits.
    pub(super) readers: usize,
    /// When a reader left last.
    pub(super) left: Option<Instant>,
    /// When something happened last.
    pub(super) active: Instant,
    /// Signals listeners that have heard every event that there is a new one.
    pub(super) changed: watch::Sender<()>,
}

impl Buffer {
    /// Makes a buffer whose events have numbers above this one.
    pub(super) fn new(chat: &ChatId, above: u64) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: EMPTY + chat.as_str().len(),
            dropped: (above, None),
            last: above,
            heard: above,
            processes: HashMap::new(),
            listeners: 0,
            readers: 0,
            left: None,
            active: Instant::now(),
            changed: watch::Sender::new(()),
        }
    }

    /// Returns whether it never had an event.
    pub(super) fn is_unused(&self) -> bool {
        self.events.is_empty() && self.last == self.dropped.0 && self.processes.is_empty()
    }

    /// Adds an event. Progress of a call replaces the last event if the last `STEPS` events are progress of the same call,
    /// and no listener has heard the last one. A process that is over is forgotten: it has no more events.
    pub(super) fn push(&mut self, event: Event) {
        self.active = Instant::now();
        if let Event::Process { process, state, .. } = &event
            && !state.is_live()
        {
            self.processes.remove(&process.id);
        }
        let is_crowded = self.is_crowded(&event);
        if let Some(last) = self.events.back_mut()
            && is_crowded
            && last.id > self.heard
        {
            self.bytes = (self.bytes + event.size()).saturating_sub(last.event.size());
            last.event = event;
            return;
        }
        self.bytes += event.size();
        self.last += 1;
        let id = self.last;
        self.events.push_back(Numbered { id, event });
        self.changed.send_replace(());
    }

    /// Returns whether an event is progress of a call, and so are all of the last ones.
    fn is_crowded(&self, event: &Event) -> bool {
        let Event::Progress { call, .. } = event else {
            return false;
        };
        let mut last = self.events.iter().rev().take(STEPS);
        self.events.len() >= STEPS
            && last
                .all(|last| matches!(&last.event, Event::Progress { call: of, .. } if of == call))
    }

    /// Adds output of a process to the event of its last output. Does not if that event was heard and is not the last one, or
    /// if an event other than output followed it. Returns whether it did.
    pub(super) fn extend(&mut self, process: &str, offset: u64, length: u64) -> bool {
        for event in self.events.iter_mut().rev().take(LOOK_BACK) {
            let unheard = event.id > self.heard;
            let Event::Output {
                process: of,
                offset: start,
                length: so_far,
            } = &mut event.event
            else {
                return false;
            };
            if of.id != process {
                if unheard {
                    continue;
                }
                return false;
            }
            if start.saturating_add(*so_far) != offset || !(unheard || event.id == self.last) {
                return false;
            }
            *so_far = so_far.saturating_add(length);
            self.active = Instant::now();
            if !unheard {
                self.changed.send_replace(());
            }
            return true;
        }
        false
    }

    /// Returns the process of this id, as its events name it.
    pub(super) fn subject(
        &mut self,
        id: &str,
        call: impl FnOnce() -> Option<CallId>,
    ) -> Arc<Subject> {
        if let Some(known) = self.processes.get(id) {
            return Arc::clone(known);
        }
        let subject = Arc::new(Subject {
            id: id.to_owned(),
            call: call(),
        });
        self.processes.insert(id.to_owned(), Arc::clone(&subject));
        subject
    }

    /// Drops the first events until there are no more bytes than this, but never the last event. Returns how many it dropped.
    pub(super) fn shrink(&mut self, bytes: usize) -> u64 {
        let mut count = 0;
        while self.bytes > bytes && self.events.len() > 1 {
            self.drop_first();
            count += 1;
        }
        count
    }

    /// Drops all events. Returns how many they were.
    pub(super) fn clear(&mut self) -> u64 {
        let count = self.events.len() as u64;
        while !self.events.is_empty() {
            self.drop_first();
        }
        count
    }

    fn drop_first(&mut self) {
        if let Some(Numbered { id, event }) = self.events.pop_front() {
            self.bytes = self.bytes.saturating_sub(event.size());
            self.dropped = (id, end_of(&event));
        }
    }

    /// Returns the place after the last event. No event before this place changes any more.
    pub(super) fn end(&mut self) -> At {
        self.heard = self.last;
        At {
            number: self.last,
            part: self.events.back().and_then(|last| end_of(&last.event)),
        }
    }

    /// Returns the place after an event as it is now. For an output event, which can grow, the number alone is not enough.
    pub(super) fn whole(&self, number: u64) -> At {
        let found = self.events.binary_search_by_key(&number, |event| event.id);
        let event = found.ok().and_then(|index| self.events.get(index));
        At {
            number,
            part: event.and_then(|event| end_of(&event.event)),
        }
    }

    /// Returns the event after a place.
    pub(super) fn after(&mut self, at: At) -> Found {
        self.heard = self.heard.max(at.number.min(self.last));
        let (dropped, dropped_end) = self.dropped;
        let lost = match at.part {
            _ if at.number != dropped => at.number < dropped,
            None => false,
            Some(part) => dropped_end.is_none_or(|end| end > part),
        };
        if lost {
            return Found::Dropped(dropped);
        }
        let from = self.events.partition_point(|event| match at.part {
            Some(_) => event.id < at.number,
            None => event.id <= at.number,
        });
        let rest = self.events.range(from..);
        let found = rest
            .filter_map(|event| match at.part {
                Some(part) if event.id == at.number => rest_of(event, part),
                _ => Some(event.clone()),
            })
            .next();
        let Some(found) = found else {
            return Found::Nothing;
        };
        self.heard = self.heard.max(found.id);
        let at = At {
            number: found.id,
            part: end_of(&found.event),
        };
        Found::Event(found, at)
    }
}

/// Returns the cursor past the output that an event is of.
fn end_of(event: &Event) -> Option<u64> {
    match event {
        Event::Output { offset, length, .. } => Some(offset.saturating_add(*length)),
        _ => None,
    }
}

/// Returns the part of an output event past this cursor, which was not heard yet; any other event as it is.
fn rest_of(event: &Numbered, part: u64) -> Option<Numbered> {
    let Event::Output {
        process,
        offset,
        length,
    } = &event.event
    else {
        return Some(event.clone());
    };
    let start = part.max(*offset);
    let length = offset.saturating_add(*length).checked_sub(start)?;
    (length > 0).then(|| Numbered {
        id: event.id,
        event: Event::Output {
            process: Arc::clone(process),
            offset: start,
            length,
        },
    })
}
