//! The tools that were found in a chat, which its clients are offered from then on.

use tokio::sync::broadcast;
use toolhost_call::call::{Refused, Request};
use toolhost_state::id::ChatId;
use toolhost_store::FoundTools;

use super::ToolMode;
use crate::host::Host;

/// How many chats a slow receiver may lag behind. If it lags further, it has to take every chat for one of those that it missed.
const BACKLOG: usize = 256;

/// Makes the channel that tells of chats in which tools were found.
pub(in crate::host) fn chats_with_found_tools() -> broadcast::Sender<ChatId> {
    broadcast::channel(BACKLOG).0
}

impl Host {
    /// Returns a receiver of the chats in which tools are found at this host, so that [`Host::offered_in`] returns more than before.
    pub fn tools_found(&self) -> broadcast::Receiver<ChatId> {
        self.inner.found.subscribe()
    }

    /// Offers tools to the chat of a call from now on. If that cannot be stored, the log says so: the reply of the call has the definitions,
    /// and the tools can be found again.
    pub(in crate::host) async fn add_found(&self, call: &Request, tools: Vec<String>) {
        if self.inner.offer.mode != ToolMode::Search || tools.is_empty() {
            return;
        }
        let found = FoundTools {
            chat: call.chat.clone(),
            principal: call.actor.name().to_owned(),
            tools,
        };
        match self.inner.ledger.store().add_found_tools(found).await {
            // Nobody may be listening.
            Ok(true) => _ = self.inner.found.send(call.chat.clone()),
            Ok(false) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(chat = %call.chat, error, "the tools that a chat has found cannot be stored: it is not offered them");
            }
        }
    }

    /// Returns the names of the tools that were found in a chat, in the order in which they were found.
    pub(super) async fn found_in(&self, chat: &ChatId) -> Result<Vec<String>, Refused> {
        let found = self.inner.ledger.store().found_tools(chat.clone()).await;
        found.map_err(|error| Refused::Unreadable(error.to_string()))
    }
}
