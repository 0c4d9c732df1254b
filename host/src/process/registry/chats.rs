//! The processes of each chat, and the places for more.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Limits, Registry};
use crate::id::ChatId;
use crate::process::State;
use crate::process::running::Process;

#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) closed: bool,
    /// How many chats were ever made. Each gets its number, by which a slow start notices that its chat was ended and
    /// another of the same name was made.
    made: u64,
    pub(super) by_id: HashMap<ChatId, Chat>,
}

#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) number: u64,
    /// In the order of their start.
    pub(super) processes: Vec<Arc<Process>>,
    /// Starts that were let in and are not in the list yet.
    pub(super) starting: usize,
}

impl Chats {
    pub(super) fn entry(&mut self, id: &ChatId) -> &mut Chat {
        let made = &mut self.made;
        self.by_id.entry(id.clone()).or_insert_with(|| {
            *made += 1;
            Chat {
                number: *made,
                ..Chat::default()
            }
        })
    }

    fn same(&mut self, id: &ChatId, number: u64) -> Option<&mut Chat> {
        self.by_id.get_mut(id).filter(|chat| chat.number == number)
    }
}

impl Chat {
    /// Drops ended processes that are too old or too many.
    pub(super) fn forget(&mut self, limits: &Limits) {
        let ended = |process: &Process| {
            let progress = process.progress();
            matches!(progress.state(), State::Exited(_))
                .then_some(progress.exited)
                .flatten()
        };
        self.processes.retain(|process| {
            ended(process).is_none_or(|(_, at)| at.elapsed() <= limits.retention)
        });
        let mut excess = self
            .processes
            .iter()
            .filter(|process| ended(process).is_some())
            .count()
            .saturating_sub(limits.ended_per_chat);
        self.processes.retain(|process| {
            let drop = excess > 0 && ended(process).is_some();
            excess -= usize::from(drop);
            !drop
        });
    }
}

/// A place for a process that is being started; given back unless the process takes it.
pub(super) struct Slot {
    pub(super) registry: Arc<Registry>,
    pub(super) chat: ChatId,
    pub(super) number: u64,
    pub(super) taken: bool,
}

impl Slot {
    /// Puts the process into the registry, unless its chat ended or the registry closed meanwhile.
    pub(super) fn register(&mut self, process: Arc<Process>) -> bool {
        let mut chats = self.registry.chats();
        self.taken = false;
        match chats.same(&self.chat, self.number) {
            Some(chat) => {
                chat.starting -= 1;
                chat.processes.push(process);
                true
            }
            None => false,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.taken
            && let Some(chat) = self.registry.chats().same(&self.chat, self.number)
        {
            chat.starting -= 1;
        }
    }
}

pub(super) fn refusal(live: &[&Arc<Process>], limit: usize) -> String {
    let list: Vec<_> = live
        .iter()
        .map(|process| format!("{} ({})", process.id(), shorten(process.command())))
        .collect();
    format!(
        "this chat has {limit} live processes, which is the most: end one first. They are: {}",
        list.join(", ")
    )
}

fn shorten(command: &str) -> String {
    const MOST: usize = 40;
    let line: String = command
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MOST + 1)
        .collect();
    if line.chars().count() > MOST {
        format!("{}…", line.chars().take(MOST).collect::<String>())
    } else {
        line
    }
}
