//! The processes of each chat, the slots for new ones, and the keys of their starts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::Limits;
use super::adoption::Rest;
use crate::process::confinement::{self, Confinement};
use crate::process::running::Process;
use crate::process::saved::{ChatOutputs, OutputStore};
use crate::process::{Command, Error};
use toolhost_state::id::ChatId;

/// The owner of processes: a chat, or no chat.
pub(super) type Owner = Option<ChatId>;

/// The number of a chat, which tells it from earlier and later chats of the same name.
pub(super) type Number = u64;

/// The start that a key names, done or under way.
type Start = Arc<OnceCell<Arc<Process>>>;

#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) closed: bool,
    /// How many chats were ever made. Each gets this as its number. By the number, a slow start notices that its chat was
    /// ended and another of the same name was made.
    made: Number,
    pub(super) by_owner: HashMap<Owner, Chat>,
    /// The ids that callers chose. An id is reserved while a start or a process holds it, even after its chat has ended.
    reserved: HashMap<String, Weak<()>>,
}

#[derive(Debug)]
pub(super) struct Chat {
    pub(super) number: Number,
    /// The processes, in the order of their starts.
    pub(super) processes: Vec<Arc<Process>>,
    /// Those that may be live. An ended process stays here until the next look.
    live: Vec<Arc<Process>>,
    /// How many accepted starts are not in the list yet.
    pub(super) starting: usize,
    /// Tracks those starts. It is empty once each of their processes is in the list or has ended.
    pub(super) starts: TaskTracker,
    pub(super) outputs: Arc<ChatOutputs>,
    pub(super) confined: confinement::SharedSandboxes,
    keys: HashMap<String, (blake3::Hash, Start)>,
    /// The processes of earlier hosts, by the keys of their starts.
    earlier: HashMap<String, Arc<Process>>,
    used: Instant,
}

/// The ended processes of which a part must be removed.
#[derive(Debug, Default)]
pub(super) struct Old {
    /// Processes whose output is no longer kept.
    pub(super) expired: Vec<Arc<Process>>,
    /// Processes whose state is forgotten as well.
    pub(super) forgotten: Vec<Arc<Process>>,
}

impl Chats {
    pub(super) fn entry(&mut self, owner: &Owner, outputs: &Arc<OutputStore>) -> &mut Chat {
        let chat = self.insert(owner, || outputs.chat());
        chat.use_now();
        chat
    }

    /// Adds a process of an earlier host. Returns it with the rest if it goes on.
    pub(super) fn recover(
        &mut self,
        mut process: Process,
        outputs: Arc<ChatOutputs>,
        rest: Option<Rest>,
    ) -> Option<(Arc<Process>, Rest)> {
        if process.key() == Some(process.id()) {
            // The id is free again once the store has forgotten the process, and not before.
            process.reserved = Some(self.hold(&process.record.id));
        }
        let owner = process.record.chat.clone();
        let chat = self.insert(&owner, || outputs);
        let process = Arc::new(process);
        if let Some(key) = process.key() {
            chat.earlier.insert(key.to_owned(), Arc::clone(&process));
        }
        let Some(rest) = rest else {
            chat.processes.push(process);
            return None;
        };
        Confinement::adopt(&chat.confined, rest.directories.temporary.clone());
        chat.add(Arc::clone(&process));
        Some((process, rest))
    }

    fn insert(&mut self, owner: &Owner, outputs: impl FnOnce() -> Arc<ChatOutputs>) -> &mut Chat {
        let made = &mut self.made;
        self.by_owner.entry(owner.clone()).or_insert_with(|| {
            *made += 1;
            Chat {
                number: *made,
                processes: Vec::new(),
                live: Vec::new(),
                starting: 0,
                starts: TaskTracker::new(),
                outputs: outputs(),
                confined: confinement::SharedSandboxes::default(),
                keys: HashMap::new(),
                earlier: HashMap::new(),
                used: Instant::now(),
            }
        })
    }

    /// Returns whether a process of any chat has this id, or will have it.
    pub(super) fn has(&self, id: &str) -> bool {
        let reserved = self.reserved.get(id);
        reserved.is_some_and(|reserved| reserved.strong_count() > 0)
            || self.by_owner.values().any(|chat| chat.find(id).is_some())
    }

    /// Reserves this id for as long as the caller holds the result.
    pub(super) fn reserve(&mut self, id: &str) -> Arc<()> {
        self.reserved
            .retain(|_, reserved| reserved.strong_count() > 0);
        self.hold(id)
    }

    fn hold(&mut self, id: &str) -> Arc<()> {
        let reserved = Arc::new(());
        self.reserved
            .insert(id.to_owned(), Arc::downgrade(&reserved));
        reserved
    }

