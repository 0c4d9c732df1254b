//! Lines on their way to the file: a bounded queue, and the one thread that writes the queued lines.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::json;

use super::file::LogFile;
use super::line::line;
use super::shares::{Owner, Report, Shares};
use crate::metrics::Metrics;

/// After this time the thread retries lines that it could not write, even if no new line has come.
const RETRY: Duration = Duration::from_secs(1);

/// The memory that a line takes besides its text, in bytes.
const OVERHEAD: usize = 64;

/// The queue of the file. When it is dropped, its thread writes the queued lines, and ends.
#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<Shared>,
    metrics: Metrics,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the queue was dropped.
    arrived: Condvar,
    /// Everything was written, or could not be.
    settled: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<Line>,
    shares: Shares,
    /// Bytes of the lines that are queued or being written.
    bytes: usize,
    /// Lines that were not written, and of which no line says so yet.
    lost: u64,
    /// Whether the thread is writing, or has not looked at the queue yet.
    busy: bool,
    /// Whether a flush waits for the disk.
    flushing: bool,
    closed: bool,
}

/// A line and the token that it belongs to: `None` for acts of the host and its operator.
#[derive(Debug)]
struct Line {
    text: String,
    owner: Option<Owner>,
}

impl Line {
    fn cost(&self) -> usize {
        self.text.len() + OVERHEAD
    }
}

