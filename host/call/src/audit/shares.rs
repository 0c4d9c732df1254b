//! Shares: the bytes that each token may add to the trail, and the count of lines that exceeded them.
//!
//! A flood of lines from one token must not rotate away the lines of the others. So a token may add its share at once, and
//! the same again in each hour. Lines that only say that a call came and went may use half of that; the other half is for the
//! acts of calls. Lines beyond it are counted, and one line a minute says how many there were.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::time::rfc3339;

/// The time in which a used share is restored.
const HOUR: Duration = Duration::from_secs(3600);

/// The time between two reports of the lines that were left out.
const REPORT: Duration = Duration::from_secs(60);

/// The events that only record the start and the end of a call.
const ORDINARY: [&str; 3] = ["call_started", "call", "call_cancelled"];

/// The token that a line belongs to, by its name; empty for calls without one.
pub(super) type Owner = Arc<str>;

/// The shares of all tokens.
#[derive(Debug)]
pub(super) struct Shares {
    /// Bytes that a token may add at once, and again in each hour.
    size: u64,
    /// Bytes that a token may have waiting for the disk.
    pending: usize,
    of: HashMap<Owner, Share>,
}

#[derive(Debug)]
struct Share {
    /// When the whole share is restored.
    full: Instant,
    /// Bytes that wait for the disk.
    pending: usize,
    left_out: Option<LeftOut>,
}

#[derive(Debug)]
struct LeftOut {
    since: SystemTime,
    /// When the report is due.
    due: Instant,
    bytes: u64,
    events: BTreeMap<&'static str, u64>,
}

/// The lines of one token that were left out since the last report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    since: String,
    /// The number of lines.
    pub(super) count: u64,
    bytes: u64,
    events: BTreeMap<&'static str, u64>,
}

impl Shares {
    pub(super) fn new(size: u64, pending: usize) -> Self {
        Self {
            size: size.max(1),
            pending,
            of: HashMap::new(),
        }
    }

    /// Returns whether a line of `bytes` bytes may be written. Otherwise counts the line.
    pub(super) fn admit(
        &mut self,
        owner: &Owner,
        event: &'static str,
        bytes: usize,
        now: Instant,
    ) -> bool {
        let share = self.of.entry(Arc::clone(owner)).or_insert_with(|| Share {
            full: now,
            pending: 0,
            left_out: None,
        });
        let ordinary = ORDINARY.contains(&event);
        let most = if ordinary { HOUR / 2 } else { HOUR };
        let cost = HOUR.as_nanos() * bytes as u128 / u128::from(self.size);
        let cost = Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
        let full = share.full.max(now).checked_add(cost);
        let full = full.filter(|full| full.duration_since(now) <= most);
        match full {
            Some(full) if share.pending + bytes <= self.pending => {
                share.full = full;
                share.pending += bytes;
                true
            }
            _ => {
                let left_out = share.left_out.get_or_insert_with(|| LeftOut {
                    since: SystemTime::now(),
                    due: now + REPORT,
                    bytes: 0,
                    events: BTreeMap::new(),
                });
                left_out.bytes += bytes as u64;
                *left_out.events.entry(event).or_default() += 1;
                false
            }
        }
    }

    /// Subtracts bytes that no longer wait for the disk.
    pub(super) fn settled(&mut self, owner: &Owner, bytes: usize) {
        if let Some(share) = self.of.get_mut(owner) {
            share.pending = share.pending.saturating_sub(bytes);
        }
    }

