//! Events of calls, which the ledger reports.

use super::{Event, Events};
use crate::call::{Listener, Outcome, Request, State};
use toolhost_state::id::ChatId;

impl Listener for Events {
    fn begun(&self, request: &Request) {
        self.publish(&request.chat, event(request, State::Running));
    }

    fn ended(&self, chat: &ChatId, outcome: &Outcome) {
        let event = Event::Call {
            call: outcome.id.clone(),
            tool: outcome.tool.clone(),
            state: outcome.state(),
        };
        self.publish(chat, event);
    }

    fn turned_away(&self, request: &Request) {
        self.publish(&request.chat, event(request, State::Queued));
    }
}

fn event(request: &Request, state: State) -> Event {
    Event::Call {
        call: request.id.clone(),
        tool: request.tool.clone(),
        state,
    }
}
