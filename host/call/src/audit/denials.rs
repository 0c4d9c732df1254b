//! What the sandbox has denied to commands, as far as it is known.

use serde_json::json;
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{ProcessEvent, Subject, Subscriber};

use super::Audit;

/// Records what the sandbox has likely denied to the commands of a workspace, once when a command has ended.
impl Subscriber for Audit {
    fn event(&self, _: Subject<'_>, _: ProcessEvent<'_>) {}

    fn denied(&self, process: Subject<'_>, denials: &[String]) {
        let fields = json!({
            "chat": process.chat.map(ChatId::as_str),
            "process": process.id,
            "denied": denials,
            "certain": false,
        });
        self.record("command_denied", fields);
    }
}
