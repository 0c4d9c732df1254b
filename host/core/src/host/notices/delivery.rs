//! Delivering notices to chat servers: those of one process in order, those of different processes at the same time.

use std::sync::Arc;
use std::time::Duration;

use toolhost_call::notice::{Delivery, Notice, Undelivered};
use toolhost_state::unix_time;

use super::Shared;
use super::table::Key;

/// The pause after the first attempt that failed, which doubles with each, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The longest pause that a receiver can ask for.
const LONGEST_ASKED: Duration = Duration::from_hours(1);

/// How long after it was told a notice is given up.
const GIVEN_UP: Duration = Duration::from_hours(72);

impl Shared {
    /// Has a notice delivered after the earlier ones of its process.
    pub(super) fn enqueue(self: &Arc<Self>, notice: &Notice) {
        if !self.table.lock().enqueue(notice) {
            return;
        }
        let (shared, key) = (
            Arc::clone(self),
            (notice.chat.clone(), notice.process.clone()),
        );
        self.spawn(async move { shared.deliver_all(&key).await });
    }

    /// Delivers the notices of a process until none is left.
    async fn deliver_all(&self, key: &Key) {
        loop {
            let (notice, removed) = {
                let mut table = self.table.lock();
                let Some(notice) = table.front(key) else {
                    return;
                };
                let removed = table.removed(&notice.id).unwrap_or_default();
                (notice, removed)
            };
            let delivery = removed.run_until_cancelled(self.deliver(&notice)).await;
            if let Some(delivery) = delivery {
                let delivered = Notice {
                    delivery,
                    ..(*notice).clone()
                };
                let delivered = self.table.lock().replace(delivered);
                self.keep(&delivered).await;
                self.metrics.notice_delivered(delivery.into());
            }
            self.table.lock().leave(key);
            self.forget_old().await;
        }
    }

    /// Delivers a notice, with pauses after attempts that fail.
    async fn deliver(&self, notice: &Notice) -> Delivery {
        // An earlier host had one.
        let Some(courier) = self.courier.as_deref() else {
            return Delivery::GivenUp;
        };
        let told_ms = notice.told.as_ref().map_or(0, |told| told.at_ms);
        let last_ms = told_ms.saturating_add(milliseconds(GIVEN_UP));
        let places = self.table.lock().sending(&notice.principal);
        let mut pause = FIRST_PAUSE;
        loop {
            let sending = places.acquire().await;
            let delivered = courier.deliver(notice).await;
            drop(sending);
            let (reason, after) = match delivered {
                Ok(()) => return Delivery::Done,
                Err(Undelivered::ForNow { reason, after }) if unix_time::now_ms() < last_ms => {
                    (reason, after)
                }
                Err(error) => {
                    tracing::warn!(notice = notice.id, chat = %notice.chat, %error, "a notice is given up");
                    return Delivery::GivenUp;
                }
            };
            self.metrics.notice_delivered("failed");
            if pause == FIRST_PAUSE {
                tracing::warn!(notice = notice.id, chat = %notice.chat, reason, "a notice was not delivered: it is tried again");
            }
            let asked = after.unwrap_or_default().min(LONGEST_ASKED);
            tokio::time::sleep(spread(pause, &notice.id).max(asked)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Returns a time between three quarters of a pause and all of it, so that notices that failed together do not come back together.
fn spread(pause: Duration, id: &str) -> Duration {
    let [byte, ..] = *blake3::hash(id.as_bytes()).as_bytes();
    pause.mul_f64(1.0 - f64::from(byte) / 1024.0)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
