//! Quarantine: calls of a plugin that traps again and again are refused for a while.
//!
//! After a number of traps in a row, no call reaches the plugin until a back-off has passed. Then one call may try. If it
//! replies, the plugin has recovered; if it traps, the next back-off is twice as long. A limit that a call reaches is not a
//! trap: otherwise a client with costly arguments could take a tool from other clients.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// The first back-off, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// The traps and the quarantine of one version of a plugin. All calls of that version share it.
#[derive(Debug)]
pub(super) struct Health {
    /// The number of traps in a row after which the plugin is quarantined; 0: never.
    most: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    traps: u32,
    quarantine: Option<Quarantine>,
}

#[derive(Debug)]
struct Quarantine {
    until: Instant,
    back_off: Duration,
    /// Whether the one call that may try is under way.
    trying: bool,
}

/// The permission of one call to reach the plugin. Report its end with [`Admission::ended`]. If the admission is dropped
/// instead, the call says nothing about the plugin.
#[derive(Debug)]
pub(super) struct Admission {
    health: Arc<Health>,
    tries: bool,
}

/// The end of a call, as far as the health of its plugin depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The plugin replied, if only with an error.
    Replied,
    /// It trapped.
    Trapped,
    /// The call was stopped, or did not run.
    Silent,
}

/// The change that a call made to the health of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// No change to report.
    None,
    /// Calls of the plugin are refused for this long.
    Quarantined(Duration),
    /// The plugin works again.
    Recovered,
}

impl Health {
    pub(super) fn new(most: u32) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { most, state })
    }

    /// Admits a call, or returns the rest of the quarantine.
    pub(super) fn admit(self: &Arc<Self>) -> Result<Admission, Duration> {
        let mut state = self.lock();
        let tries = match &mut state.quarantine {
            None => false,
            Some(quarantine) => {
                let left = quarantine.until.saturating_duration_since(Instant::now());
                if !left.is_zero() {
                    return Err(left);
                }
                if quarantine.trying {
                    return Err(FIRST);
                }
                quarantine.trying = true;
                true
            }
        };
        drop(state);
        Ok(Admission {
            health: Arc::clone(self),
            tries,
        })
    }

    /// Returns the rest of the quarantine: zero if one call may try, `None` if the plugin is not quarantined.
    pub(super) fn quarantined(&self) -> Option<Duration> {
        let until = self.lock().quarantine.as_ref()?.until;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// Begins a quarantine that another host began, unless there is one already. Returns whether it did.
    pub(super) fn quarantine(&self, back_off: Duration) -> bool {
        let mut state = self.lock();
        if self.most == 0 || state.quarantine.is_some() {
            return false;
        }
        state.traps = self.most;
        state.quarantine = Some(Quarantine {
            until: Instant::now() + back_off.min(LONGEST),
            back_off: back_off.min(LONGEST),
            trying: false,
        });
        true
    }

    /// Returns the number of traps in a row after which the plugin is quarantined.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Admission {
    /// Records the end of the call, and returns the change of the plugin's health.
    pub(super) fn ended(self, ending: Ending) -> Change {
        let mut state = self.health.lock();
        if ending == Ending::Silent {
            return Change::None;
        }
        if ending == Ending::Replied {
            state.traps = 0;
            return match state.quarantine.take() {
                Some(_) => Change::Recovered,
                None => Change::None,
            };
        }
        state.traps = state.traps.saturating_add(1);
        // A call that was under way when the quarantine began does not extend it.
        let begins = state.quarantine.is_none() || self.tries;
        if self.health.most == 0 || state.traps < self.health.most || !begins {
            return Change::None;
        }
        let before = state.quarantine.as_ref().map(|before| before.back_off);
        let back_off = before.map_or(FIRST, |before| (before * 2).min(LONGEST));
        state.quarantine = Some(Quarantine {
            until: Instant::now() + back_off,
            back_off,
            trying: false,
        });
        Change::Quarantined(back_off)
    }
}

