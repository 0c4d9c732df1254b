//! The thread that does the work that may wait for a disk.

use std::io;
use std::sync::mpsc;
use std::thread;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does work in the order in which it was given. It ends when this is dropped and the queue is empty.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Work>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the system refuses another thread.
    pub(super) fn start() -> io::Result<Self> {
        let (queue, work) = mpsc::channel::<Work>();
        // Not joined: a hung disk must not hold up the drop of the store, and the thread itself may drop the last reference.
        thread::Builder::new()
            .name("saved-output".to_owned())
            .spawn(move || work.into_iter().for_each(|work| work()))?;
        Ok(Self { queue })
    }

    /// Queues work, without waiting. The queue itself has no bound; callers that queue bytes hold permits for them.
    pub(super) fn run(&self, work: impl FnOnce() + Send + 'static) {
        // The thread outlives the sender.
        _ = self.queue.send(Box::new(work));
    }

    /// Waits until everything that was queued before is done. Blocks for as long as the disk does.
    pub(super) fn flush(&self) {
        let (done, wait) = mpsc::channel::<()>();
        self.run(move || drop(done));
        _ = wait.recv();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_in_order_and_ends_when_it_is_dropped() {
        let writer = Writer::start().unwrap();
        let (sender, results) = mpsc::channel();
        for index in 0..100 {
            let sender = sender.clone();
            writer.run(move || sender.send(index).unwrap());
        }
        writer.flush();
        assert_eq!(
            results.try_iter().collect::<Vec<_>>(),
            (0..100).collect::<Vec<_>>()
        );
        // The last sender is dropped when the thread has done everything.
        writer.run(move || sender.send(100).unwrap());
        drop(writer);
        assert_eq!(results.iter().collect::<Vec<_>>(), [100]);
    }
}
