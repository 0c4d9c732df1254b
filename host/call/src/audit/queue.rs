//! Lines on their way to the file: a bounded queue, and the one thread that writes the queued lines.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use serde_json::json;

use super::file::LogFile;
use super::line::{First, line};
use super::shares::{Owner, Shares};
use crate::metrics::Metrics;

/// After this time, the thread retries to write the number of lost lines, even if no new line has come.
const RETRY: Duration = Duration::from_secs(1);

/// How long the thread pauses after it wrote lines, so that not each line of a busy host has to wake it.
const PAUSE: Duration = Duration::from_millis(10);

/// The most lines between two looks at what others did to the file.
const LINES_A_LOOK: usize = 256;

/// The memory that a line takes besides its text, in bytes.
const OVERHEAD: usize = 64;

/// The queue of the file. When it is dropped, its thread writes the queued lines, and ends.
#[derive(Debug)]
pub(super) struct Queue {
    tasks: Sender<Task>,
    thread: Thread,
    account: Arc<Mutex<Account>>,
    metrics: Metrics,
    limit: usize,
}

/// The queued lines, and the count of lost ones.
#[derive(Debug)]
struct Account {
    shares: Shares,
    /// Bytes of the lines that are queued or being written.
    bytes: usize,
    /// The lines that were lost since the thread last checked, because the queue was full.
    lost: u64,
    /// Whether the thread was woken to report lost lines.
    told: bool,
}

/// A task of the thread.
#[derive(Debug)]
enum Task {
    Write(Line),
    /// Lines were lost or left out, which the thread has to report when it is time.
    Look,
    /// A request to sync the file. The answer says whether all lines were written.
    Flush(Sender<bool>),
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
        let (tasks, queued) = mpsc::channel();
        let account = Arc::new(Mutex::new(Account {
            shares: Shares::new(share, limit / 2),
            bytes: 0,
            lost: 0,
            told: false,
        }));
        let writer = Writer {
            tasks: queued,
            account: Arc::clone(&account),
            file,
            metrics: metrics.clone(),
            lost: 0,
            failing: false,
        };
        // Not joined: a hung disk must not hold up the thread that drops this.
        let writer = thread::Builder::new()
            .name("toolhost-audit".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self {
            tasks,
            thread: writer.thread().clone(),
            account,
            metrics,
            limit,
        })
    }

    /// Queues the line of an event. Counts it as left out if its owner's share is used up, or as lost if the queue is full.
    /// Waits for no disk.
    pub(super) fn push(&self, event: &'static str, owner: Option<Owner>, text: String) {
        let line = Line { text, owner };
        let cost = line.cost();
        let mut account = self.account.lock();
        match &line.owner {
            Some(owner) if !account.shares.admit(owner, event, cost, Instant::now()) => {
                self.metrics.audit_left_out(owner);
            }
            _ if account.bytes + cost <= self.limit => {
                account.bytes += cost;
                // Under the lock, so that lines are queued in the order in which they were admitted.
                _ = self.tasks.send(Task::Write(line));
                if account.bytes > self.limit / 4 {
                    self.thread.unpark();
                }
                return;
            }
            owner => {
                if let Some(owner) = owner {
                    account.shares.settled(owner, cost);
                }
                account.lost += 1;
                self.metrics.audit_lost(1);
            }
        }
        if !std::mem::replace(&mut account.told, true) {
            _ = self.tasks.send(Task::Look);
        }
    }

    /// Waits until everything that was queued is on the disk or lost, but no longer than this. Blocks. Returns whether all
    /// lines were written.
    pub(super) fn flush(&self, patience: Duration) -> bool {
        let (answer, answered) = mpsc::channel();
        _ = self.tasks.send(Task::Flush(answer));
        self.thread.unpark();
        answered.recv_timeout(patience).unwrap_or(false)
    }
}

/// The state of the thread.
struct Writer {
    tasks: Receiver<Task>,
    account: Arc<Mutex<Account>>,
    file: LogFile,
    metrics: Metrics,
    /// The lines that were lost, and not reported yet.
    lost: u64,
    /// Whether the last write failed, so that the failure is logged once only.
    failing: bool,
}

impl Writer {
    fn run(mut self) {
        loop {
            let mut task = self.next();
            for done in 0_usize.. {
                if done % LINES_A_LOOK == 0 {
                    self.file.look();
                }
                let is_end = matches!(task, Err(RecvTimeoutError::Disconnected));
                self.work(task);
                if is_end {
                    return;
                }
                task = match self.tasks.try_recv() {
                    Ok(next) => Ok(next),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
                };
            }
            thread::park_timeout(PAUSE);
        }
    }

    fn work(&mut self, task: Result<Task, RecvTimeoutError>) {
        let is_end = matches!(task, Err(RecvTimeoutError::Disconnected));
        self.report(is_end || matches!(task, Ok(Task::Flush(_))));
        match task {
            Ok(Task::Write(line)) => {
                self.append(&line.text, 1);
                let mut account = self.account.lock();
                account.bytes -= line.cost();
                if let Some(owner) = &line.owner {
                    account.shares.settled(owner, line.cost());
                }
            }
            Ok(Task::Flush(answer)) => {
                self.sync();
                _ = answer.send(self.lost == 0);
            }
            Ok(Task::Look) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.sync(),
        }
    }

    /// Waits for the next task.
    fn next(&self) -> Result<Task, RecvTimeoutError> {
        let due = self.account.lock().shares.due();
        let due = due.map(|due| due.saturating_duration_since(Instant::now()));
        let retry = (self.lost > 0).then_some(RETRY);
        match retry.into_iter().chain(due).min() {
            None => Ok(self.tasks.recv()?),
            Some(time) => self.tasks.recv_timeout(time),
        }
    }

    /// Writes how many lines are missing, and how many were left out of each token whose report is due; `all`: of every token.
    fn report(&mut self, all: bool) {
        let mut account = self.account.lock();
        account.told = false;
        self.lost += std::mem::take(&mut account.lost);
        let left_out = account.shares.reports((!all).then(Instant::now));
        drop(account);
        if self.lost > 0 {
            let text = line(
                SystemTime::now(),
                "lost",
                &First::default(),
                json!({ "count": self.lost }),
            );
            if self.write(&text) {
                tracing::warn!(lines = self.lost, "the audit trail has a gap");
                self.lost = 0;
            }
        }
        for report in left_out {
            let text = line(
                SystemTime::now(),
                "left_out",
                &First::default(),
                json!(report),
            );
            self.append(&text, report.count);
        }
    }

    /// Writes a line that reports this many missing lines. After a gap, this line comes before any other.
    fn append(&mut self, line: &str, count: u64) {
        if self.lost > 0 || !self.write(line) {
            self.lost += count;
            self.metrics.audit_lost(count);
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
                tracing::warn!(%error, "the audit trail cannot be written; missing lines are counted");
                self.failing = true;
            }
            Err(_) => {}
        }
        written.is_ok()
    }

    fn sync(&self) {
        if let Err(error) = self.file.sync() {
            tracing::warn!(%error, "the disk may not have all of the audit trail");
        }
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
        let account = Arc::downgrade(&first.account);
        drop(first);
        // The thread drops the account when it ends.
        while account.strong_count() > 0 {
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
        queue.account.lock().bytes = 1000;
        for _ in 0..3 {
            queue.push("x", None, "x".into());
        }
        queue.account.lock().bytes = 0;
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
