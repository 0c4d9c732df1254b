//! The clock of retention. It never goes back, and setting the wall clock does not move it.
//!
//! While a host runs, the clock follows the monotonic clock. Between two hosts of the same boot, it follows the uptime of the machine.
//! Only across a reboot does it follow the wall clock, because no other clock runs then.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::time::Instant;

use super::checksum::checksum;

/// The clock of an open store, in milliseconds since the store was made.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    base: i64,
    started: Instant,
}

/// When a call began or ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// The time on the clock of retention.
    pub(super) tick: i64,
    /// The time on the wall clock.
    pub(super) wall: i64,
}

/// The clocks of the machine at one moment.
struct Reading {
    boot: String,
    uptime: i64,
    wall: i64,
}

impl Clock {
    /// Resumes the clock of the last host. `latest` returns the time of the latest call, which is used if the stored clock is damaged.
    pub(super) fn open(
        connection: &Connection,
        latest: impl FnOnce() -> rusqlite::Result<i64>,
    ) -> rusqlite::Result<Self> {
        let last = connection
            .query_row(
                "SELECT boot, uptime, wall, clock, sum FROM clock",
                [],
                |row| {
                    let boot: String = row.get(0)?;
                    let (uptime, wall, clock): (i64, i64, i64) =
                        (row.get(1)?, row.get(2)?, row.get(3)?);
                    let is_sound = row.get::<_, i64>(4)? == sum(&boot, [uptime, wall, clock]);
                    Ok(is_sound.then_some((boot, uptime, wall, clock)))
                },
            )
            .optional()?;
        let now = Reading::take();
        let base = match last.flatten() {
            Some((boot, uptime, wall, clock)) => {
                let last = Reading { boot, uptime, wall };
                clock.saturating_add(now.since(&last))
            }
            None => latest()?,
        };
        Ok(Self {
            base,
            started: Instant::now(),
        })
    }

    /// Returns the current time of this clock.
    fn now(&self) -> i64 {
        let since = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.base.saturating_add(since)
    }

    /// Returns the time on both clocks.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            tick: self.now(),
            wall: wall(),
        }
    }

    /// Stores the time for the next host, at least this one.
    pub(super) fn save(&self, connection: &Connection, least: i64) -> rusqlite::Result<()> {
        // The time of this clock comes last: what passes in between would be lost.
        let Reading { boot, uptime, wall } = Reading::take();
        let now = self.now().max(least);
        let sum = sum(&boot, [uptime, wall, now]);
        let mut save =
            connection.prepare_cached("REPLACE INTO clock VALUES (1, ?1, ?2, ?3, ?4, ?5)")?;
        save.execute(params![boot, uptime, wall, now, sum])?;
        Ok(())
    }
}

impl Reading {
    /// Returns how much time has passed since an earlier reading, in milliseconds.
    fn since(&self, last: &Self) -> i64 {
        match self.boot == last.boot {
            // Both uptimes were rounded down, so the clock would lose up to a millisecond.
            true => self.uptime.saturating_sub(last.uptime).max(0) + 1,
            false => self.wall.saturating_sub(last.wall).max(0),
        }
    }

    fn take() -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            boot: boot.trim().to_owned(),
            uptime: uptime(),
            wall: wall(),
        }
    }
}

/// Returns the milliseconds since the machine started, suspended time included.
fn uptime() -> i64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_or(Duration::ZERO, Duration::from)
        .as_millis()
        .try_into()
        .unwrap_or(i64::MAX)
}

/// Returns the wall clock in milliseconds since the Unix epoch.
pub(super) fn wall() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the checksum of the row.
fn sum(boot: &str, numbers: [i64; 3]) -> i64 {
    checksum(&[
        boot.as_bytes(),
        numbers.map(i64::to_le_bytes).as_flattened(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn the_clock_of_the_next_host_goes_on_where_the_last_one_stopped() {
        let connection = Connection::open_in_memory().unwrap();
        schema::migrate(&connection, schema::STEPS, |_| Ok(())).unwrap();
        let mut clock = Clock::open(&connection, || Ok(0)).unwrap();
        for _ in 0..100 {
            clock.save(&connection, 0).unwrap();
            let last = clock.now();
            clock = Clock::open(&connection, || Ok(0)).unwrap();
            let now = clock.now();
            assert!(now >= last, "{now} follows {last}");
        }
    }

    #[test]
    fn the_clock_follows_the_uptime_and_across_a_reboot_the_wall_clock() {
        let reading = |boot: &str, uptime, wall| Reading {
            boot: boot.to_owned(),
            uptime,
            wall,
        };
        let last = reading("a", 1_999, 5_000);
        for (now, passed) in [
            (reading("a", 2_000, 9_000), 2),
            (reading("a", 1_000, 9_000), 1),
            (reading("b", 10, 5_700), 700),
            (reading("b", 10, 4_000), 0),
        ] {
            assert_eq!(now.since(&last), passed);
        }
    }

    /// The uptime was once read in whole seconds, so that the clock of the next host was up to a second late or early.
    #[test]
    fn the_uptime_has_milliseconds() {
        let mut changes = vec![uptime()];
        while changes.len() < 4 {
            let now = uptime();
            if changes.last() != Some(&now) {
                changes.push(now);
            }
        }
        assert!(
            changes.iter().any(|change| change % 1000 != 0),
            "{changes:?}"
        );
    }
}
