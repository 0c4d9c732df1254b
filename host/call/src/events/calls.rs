//! Events of calls, which the ledger reports.

use super::{Event, Events};
use crate::call::{Listener, Outcome, Request, State};
use toolhost_state::id::ChatId;

impl Listener for Events {
    fn begun(&self, request: &Request) {
        let event = Event::Call {
            call: request.id.clone(),
            tool: request.tool.clone(),
            state: State::Running,
        };
        self.publish(&request.chat, event);
    }

    fn ended(&self, chat: &ChatId, outcome: &Outcome) {
        let event = Event::Call {
            call: outcome.id.clone(),
            tool: outcome.tool.clone(),
            state: outcome.state(),
        };
        self.publish(chat, event);
    }
}
