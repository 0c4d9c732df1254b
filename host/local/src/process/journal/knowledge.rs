//! The knowledge that the entries of a journal add up to.

use std::collections::{BTreeMap, HashMap};

use super::entry::{End, Entry, Recovered};
use toolhost_state::id::ChatId;

/// The records of all processes, in the order in which they started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    records: BTreeMap<u64, Recovered>,
    ids: HashMap<String, u64>,
    /// The processes of each chat, so that ending a chat costs only what that chat had. Forgotten processes stay in it.
    chats: HashMap<ChatId, Vec<u64>>,
    next: u64,
}

impl Knowledge {
    /// Adds the next entry.
    pub(super) fn add_entry(&mut self, entry: Entry) {
        match entry {
            Entry::Started(started) => {
                if self.ids.contains_key(&started.id) {
                    return;
                }
                self.ids.insert(started.id.clone(), self.next);
                if let Some(chat) = &started.chat {
                    self.chats.entry(chat.clone()).or_default().push(self.next);
                }
                let record = Recovered {
                    started,
                    exited: None,
                    end: None,
                    gone: false,
                };
                self.records.insert(self.next, record);
                self.next += 1;
            }
            Entry::Exited(exited) => {
                if let Some(record) = self.record(&exited.id) {
                    record.exited.get_or_insert(exited);
                }
            }
            Entry::Ended(ended) => {
                if let Some(record) = self.record(&ended.id)
                    && !matches!(record.end, Some(End::Exited(_)))
                {
                    // An entry of the end knows more than an entry of the loss, so it replaces that.
                    record.end = Some(End::Exited(ended));
                }
            }
            Entry::Lost(lost) => {
                if let Some(record) = self.record(&lost.id) {
                    record.end.get_or_insert(End::Lost(lost));
                }
            }
            Entry::Gone { id } => {
                if let Some(record) = self.record(&id) {
                    record.gone = true;
                }
            }
            Entry::Forgotten { id } => {
                if let Some(at) = self.ids.remove(&id) {
                    self.records.remove(&at);
                }
            }
            Entry::ChatEnded { chat } => {
                for at in self.chats.remove(&chat).unwrap_or_default() {
                    if let Some(record) = self.records.remove(&at) {
                        self.ids.remove(&record.started.id);
                    }
                }
            }
        }
    }

    fn record(&mut self, id: &str) -> Option<&mut Recovered> {
        self.records.get_mut(self.ids.get(id)?)
    }

    /// Returns the fewest entries that mean the same.
    pub(super) fn all_entries(&self) -> impl Iterator<Item = Entry> {
        self.records.values().flat_map(|record| {
            let id = || record.started.id.clone();
            let end = record.end.clone().map(|end| match end {
                End::Exited(ended) => Entry::Ended(ended),
                End::Lost(lost) => Entry::Lost(lost),
            });
            let gone = record.gone.then(|| Entry::Gone { id: id() });
            let started = Entry::Started(record.started.clone());
            let exited = record.exited.clone().map(Entry::Exited);
            std::iter::once(started)
                .chain(exited)
                .chain(end)
                .chain(gone)
        })
    }

    /// Returns the records, in the order in which the processes started.
    pub(super) fn into_recovered(self) -> Vec<Recovered> {
        self.records.into_values().collect()
    }
}