impl Queue {
    /// Starts the thread, which may hold `limit` bytes of lines. A token may add `share` bytes at once, and the same again in
    /// each hour. Its lines may take half of `limit`.
    ///
    /// # Errors
    ///
    /// If the system refuses another thread.
    pub(super) fn start(
        file: LogFile,
        limit: usize,
        share: u64,
        metrics: Metrics,
    ) -> io::Result<Self> {
        let state = State {
            lines: VecDeque::new(),
            shares: Shares::new(share, limit / 2),
            bytes: 0,
            lost: 0,
            busy: false,
            flushing: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            settled: Condvar::new(),
            limit,
        });
        let writer = Writer {
            shared: Arc::clone(&shared),
            file,
            metrics: metrics.clone(),
            failing: false,
        };
        // Not joined: a hung disk must not hold up the thread that drops this.
        thread::Builder::new()
            .name("toolhost-audit".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self { shared, metrics })
    }

    /// Queues the line of an event. Counts it as left out if its owner's share is used up, or as lost if the queue is full.
    /// Waits for no disk.
    pub(super) fn push(&self, event: &'static str, owner: Option<Owner>, text: String) {
        let line = Line { text, owner };
        let cost = line.cost();
        let mut state = self.shared.lock();
        if let Some(owner) = &line.owner
            && !state.shares.admit(owner, event, cost, Instant::now())
        {
            self.metrics.audit_left_out(owner);
        } else if state.bytes + cost > self.shared.limit {
            state.lost += 1;
            self.metrics.audit_lost(1);
        } else {
            state.bytes += cost;
            state.lines.push_back(line);
        }
        state.busy = true;
        drop(state);
        self.shared.arrived.notify_one();
    }

    /// Waits until everything that was queued is on the disk or lost, but no longer than this. Blocks. Returns whether nothing
    /// is missing in the file.
    pub(super) fn flush(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.shared.lock();
        (state.busy, state.flushing) = (true, true);
        self.shared.arrived.notify_one();
        while state.busy {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.shared.settled.wait_for(&mut state, left);
        }
        state.lost == 0
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The state of the thread.
struct Writer {
    shared: Arc<Shared>,
    file: LogFile,
    metrics: Metrics,
    /// Whether the last write failed, so that the log is told once.
    failing: bool,
}

/// The work of the thread in one go.
struct Batch {
    lines: VecDeque<Line>,
    /// Lines that were left out, of each token whose turn it is to be told of.
    left_out: Vec<Report>,
    lost: u64,
    flush: bool,
    last: bool,
}

impl Writer {
    fn run(mut self) {
        loop {
            let Batch {
                lines,
                left_out,
                lost,
                flush,
                last,
            } = self.next();
            let mut lost = self.report(lost);
            for report in left_out {
                lost = self.report(lost);
                let text = line(SystemTime::now(), "left_out", report.fields);
                if lost > 0 || !self.write(&text) {
                    lost += report.count;
                    self.metrics.audit_lost(report.count);
                }
            }
            for line in &lines {
                // Nothing follows a gap before the line that says so.
                lost = self.report(lost);
                if lost > 0 || !self.write(&line.text) {
                    lost += 1;
                    self.metrics.audit_lost(1);
                }
            }
            lost = self.report(lost);
            if (flush || last)
                && let Err(error) = self.file.sync()
            {
                tracing::warn!(%error, "the disk may not have all of the audit trail");
            }
            let mut state = self.shared.lock();
            for line in &lines {
                state.bytes -= line.cost();
                if let Some(owner) = &line.owner {
                    state.shares.settled(owner, line.cost());
                }
            }
            state.lost += lost;
            state.busy = !state.lines.is_empty() || state.flushing;
            drop(state);
            self.shared.settled.notify_all();
            if last {
                return;
            }
        }
    }

    /// Waits until there is something to do.
    fn next(&self) -> Batch {
        let mut state = self.shared.lock();
        let mut retry = false;
        while state.lines.is_empty() && !state.flushing && !state.closed && !retry {
            let arrived = &self.shared.arrived;
            let due = state.shares.due();
            let due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let lost = (state.lost > 0).then_some(RETRY);
            match lost.into_iter().chain(due).min() {
                None => arrived.wait(&mut state),
                Some(time) => retry = arrived.wait_for(&mut state, time).timed_out(),
            }
        }
        let all = state.flushing || state.closed;
        Batch {
            left_out: state.shares.reports((!all).then(Instant::now)),
            lines: std::mem::take(&mut state.lines),
            lost: std::mem::take(&mut state.lost),
            flush: std::mem::take(&mut state.flushing),
            last: state.closed,
        }
    }

    /// Writes how many lines are missing. Returns how many of them no line speaks of yet.
    fn report(&mut self, lost: u64) -> u64 {
        if lost == 0 {
            return 0;
        }
        let text = line(SystemTime::now(), "lost", json!({ "count": lost }));
        if self.write(&text) {
            tracing::warn!(lines = lost, "the audit trail has a gap");
            0
        } else {
            lost
        }
    }

    fn write(&mut self, line: &str) -> bool {
        let written = self.file.append(line);
        match &written {
            Ok(()) => {
                self.metrics.audit_line();
                self.failing = false;
            }
            Err(error) if !self.failing => {
                tracing::warn!(%error, "the audit trail cannot be written; what is missing is counted");
                self.failing = true;
            }
            Err(_) => {}
        }
        written.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::super::file::NAME;
    use super::*;
    use toolhost_state::state_dir::StateDir;

    fn queue(path: &std::path::Path, limit: usize, metrics: &Metrics) -> Queue {
        let directory = StateDir::open(path).unwrap();
        let file = LogFile::open(directory, &Config::default()).unwrap();
        Queue::start(file, limit, u64::MAX, metrics.clone()).unwrap()
    }

    #[test]
    fn lines_are_written_in_order_also_when_the_queue_is_dropped() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        let metrics = Metrics::default();
        let first = queue(&path, 1 << 20, &metrics);
        for index in 0..100 {
            first.push("x", None, index.to_string());
        }
        assert!(first.flush(Duration::from_secs(60)));
        let expected: String = (0..100).map(|index| format!("{index}\n")).collect();
        assert_eq!(std::fs::read_to_string(path.join(NAME)).unwrap(), expected);
        first.push("x", None, "100".into());
        let shared = Arc::downgrade(&first.shared);
        drop(first);
        // The thread drops the shared state when it ends.
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
        let text = std::fs::read_to_string(path.join(NAME)).unwrap();
        assert!(text.ends_with("99\n100\n"));
        assert!(metrics.text().contains("toolhost_audit_lines_total 101\n"));
    }

    /// Lines that do not fit are counted, and a line says so before the next.
    #[test]
    fn a_full_queue_loses_lines_and_says_so() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        let metrics = Metrics::default();
        let queue = queue(&path, 1000, &metrics);
        {
            // The thread cannot take anything out meanwhile.
            let mut state = queue.shared.lock();
            state.bytes = 1000;
        }
        for _ in 0..3 {
            queue.push("x", None, "x".into());
        }
        queue.shared.lock().bytes = 0;
        queue.push("x", None, "y".into());
        assert!(queue.flush(Duration::from_secs(60)));
        let text = std::fs::read_to_string(path.join(NAME)).unwrap();
        let lost: Vec<_> = text
            .lines()
            .filter(|line| line.contains("\"lost\""))
            .collect();
        let counts = lost.iter().map(|line| {
            let parsed: serde_json::Value = serde_json::from_str(line).unwrap();
            parsed["count"].as_u64().unwrap()
        });
        assert_eq!(counts.sum::<u64>(), 3, "{text}");
        assert!(text.ends_with("y\n"), "{text}");
        assert!(
            metrics
                .text()
                .contains("toolhost_audit_lines_lost_total 3\n")
        );
    }
}
