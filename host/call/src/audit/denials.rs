//! Denials of the sandbox of commands.

use serde_json::json;
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Denials, ProcessEvent, Subject, Subscriber};

use super::Audit;

/// Records the denials of the sandbox to the commands of a workspace.
impl Subscriber for Audit {
    fn event(&self, _: Subject<'_>, _: ProcessEvent<'_>) {}

    fn denied(&self, denials: Denials<'_>) {
        let fields = json!({
            "chat": denials.chat.map(ChatId::as_str),
            "process": denials.process,
            "denied": denials.texts,
            "certain": denials.certain,
        });
        self.record("command_denied", fields);
    }
}
