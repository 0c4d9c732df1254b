//! A circuit breaker: after failures, requests fail at once for a while instead of waiting.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long requests fail at once after a failure; twice as long after each further one.
const FIRST: Duration = Duration::from_secs(1);

/// The longest of these times.
const LONGEST: Duration = Duration::from_secs(30);

/// How long the others wait for the result of the request that tries whether the agent is back.
const PROBE: Duration = Duration::from_secs(10);

/// What a request should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Go on.
    Pass,
    /// Try once whether the agent is back.
    Probe,
    /// Fail, for this reason.
    Refuse(String),
}

/// The breaker of one agent.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The failures since the last success.
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    /// Why the last request failed.
    reason: String,
}

impl Breaker {
    /// Returns what a request should do. Of the requests after a pause, one tries whether the agent is back.
    pub(crate) fn check(&self) -> Check {
        let mut state = self.0.lock();
        let Some(open) = state.open.as_mut() else {
            return Check::Pass;
        };
        let now = Instant::now();
        if now < open.until {
            return Check::Refuse(open.reason.clone());
        }
        open.until = now + PROBE;
        Check::Probe
    }

    /// Notes that the agent answered.
    pub(crate) fn succeeded(&self) {
        *self.0.lock() = State::default();
    }

    /// Notes that the agent could not be reached.
    pub(crate) fn failed(&self, reason: &str) {
        let mut state = self.0.lock();
        state.failures = state.failures.saturating_add(1);
        state.open = Some(Open {
            until: Instant::now() + pause(state.failures),
            reason: reason.to_owned(),
        });
    }
}

fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_request_tries_again_after_the_pause() {
        let breaker = Breaker::default();
        let refused = |reason: &str| Check::Refuse(reason.to_owned());
        assert_eq!(breaker.check(), Check::Pass);
        breaker.failed("refused");
        assert_eq!(breaker.check(), refused("refused"));
        tokio::time::advance(FIRST).await;
        assert_eq!(breaker.check(), Check::Probe, "the first tries");
        assert_eq!(breaker.check(), refused("refused"), "the others wait");
        breaker.failed("refused again");
        tokio::time::advance(FIRST).await;
        assert_eq!(breaker.check(), refused("refused again"));
        tokio::time::advance(FIRST).await;
        assert_eq!(breaker.check(), Check::Probe);
        tokio::time::advance(PROBE).await;
        assert_eq!(breaker.check(), Check::Probe, "the probe was cancelled");
        breaker.succeeded();
        assert_eq!(breaker.check(), Check::Pass);
        assert_eq!(pause(100), LONGEST);
    }
}
