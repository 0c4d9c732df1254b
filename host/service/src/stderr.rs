//! Standard error, written by a thread of its own.
//!
//! If the reader of standard error does not read, or is gone, no other thread waits or fails: lines that do not fit into the
//! queue are dropped and counted. `tracing-appender` would not do: it bounds the number of lines but not their bytes, and when
//! its thread does not end in time, it prints that to the same reader.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// The most bytes that wait for the reader.
const QUEUE_BYTES: usize = 1 << 20;

/// The longest wait for the last lines to reach the reader.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The lines that wait to be written.
struct Queue {
    messages: Sender<Message>,
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

enum Message {
    Line(Vec<u8>),
    /// A request for an answer once all earlier lines are written.
    Finish(Sender<()>),
}

static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Starts the thread that writes. `missing` makes the line about so many lines that are missing.
pub(crate) fn start(missing: fn(u64) -> String) -> io::Result<()> {
    let (queue, messages) = Queue::new();
    let queue = QUEUE.get_or_init(|| queue);
    let thread = std::thread::Builder::new().name("stderr".into());
    thread.spawn(move || {
        for message in messages {
            queue.write(&message, &mut io::stderr(), missing);
        }
    })?;
    Ok(())
}

/// Queues one line.
pub fn line(text: impl Display) {
    push(format!("{text}\n"));
}

/// Queues text that ends with a line feed.
pub(crate) fn push(text: String) {
    if let Some(queue) = QUEUE.get() {
        queue.push(text.into_bytes());
    }
}

/// Waits until every line is written, at most for a short time.
pub(crate) fn finish() {
    let (done, finished) = mpsc::channel();
    if let Some(queue) = QUEUE.get() {
        _ = queue.messages.send(Message::Finish(done));
        _ = finished.recv_timeout(LAST_LINES);
    }
}

impl Queue {
    fn new() -> (Self, Receiver<Message>) {
        let (messages, received) = mpsc::channel();
        let (bytes, dropped) = Default::default();
        let queue = Self {
            messages,
            bytes,
            dropped,
        };
        (queue, received)
    }

    fn push(&self, line: Vec<u8>) {
        let size = line.len();
        if self.bytes.fetch_add(size, Ordering::Relaxed) + size > QUEUE_BYTES {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            _ = self.messages.send(Message::Line(line));
        }
    }

    /// Writes a line. When the queue is empty, also writes how many lines were dropped. Errors are ignored, because there is
    /// nowhere to report them.
    fn write(&self, message: &Message, to: &mut impl Write, missing: fn(u64) -> String) {
        if let Message::Line(line) = message {
            _ = to.write_all(line);
            if self.bytes.fetch_sub(line.len(), Ordering::Relaxed) > line.len() {
                return;
            }
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            _ = to.write_all(missing(dropped).as_bytes());
        }
        if let Message::Finish(done) = message {
            _ = done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted() {
        let (queue, messages) = Queue::new();
        for _ in 0..3 {
            queue.push(vec![b'x'; QUEUE_BYTES / 2]);
        }
        assert_eq!(queue.bytes.load(Ordering::Relaxed), QUEUE_BYTES);
        let mut written = Vec::new();
        for message in messages.try_iter() {
            queue.write(&message, &mut written, |count| {
                format!("{count} are missing\n")
            });
        }
        assert!(written[QUEUE_BYTES..].starts_with(b"1 are missing"));
        assert_eq!(queue.bytes.load(Ordering::Relaxed), 0);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 0);
    }
}
