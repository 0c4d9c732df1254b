//! The ends of processes that came with the answers to other operations, until their callers ask for them.

use std::collections::VecDeque;

use parking_lot::Mutex;
use toolhost_state::id::ChatId;
use toolhost_workspace::Owner;
use toolhost_workspace::operation::Ended;

/// How many ends are kept. A caller asks for one right after it has waited, so few are kept for longer than a moment.
const MOST: usize = 64;

/// The last ends, oldest first. What they say does not change any more.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<VecDeque<End>>);

#[derive(Debug)]
struct End {
    owner: Option<ChatId>,
    id: String,
    ended: Ended,
}

impl End {
    fn is(&self, owner: Owner<'_>, id: &str) -> bool {
        self.owner.as_ref() == owner && self.id == id
    }
}

impl Ends {
    /// Keeps the end of a process.
    pub(crate) fn add(&self, owner: Owner<'_>, id: &str, ended: Ended) {
        let mut ends = self.0.lock();
        ends.retain(|end| !end.is(owner, id));
        if ends.len() >= MOST {
            ends.pop_front();
        }
        ends.push_back(End {
            owner: owner.cloned(),
            id: id.to_owned(),
            ended,
        });
    }

    /// Returns the end of a process, if it is kept.
    pub(crate) fn get(&self, owner: Owner<'_>, id: &str) -> Option<Ended> {
        let ends = self.0.lock();
        let end = ends.iter().find(|end| end.is(owner, id))?;
        Some(end.ended.clone())
    }

    /// Returns the end of a process, and keeps it no longer: what was saved of its output may be removed later.
    pub(crate) fn take(&self, owner: Owner<'_>, id: &str) -> Option<Ended> {
        let mut ends = self.0.lock();
        let at = ends.iter().position(|end| end.is(owner, id))?;
        ends.remove(at).map(|end| end.ended)
    }
}
