//! The process of a guest's handle.

use toolhost_state::id::ChatId;

/// The process of a guest's handle: a name, nothing more.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Process {
    pub(super) chat: ChatId,
    pub(super) id: String,
}
