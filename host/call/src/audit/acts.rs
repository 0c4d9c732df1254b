//! Acts of clients and of the operator that no plugin takes part in.

use std::sync::Arc;

use serde_json::json;

use super::{Audit, line};
use crate::call::{Actor, Outcome};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::process::Info;

impl Audit {
    /// Records that a client cancelled a call that ran.
    pub fn call_cancelled(&self, actor: &Actor, chat: &ChatId, call: &CallId) {
        let fields = json!({
            "principal": line::text(actor.name()), "chat": line::id(chat.as_str()), "call": line::id(call.as_str()),
        });
        self.record("call_cancelled", fields);
    }

    /// Records that a client ended a chat, with the calls and processes that ended. If the client may use some tools only,
    /// the line names these: nothing else was ended.
    pub fn chat_ended(
        &self,
        actor: &Actor,
        chat: &ChatId,
        calls: &[Arc<Outcome>],
        processes: &[Info],
    ) {
        let calls: Vec<_> = calls.iter().map(|call| call.id.to_string()).collect();
        let processes: Vec<_> = processes.iter().map(|info| info.id.clone()).collect();
        let mut fields = json!({
            "principal": line::text(actor.name()),
            "chat": line::id(chat.as_str()),
            "calls": line::list(calls.iter()),
            "processes": line::list(processes.iter()),
        });
        if let (Some(tools), Some(fields)) = (actor.tools(), fields.as_object_mut()) {
            let tools: Vec<_> = tools.iter().cloned().collect();
            fields.insert("tools".into(), line::list(tools.iter()));
        }
        self.record("chat_ended", fields);
    }
}