    /// Returns a chat, and notes that it was used now.
    pub(super) fn used(&mut self, owner: &Owner) -> Option<&Chat> {
        let chat = self.by_owner.get_mut(owner)?;
        chat.use_now();
        Some(chat)
    }

    /// Returns the processes that were started with this key.
    pub(super) fn started_by(&mut self, owner: &Owner, key: &str) -> Vec<Arc<Process>> {
        let chat = self.used(owner);
        let all = chat.into_iter().flat_map(|chat| &chat.processes);
        all.filter(|process| process.key() == Some(key))
            .cloned()
            .collect()
    }

    /// Returns the chat that has this number, if it has not ended.
    pub(super) fn same(&mut self, owner: &Owner, number: Number) -> Option<&mut Chat> {
        self.by_owner
            .get_mut(owner)
            .filter(|chat| chat.number == number)
    }
}

impl Chat {
    /// Adds a process that was just started.
    pub(super) fn add(&mut self, process: Arc<Process>) {
        self.live.push(Arc::clone(&process));
        self.processes.push(process);
    }

    /// Returns the live processes.
    pub(super) fn live(&mut self) -> &[Arc<Process>] {
        self.live.retain(|process| process.state().is_live());
        &self.live
    }

    /// Returns the process with this id. Callers mostly ask for those that were started last.
    pub(super) fn find(&self, id: &str) -> Option<&Arc<Process>> {
        self.processes
            .iter()
            .rev()
            .find(|process| process.id() == id)
    }

    /// Returns the process that an earlier host started with the key of this command. Returns an error if that process was started by
    /// another command.
    pub(super) fn earlier(&self, command: &Command) -> Option<Result<Arc<Process>, Error>> {
        let key = command.key.as_deref()?;
        let process = self.earlier.get(key)?;
        Some(if process.record.is_of(command) {
            Ok(Arc::clone(process))
        } else {
            Err(Error::KeyReused(key.to_owned()))
        })
    }

    /// Returns the start that a key names, which may be that of an earlier caller.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`] if the key names the start of another command.
    pub(super) fn keyed(&mut self, key: &str, digest: blake3::Hash) -> Result<Start, Error> {
        let entry = self.keys.entry(key.to_owned());
        let (known, start) = entry.or_insert_with(|| (digest, Start::default()));
        if *known != digest {
            // A failed start started nothing, so its key is free. A start under way still holds its key.
            if start.get().is_some() || Arc::strong_count(start) > 1 {
                return Err(Error::KeyReused(key.to_owned()));
            }
            *known = digest;
        }
        Ok(Arc::clone(start))
    }

    /// Notes that the chat was used now.
    pub(super) fn use_now(&mut self) {
        self.used = Instant::now();
    }

    /// Frees, expires and forgets old ended processes. Those that ended last are kept longest, whenever they started.
    pub(super) fn age(&mut self, limits: &Limits) -> Old {
        if self.processes.iter().any(|process| process.is_followed()) {
            self.use_now();
        }
        let mut old = Old::default();
        let mut ended: Vec<_> = self
            .processes
            .iter()
            .filter(|process| !process.state().is_live())
            .cloned()
            .collect();
        // A process without a time of its end is about to get one, so it sorts after all others.
        ended.sort_by_key(|process| {
            let over = process.over_since();
            (over.is_none(), over)
        });
        let idle = self.is_idle(limits.idle_chat);
        let excess = ended.len().saturating_sub(limits.known_per_chat);
        let count = ended.len();
        for (older, process) in ended.into_iter().enumerate() {
            process.free_after(limits.memory);
            let newer = count - older - 1;
            let outdated = newer >= limits.ended_per_chat || process.over_for(limits.retention);
            if outdated && process.expire() {
                old.expired.push(Arc::clone(&process));
            }
            if older < excess || (idle && process.over_for(limits.known)) {
                old.forgotten.push(process);
            }
        }
        let forgotten: HashSet<_> = old.forgotten.iter().map(|process| process.id()).collect();
        self.processes
            .retain(|process| !forgotten.contains(process.id()));
        self.earlier
            .retain(|_, process| !forgotten.contains(process.id()));
        let known: HashSet<_> = self.processes.iter().map(|process| process.id()).collect();
        self.keys.retain(|_, (_, start)| match start.get() {
            Some(process) => known.contains(process.id()),
            None => Arc::strong_count(start) > 1,
        });
        old
    }

    /// Returns whether the chat was not used for this long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        self.used.elapsed() > time
    }

    /// Returns when the chat was last used.
    pub(super) fn used(&self) -> Instant {
        self.used
    }

    /// Returns whether no command of the chat has run for longer than this.
    pub(super) fn rests(&self, time: Duration) -> bool {
        self.starting == 0 && self.processes.iter().all(|process| process.over_for(time))
    }

    /// Returns whether the chat has no processes, no starts and no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.starting == 0 && self.processes.is_empty() && self.keys.is_empty()
    }
}
