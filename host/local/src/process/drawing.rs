//! Drawing the screen of a terminal beside its output: a program can write sequences of which a few bytes take milliseconds to draw.
//!
//! All terminals of a registry take turns on one thread, and none has more than a quarter of it for long. What cannot be drawn in time is
//! left out: then the screen is wrong until the program draws it anew.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use super::input::Slot;
use super::screen::Drawn;
use super::{Screen, Size};

/// The most bytes that wait to be drawn.
const MOST_PENDING: usize = 256 << 10;

/// How many bytes are drawn between two looks at the clock.
const SLICE: usize = 256;

/// How long a turn is, unless a slice takes longer.
const TURN: Duration = Duration::from_millis(20);

/// How many times as long as a whole turn the pause after it is.
const PAUSE: u32 = 3;

/// How long a look waits for what was written before it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The turns of the terminals of a registry.
pub(super) type Turns = Arc<Semaphore>;

/// The screen of the terminal of one process.
#[derive(Debug)]
pub(super) struct Drawing {
    drawn: tokio::sync::Mutex<Drawn>,
    pending: Mutex<Pending>,
    /// Told when nothing is pending.
    level: Notify,
    turns: Turns,
    /// Where the terminal answers programs that ask it.
    input: Arc<tokio::sync::Mutex<Slot>>,
}

#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Whether a task draws them.
    is_drawn: bool,
}

impl Pending {
    /// Leaves out the oldest bytes if there are too many.
    fn bound(&mut self) {
        let excess = self.bytes.len().saturating_sub(MOST_PENDING);
        self.bytes.drain(..excess);
    }
}

impl Drawing {
    /// Makes an empty screen.
    pub(super) fn new(size: Size, turns: Turns, input: Arc<tokio::sync::Mutex<Slot>>) -> Arc<Self> {
        Arc::new(Self {
            drawn: tokio::sync::Mutex::new(Drawn::new(size)),
            pending: Mutex::default(),
            level: Notify::new(),
            turns,
            input,
        })
    }

    /// Adds output. Must be called within a tokio runtime.
    pub(super) fn add(self: &Arc<Self>, bytes: &[u8]) {
        let mut pending = self.pending.lock();
        pending.bytes.extend_from_slice(bytes);
        pending.bound();
        if !std::mem::replace(&mut pending.is_drawn, true) {
            tokio::spawn(Arc::clone(self).draw());
        }
    }

    /// Draws until nothing is pending.
    async fn draw(self: Arc<Self>) {
        while let Some(bytes) = self.take() {
            let Ok(turn) = self.turns.acquire().await else {
                return;
            };
            let this = Arc::clone(&self);
            let begun = Instant::now();
            let drawing = move || this.turn(&bytes, begun);
            let Ok((answers, is_whole)) = tokio::task::spawn_blocking(drawing).await else {
                return;
            };
            drop(turn);
            if !answers.is_empty()
                && let Ok(slot) = self.input.try_lock()
            {
                slot.answer(&answers);
            }
            if !is_whole {
                sleep(begun.elapsed() * PAUSE).await;
            }
        }
        self.level.notify_waiters();
    }

    /// Takes what is pending; `None`, and the task ends, if that is nothing.
    fn take(&self) -> Option<Vec<u8>> {
        let mut pending = self.pending.lock();
        if pending.bytes.is_empty() {
            pending.is_drawn = false;
            return None;
        }
        Some(std::mem::take(&mut pending.bytes))
    }

    /// Draws bytes for one turn, and makes what is left pending again. Returns what the terminal answers, and whether nothing was left.
    fn turn(&self, bytes: &[u8], begun: Instant) -> (Vec<u8>, bool) {
        let mut drawn = self.drawn.blocking_lock();
        let (mut answers, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() && begun.elapsed() < TURN {
            let (slice, after) = rest.split_at(rest.len().min(SLICE));
            answers.extend(drawn.push(slice));
            rest = after;
        }
        let is_whole = rest.is_empty();
        if !is_whole {
            let mut pending = self.pending.lock();
            pending.bytes.splice(0..0, rest.iter().copied());
            pending.bound();
        }
        (answers, is_whole)
    }

    /// Returns what the terminal shows, once all earlier output is drawn, or after a second.
    pub(super) async fn shown(&self) -> Screen {
        self.settled().await;
        self.drawn.lock().await.shown()
    }

    pub(super) async fn resize(&self, size: Size) {
        self.settled().await;
        self.drawn.lock().await.resize(size);
    }

    /// Keeps what it shows, and frees what only more output would need.
    pub(super) async fn end(&self) {
        self.settled().await;
        self.drawn.lock().await.end();
    }

    async fn settled(&self) {
        let settled = async {
            loop {
                let level = self.level.notified();
                tokio::pin!(level);
                // From here on, no notification is missed.
                level.as_mut().enable();
                if !self.pending.lock().is_drawn {
                    return;
                }
                level.await;
            }
        };
        _ = timeout(PATIENCE, settled).await;
    }
}