impl Drop for Admission {
    /// Lets another call try, however this one ended.
    fn drop(&mut self) {
        if self.tries
            && let Some(quarantine) = &mut self.health.lock().quarantine
        {
            quarantine.trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trap(health: &Arc<Health>, times: u32) -> Change {
        let ended: Vec<_> = (0..times)
            .map(|_| health.admit().unwrap().ended(Ending::Trapped))
            .collect();
        ended[ended.len() - 1]
    }

    #[tokio::test(start_paused = true)]
    async fn traps_in_a_row_end_in_quarantine_and_the_back_off_doubles() {
        let health = Health::new(3);
        assert_eq!(trap(&health, 2), Change::None);
        assert_eq!(health.admit().unwrap().ended(Ending::Replied), Change::None);
        assert_eq!(trap(&health, 2), Change::None);
        assert_eq!(trap(&health, 1), Change::Quarantined(FIRST));
        let mut back_off = FIRST;
        for _ in 0..12 {
            assert_eq!(health.admit().unwrap_err(), back_off);
            assert_eq!(health.quarantined(), Some(back_off));
            tokio::time::advance(back_off).await;
            back_off = (back_off * 2).min(LONGEST);
            assert_eq!(trap(&health, 1), Change::Quarantined(back_off));
        }
        assert_eq!(back_off, LONGEST);
        tokio::time::advance(back_off).await;
        assert_eq!(
            health.admit().unwrap().ended(Ending::Replied),
            Change::Recovered
        );
        assert_eq!(health.quarantined(), None);
        assert_eq!(trap(&health, 3), Change::Quarantined(FIRST));
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_tries_and_one_that_goes_makes_room() {
        let health = Health::new(1);
        trap(&health, 1);
        tokio::time::advance(FIRST).await;
        let trying = health.admit().unwrap();
        assert_eq!(health.admit().unwrap_err(), FIRST);
        drop(trying);
        let again = health.admit().unwrap();
        assert_eq!(again.ended(Ending::Trapped), Change::Quarantined(FIRST * 2));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_were_under_way_do_not_prolong_it() {
        let health = Health::new(1);
        let (first, second, third) = (
            health.admit().unwrap(),
            health.admit().unwrap(),
            health.admit().unwrap(),
        );
        assert_eq!(first.ended(Ending::Trapped), Change::Quarantined(FIRST));
        assert_eq!(second.ended(Ending::Trapped), Change::None);
        assert_eq!(health.quarantined(), Some(FIRST));
        // A call that replies shows that the plugin works.
        assert_eq!(third.ended(Ending::Replied), Change::Recovered);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_says_nothing_changes_nothing() {
        let health = Health::new(2);
        assert_eq!(trap(&health, 1), Change::None);
        assert_eq!(health.admit().unwrap().ended(Ending::Silent), Change::None);
        assert_eq!(trap(&health, 1), Change::Quarantined(FIRST));
        tokio::time::advance(FIRST).await;
        assert_eq!(health.admit().unwrap().ended(Ending::Silent), Change::None);
        assert!(health.quarantined().is_some());
        assert_eq!(trap(&health, 1), Change::Quarantined(FIRST * 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_quarantine_of_another_host_goes_on_as_one_of_this_host() {
        let health = Health::new(3);
        assert!(health.quarantine(FIRST * 4));
        assert_eq!(health.admit().unwrap_err(), FIRST * 4);
        assert!(!health.quarantine(FIRST * 8));
        tokio::time::advance(FIRST * 4).await;
        assert_eq!(trap(&health, 1), Change::Quarantined(FIRST * 8));
    }

    #[test]
    fn zero_means_never() {
        let health = Health::new(0);
        assert!(!health.quarantine(FIRST));
        assert_eq!(trap(&health, 100), Change::None);
    }
}
