//! Progress notifications that a client gets while a call runs, if it asked for them.
//!
//! Clients give up on calls without notifications. So the server sends one every few seconds, whether or not the tool reports
//! progress.

use std::future::pending;
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::{Instant, timeout_at};

use toolhost_call::call::State;
use toolhost_call::events::{Event, Listener, STEP};
use toolhost_core::Host;
use toolhost_state::id::{CallId, ChatId};

/// The maximum time between two notifications.
const BEAT: Duration = Duration::from_secs(5);

/// The maximum length of a message in characters. The rest is cut.
const MAX_MESSAGE: usize = 4096;

pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    call: CallId,
    events: Option<Listener>,
    begun: Instant,
    /// When the next notification is due even if the tool reports nothing.
    beat: Instant,
    count: Count,
}

/// The progress of a call. It grows with each notification, as the protocol wants it.
#[derive(Debug, Default)]
struct Count {
    last: Option<f64>,
    total: Option<f64>,
}

impl Progress {
    /// Begins to listen, before the call begins. `None` if the client did not ask for progress.
    pub(super) fn of(
        host: &Host,
        context: &RequestContext<RoleServer>,
        chat: &ChatId,
        call: &CallId,
    ) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        Some(Self {
            peer: context.peer.clone(),
            token,
            call: call.clone(),
            events: Some(host.events().listen(chat, None)),
            begun: Instant::now(),
            beat: Instant::now() + BEAT,
            count: Count::default(),
        })
    }

    /// Waits for the next notification. Cancel safe.
    pub(super) async fn report(&mut self) -> ProgressNotificationParam {
        loop {
            let report = match timeout_at(self.beat, next(&mut self.events)).await {
                Ok(event) => self.of_event(event),
                Err(_) => {
                    let message = format!("running for {} s", self.begun.elapsed().as_secs());
                    let done = self.count.step();
                    Some(self.params(done, Some(message)))
                }
            };
            if let Some(report) = report {
                self.beat = Instant::now() + BEAT;
                return report;
            }
        }
    }

    /// Sends the notifications that are still queued when the call has ended.
    pub(super) async fn finish(&mut self) {
        while let Some(event) = next(&mut self.events).now_or_never() {
            if let Some(report) = self.of_event(event) {
                self.send(report).await;
            }
        }
    }

    /// Returns the notification of an event, if it is progress of this call. A start of a call that this call makes is progress, and so is
    /// the progress of that call.
    fn of_event(&mut self, event: Event) -> Option<ProgressNotificationParam> {
        match event {
            Event::Progress {
                call,
                done,
                total,
                message,
            } if call == self.call && self.count.reach(done, total) => {
                Some(self.params(done, message))
            }
            Event::Call {
                call,
                tool,
                state: State::Running,
            } if self.makes(&call) => self.nested(&call, &tool),
            Event::Progress {
                call,
                message: Some(message),
                ..
            } if self.makes(&call) => self.nested(&call, &message),
            _ => None,
        }
    }

    /// Returns whether this call makes that one.
    fn makes(&self, call: &CallId) -> bool {
        call.outer().is_some_and(|(outer, _)| outer == self.call)
    }

    /// Returns the notification of what a nested call does. How far this call is, is not known by that.
    fn nested(&mut self, call: &CallId, text: &str) -> Option<ProgressNotificationParam> {
        let (_, number) = call.outer()?;
        let done = self.count.step();
        Some(self.params(done, Some(format!("call {number}: {text}"))))
    }

    fn params(&self, done: f64, message: Option<String>) -> ProgressNotificationParam {
        let mut params = ProgressNotificationParam::new(self.token.clone(), done);
        params.total = self.count.total;
        params.message = message.map(|message| message.chars().take(MAX_MESSAGE).collect());
        params
    }

    pub(super) async fn send(&self, params: ProgressNotificationParam) {
        // Other code notices a client that is gone.
        _ = self.peer.notify_progress(params).await;
    }
}

impl Count {
    /// Records the progress that a tool reports. Returns whether the server can pass it on.
    fn reach(&mut self, done: f64, total: Option<f64>) -> bool {
        let grown = self.last.is_none_or(|last| done > last);
        if !done.is_finite() || !grown {
            return false;
        }
        self.last = Some(done);
        self.total = total.filter(|total| total.is_finite());
        true
    }

    /// Returns a value a little above the last.
    fn step(&mut self) -> f64 {
        let last = self.last.unwrap_or(0.0);
        // A large number plus the step can be the same number, so take at least the next float.
        let next = (last + STEP).max(last.next_up());
        self.last = Some(next);
        next
    }
}

async fn next(events: &mut Option<Listener>) -> Event {
    if let Some(listener) = events {
        if let Some(numbered) = listener.next().await {
            return numbered.event;
        }
        *events = None;
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_always_grows() {
        let mut count = Count::default();
        let beats = [count.step(), count.step()];
        assert!(0.0 < beats[0] && beats[0] < beats[1] && beats[1] < 0.001);
        assert!(count.reach(1.0, Some(4.0)));
        assert!(!count.reach(1.0, Some(4.0)) && !count.reach(f64::NAN, None));
        let beat = count.step();
        assert!(1.0 < beat && beat < 1.001);
        assert_eq!(count.total, Some(4.0));
        assert!(count.reach(2.0, Some(f64::INFINITY)));
        assert_eq!(count.total, None);
        assert!(count.reach(1e300, None) && count.step() > 1e300);
    }
}
