//! The work of a running script: its calls of tools, and its timers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use toolhost_sdk::calls::{Calls, Error, Waited};

use crate::printed::Printed;

/// The longest that a script waits at once.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The calls and timers of a script, and its output.
pub(crate) struct Work<C: Calls> {
    /// The tools.
    pub(crate) calls: C,
    /// The calls that run, in the order of their starts.
    pub(crate) running: Vec<Running<C::Call>>,
    /// How many calls were started.
    pub(crate) started: u32,
    /// The output of the script.
    pub(crate) printed: Printed,
    /// The state of its random numbers.
    random: u64,
    timers: Vec<Timer>,
    timers_started: u32,
}

/// A call that runs.
pub(crate) struct Running<T> {
    /// Its number among the calls of the script.
    pub(crate) number: u32,
    /// The call.
    pub(crate) call: T,
}

struct Timer {
    number: u32,
    due: Instant,
}

/// The end of a wait of a script.
pub(crate) enum Event<T> {
    /// A call has ended.
    Ended(Running<T>),
    /// The timer of this number is due.
    Due(u32),
    /// The time of the script is over.
    OutOfTime,
    /// The script was cancelled.
    Cancelled,
}

/// The work of a script, which its native functions share.
pub(crate) type Shared<C> = Rc<RefCell<Work<C>>>;

impl<C: Calls> Work<C> {
    /// Makes the work of a script that has begun nothing. The seed decides its random numbers.
    pub(crate) fn new(calls: C, seed: u64) -> Shared<C> {
        Rc::new(RefCell::new(Self {
            calls,
            running: Vec::new(),
            started: 0,
            printed: Printed::default(),
            random: seed,
            timers: Vec::new(),
            timers_started: 0,
        }))
    }

    /// Starts a call of a tool. Returns its number.
    pub(crate) fn start(&mut self, tool: &str, arguments: &str) -> Result<u32, Error> {
        let call = self.calls.start(tool, arguments)?;
        self.started += 1;
        let number = self.started;
        self.running.push(Running { number, call });
        Ok(number)
    }

    /// Cancels a call, unless it has ended.
    pub(crate) fn cancel(&self, number: u32) {
        if let Some(running) = self.running.iter().find(|running| running.number == number) {
            self.calls.cancel(&running.call);
        }
    }

    /// Returns the next random number, by SplitMix64. A repeat of the call has the same numbers, so that it makes the same calls.
    pub(crate) fn random(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        // The 53 bits of a number between 0 and 1.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let number = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        number
    }

    /// Starts a timer. Returns its number.
    pub(crate) fn start_timer(&mut self, after: Duration) -> u32 {
        self.timers_started += 1;
        self.timers.push(Timer {
            number: self.timers_started,
            due: Instant::now() + after.min(PATIENCE),
        });
        self.timers_started
    }

    /// Ends a timer.
    pub(crate) fn end_timer(&mut self, number: u32) {
        self.timers.retain(|timer| timer.number != number);
    }

    /// Returns whether there is nothing to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.timers.is_empty()
    }

    /// Waits until something happens. The engine must not run meanwhile.
    pub(crate) fn wait(&mut self) -> Event<C::Call> {
        let due = self
            .timers
            .iter()
            .enumerate()
            .min_by_key(|(_, timer)| timer.due);
        let due = due.map(|(at, timer)| (at, timer.due));
        let until = due.map_or(PATIENCE, |(_, due)| {
            due.saturating_duration_since(Instant::now())
        });
        // The interface counts whole milliseconds.
        let timeout = Duration::from_millis(
            u64::try_from(until.as_micros().div_ceil(1000)).unwrap_or(u64::MAX),
        );
        let calls: Vec<_> = self.running.iter().map(|running| &running.call).collect();
        match self.calls.wait_any(&calls, timeout) {
            Ok(Waited::Ended(at)) if (at as usize) < self.running.len() => {
                Event::Ended(self.running.remove(at as usize))
            }
            Ok(Waited::Cancelled) => Event::Cancelled,
            Ok(Waited::Ended(_) | Waited::TimedOut) | Err(_) => match due {
                Some((at, due)) if due <= Instant::now() => {
                    Event::Due(self.timers.remove(at).number)
                }
                _ => Event::OutOfTime,
            },
        }
    }
}
