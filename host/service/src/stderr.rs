//! Standard error, written by a thread of its own.
//!
//! No other thread waits for a reader that does not read, or fails because the reader is gone: lines that do not fit into the
//! queue are dropped and counted. `tracing-appender` does the same, but prints to standard output when it cannot end.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tracing::Level;

use super::logging;

/// The most bytes that wait for the reader.
const QUEUE_BYTES: usize = 1 << 20;

/// The longest wait for the last lines to reach the reader.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The lines that are not written yet.
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: u64,
    /// A line was taken and is not out yet.
    writing: bool,
}

static QUEUE: Queue = Queue {
    waiting: Mutex::new(Waiting {
        lines: VecDeque::new(),
        bytes: 0,
        dropped: 0,
        writing: false,
    }),
    changed: Condvar::new(),
};

/// Starts the thread that writes.
pub(crate) fn start() -> io::Result<()> {
    let thread = std::thread::Builder::new().name("stderr".into());
    thread.spawn(|| {
        loop {
            let line = QUEUE.take();
            // There is nowhere to report an error to.
            _ = io::stderr().write_all(&line);
            QUEUE.written();
        }
    })?;
    Ok(())
}

/// Writes one line, some time soon.
pub fn line(text: impl Display) {
    QUEUE.push(format!("{text}\n").into_bytes());
}

/// Prints a line that no log filter suppresses. With `--log-format json`, the line has these fields.
pub fn notice(text: impl Display, fields: &[(&'static str, &str)]) {
    QUEUE.push(logging::notice(Level::INFO, text, fields).into_bytes());
}

/// Prints the reason of a failure.
pub fn failure(text: impl Display) {
    QUEUE.push(logging::failure(text).into_bytes());
}

/// Waits until every line is written, but not for long.
pub(crate) fn finish() {
    let mut waiting = QUEUE.lock();
    let busy = |waiting: &mut Waiting| waiting.writing || !waiting.lines.is_empty();
    _ = QUEUE.changed.wait_while_for(&mut waiting, busy, LAST_LINES);
}

/// The writer of the log; each write is one event.
#[derive(Debug)]
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        QUEUE.push(event.to_vec());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }

    fn push(&self, line: Vec<u8>) {
        self.lock().push(line);
        self.changed.notify_all();
    }

    fn take(&self) -> Vec<u8> {
        let mut waiting = self.lock();
        loop {
            if let Some(line) = waiting.take() {
                return line;
            }
            self.changed.wait(&mut waiting);
        }
    }

    fn written(&self) {
        self.lock().writing = false;
        self.changed.notify_all();
    }
}

impl Waiting {
    fn push(&mut self, line: Vec<u8>) {
        if self.bytes + line.len() > QUEUE_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(line);
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let line = match self.lines.pop_front() {
            Some(line) => {
                self.bytes -= line.len();
                line
            }
            None if self.dropped > 0 => {
                let dropped = std::mem::take(&mut self.dropped);
                let text = format_args!("{dropped} lines are missing here, as nobody read them");
                logging::failure(text).into_bytes()
            }
            None => return None,
        };
        self.writing = true;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_is_dropped_and_counted() {
        let mut waiting = Waiting::default();
        for _ in 0..3 {
            waiting.push(vec![b'x'; QUEUE_BYTES / 2]);
        }
        assert_eq!(waiting.bytes, QUEUE_BYTES);
        let lines: Vec<_> = std::iter::from_fn(|| waiting.take()).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[2].starts_with(b"toolhost: 1 lines are missing"));
        assert_eq!((waiting.bytes, waiting.take()), (0, None));
    }
}
