//! Denials that a sandbox reports while its commands run.

use std::sync::Weak;

use toolhost_sandbox::Sandbox;
use toolhost_state::id::ChatId;

use super::Registry;
use crate::process::Denials;
use crate::process::confinement::DenialObserver;

impl DenialObserver for Registry {
    /// Tells the subscribers. The commands of a chat share a sandbox, so the process is known only if a single one runs.
    fn denied(&self, chat: Option<&ChatId>, sandbox: &Weak<Sandbox>, denial: String) {
        let processes = {
            let chats = self.chats();
            let chat = chats.by_owner.get(&chat.cloned());
            let all = chat.map(|chat| chat.processes.clone()).unwrap_or_default();
            let mut in_sandbox = all;
            in_sandbox.retain(|process| process.is_in(sandbox));
            in_sandbox
        };
        let process = match processes.as_slice() {
            [process] => Some(process.id()),
            _ => None,
        };
        self.subscribers.tell_denials(Denials {
            chat,
            process,
            texts: &[denial],
            certain: true,
        });
    }
}
