//! The slot of a process that is being started, and the refusal of a start that gets none.

use std::path::Path;
use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Registry;
use super::chats::{Number, Owner};
use crate::process::confinement;
use crate::process::running::Process;
use crate::process::saved::ChatOutputs;

/// A slot for a process that is being started. Dropping it frees the slot, unless the process took it.
pub(super) struct Slot {
    pub(super) registry: Arc<Registry>,
    pub(super) owner: Owner,
    /// The workspace in which it starts.
    pub(super) workspace: Arc<Path>,
    pub(super) outputs: Arc<ChatOutputs>,
    pub(super) confined: confinement::SharedSandboxes,
    pub(super) number: Number,
    pub(super) taken: bool,
    /// The id that the caller chose, reserved.
    pub(super) id: Option<Arc<()>>,
    /// Held until the process is in the list or has ended: the end of the chat and the end of the host wait for that.
    pub(super) _under_way: [TaskTrackerToken; 2],
}

impl Slot {
    /// Returns whether the start is still wanted: its chat has not ended, and the registry was not closed.
    pub(super) fn is_wanted(&self) -> bool {
        let mut chats = self.registry.chats();
        !chats.closed && chats.same(&self.owner, self.number).is_some()
    }

    /// Puts the process into the registry, unless its chat ended or the registry closed meanwhile.
    pub(super) fn register(&mut self, process: Arc<Process>) -> bool {
        let mut chats = self.registry.chats();
        self.taken = false;
        let closed = chats.closed;
        let Some(chat) = chats.same(&self.owner, self.number) else {
            return false;
        };
        chat.starting -= 1;
        if !closed {
            chat.add(process);
        }
        !closed
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.taken
            && let Some(chat) = self.registry.chats().same(&self.owner, self.number)
        {
            chat.starting -= 1;
        }
    }
}

/// Returns the error text for a chat that has as many live processes as it may have.
pub(super) fn refusal(live: &[Arc<Process>], limit: usize) -> String {
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