    /// Returns when the next report is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let left_out = self.of.values().filter_map(|share| share.left_out.as_ref());
        left_out.map(|left_out| left_out.due).min()
    }

    /// Takes the reports that are due at this moment, or all if `now` is `None`.
    pub(super) fn reports(&mut self, now: Option<Instant>) -> Vec<Report> {
        let is_due = |left_out: &mut LeftOut| now.is_none_or(|now| left_out.due <= now);
        let shares = self.of.iter_mut();
        let taken = shares.filter_map(|(owner, share)| {
            let left_out = share.left_out.take_if(is_due)?;
            Some(Report {
                principal: (!owner.is_empty()).then(|| owner.to_string()),
                since: rfc3339(left_out.since),
                count: left_out.events.values().sum(),
                bytes: left_out.bytes,
                events: left_out.events,
            })
        });
        taken.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_has_its_share_at_once_and_again_in_an_hour() {
        let mut shares = Shares::new(3600, usize::MAX);
        let (busy, quiet): (Owner, Owner) = ("busy".into(), "quiet".into());
        let begun = Instant::now();
        // Half of it for calls, which are many.
        for _ in 0..18 {
            assert!(shares.admit(&busy, "call", 100, begun));
        }
        assert!(!shares.admit(&busy, "call_started", 100, begun));
        for _ in 0..18 {
            assert!(shares.admit(&busy, "process_start", 100, begun));
        }
        assert!(!shares.admit(&busy, "denied", 100, begun));
        // The others have theirs.
        assert!(shares.admit(&quiet, "call", 100, begun));
        // One byte comes back each second.
        let later = begun + Duration::from_secs(99);
        assert!(!shares.admit(&busy, "denied", 100, later));
        let later = begun + Duration::from_secs(100);
        assert!(shares.admit(&busy, "denied", 100, later));
        assert!(!shares.admit(&busy, "call", 1, later));
        let later = later + HOUR;
        for _ in 0..18 {
            assert!(shares.admit(&busy, "call", 100, later));
        }
        assert!(!shares.admit(&busy, "call", 1, later));
    }

    /// Many small lines: less than a byte of the share comes back between two of them.
    #[test]
    fn a_share_comes_back_however_often_it_is_used() {
        let mut shares = Shares::new(3600, usize::MAX);
        let owner: Owner = "busy".into();
        let mut now = Instant::now();
        assert!(shares.admit(&owner, "denied", 3600, now));
        let mut admitted = 0;
        for _ in 0..10_000 {
            now += Duration::from_millis(10);
            admitted += u32::from(shares.admit(&owner, "denied", 1, now));
        }
        assert_eq!(admitted, 100);
    }

    #[test]
    fn what_is_left_out_is_said_once_it_is_due() {
        let mut shares = Shares::new(100, usize::MAX);
        let (a, none): (Owner, Owner) = ("a".into(), "".into());
        let begun = Instant::now();
        assert_eq!(shares.due(), None);
        for event in ["call", "denied", "call"] {
            assert!(!shares.admit(&a, event, 101, begun));
        }
        assert!(!shares.admit(&none, "call", 60, begun + REPORT / 2));
        assert_eq!(shares.due(), Some(begun + REPORT));
        assert!(shares.reports(Some(begun)).is_empty());
        let reports = shares.reports(Some(begun + REPORT));
        let [report] = &reports[..] else {
            panic!("{reports:?}")
        };
        assert_eq!(report.count, 3);
        let fields = json!(report);
        assert_eq!(
            (&fields["principal"], &fields["bytes"]),
            (&json!("a"), &json!(303))
        );
        assert_eq!(fields["events"], json!({ "call": 2, "denied": 1 }));
        let rest = shares.reports(None);
        assert_eq!(rest.len(), 1);
        assert!(rest[0].principal.is_none());
        assert_eq!(shares.due(), None);
    }

    /// A slow disk: the lines that wait for it are bounded for each token.
    #[test]
    fn one_token_cannot_fill_the_queue() {
        let mut shares = Shares::new(u64::MAX, 100);
        let (a, b): (Owner, Owner) = ("a".into(), "b".into());
        let now = Instant::now();
        assert!(shares.admit(&a, "denied", 100, now));
        assert!(!shares.admit(&a, "denied", 1, now));
        assert!(shares.admit(&b, "denied", 100, now));
        shares.settled(&a, 100);
        assert!(shares.admit(&a, "denied", 1, now));
    }
}
