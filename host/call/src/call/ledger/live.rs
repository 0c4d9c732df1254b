//! The calls that run at this moment.

use tokio::time::Instant;
use toolhost_state::id::{CallId, ChatId};

use super::Ledger;

/// A call that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveCall {
    /// The chat.
    pub chat: ChatId,
    /// The caller's name of the call.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The name of the token that called.
    pub principal: String,
    /// When it began.
    pub since: Instant,
}

impl Ledger {
    /// Returns the calls that run at this moment, in any order.
    pub fn live(&self) -> Vec<LiveCall> {
        let calls = self.shared.calls.lock();
        let running = calls.running.iter().map(|((chat, id), running)| LiveCall {
            chat: chat.clone(),
            id: id.clone(),
            tool: running.request.tool.clone(),
            principal: running.request.actor.name().to_owned(),
            since: running.since,
        });
        running.collect()
    }
}
