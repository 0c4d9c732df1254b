//! Following files while a server runs, such as a configuration, tokens and certificates.

mod directories;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use directories::{Changes, Directories, look};

/// The most attempts to read files while they keep changing.
const ATTEMPTS: usize = 10;

/// Why files cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WatchError(#[from] notify::Error);

/// A part of the program's state that is read from files.
pub trait Followed: Send + 'static {
    /// The content of the files.
    type Read: Send + 'static;

    /// Returns the files to follow. Each reading can change them.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads the files. Called on a thread that may block.
    fn read(&mut self) -> Self::Read;

    /// Forgets which problems were already logged, because an operator asked to read the files again.
    fn reloaded(&mut self) {}

    /// Applies the content. Called only if no file changed while it was read. Returns whether the content could be used; if
    /// not, the next event causes another reading, even if no file has changed.
    fn take(&mut self, read: Self::Read) -> impl Future<Output = bool> + Send;
}

/// A task that follows files until this is dropped.
#[derive(Debug)]
pub struct Follower {
    task: JoinHandle<()>,
    taken: watch::Receiver<bool>,
    again: Arc<Notify>,
}

impl Follower {
    /// Reads the files at once, and again whenever one of them has changed.
    ///
    /// # Errors
    ///
    /// If the system has no watches left.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(followed: impl Followed) -> Result<Self, WatchError> {
        let (mut directories, changes) = Directories::new()?;
        directories.watch(followed.files())?;
        let (taken_once, taken) = watch::channel(false);
        let again = Arc::new(Notify::new());
        let following = follow(
            directories,
            changes,
            followed,
            taken_once,
            Arc::clone(&again),
        );
        let task = tokio::spawn(following);
        Ok(Self { task, taken, again })
    }

    /// Returns a function that has the files read again, even if they look unchanged: some changes, such as on network file
    /// systems, cause no event.
    pub fn reload(&self) -> impl Fn() + Send + 'static {
        let again = Arc::clone(&self.again);
        move || again.notify_one()
    }

    /// Waits until the first reading was applied.
    pub async fn applied(&self) {
        // An error says that the task has ended with its runtime.
        _ = self.taken.clone().wait_for(|taken| *taken).await;
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow<F: Followed>(
    mut directories: Directories,
    mut changes: Changes,
    mut followed: F,
    taken: watch::Sender<bool>,
    again: Arc<Notify>,
) {
    // A change between the first reading and the first watch has no event, so that the first look counts as a change.
    let mut seen = None;
    loop {
        let mut looks = look(followed.files());
        if seen.as_ref() != Some(&looks) {
            seen = None;
            let mut attempts = 0..ATTEMPTS;
            loop {
                if attempts.next().is_none() {
                    tracing::warn!("the files change faster than they can be read");
                    break;
                }
                // The blocking task fails only if the runtime shuts down, and then this task ends as well.
                let read = tokio::task::spawn_blocking(move || (followed.read(), followed));
                let Ok((read, back)) = read.await else { return };
                followed = back;
                if let Err(error) = directories.watch(followed.files()) {
                    tracing::error!(%error, "not all files are followed");
                }
                // Files that were not watched before, and those that changed meanwhile, are read again.
                let now = look(followed.files());
                if now == looks {
                    seen = followed.take(read).await.then_some(looks);
                    break;
                }
                looks = now;
            }
        }
        taken.send_replace(true);
        tokio::select! {
            settled = changes.settled() => if !settled { return },
            () = again.notified() => {
                seen = None;
                followed.reloaded();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// Two files, whose concatenated texts are sent to the test.
    struct Texts {
        first: bool,
        paths: [PathBuf; 2],
        tell: mpsc::UnboundedSender<String>,
    }

    impl Followed for Texts {
        type Read = String;

        fn files(&self) -> Vec<PathBuf> {
            self.paths[..if self.first { 1 } else { 2 }].to_vec()
        }

        fn read(&mut self) -> String {
            self.first = false;
            let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
            self.paths.each_ref().map(read).concat()
        }

        async fn take(&mut self, read: String) -> bool {
            self.tell.send(read).unwrap();
            true
        }
    }

    #[tokio::test]
    async fn files_that_change_are_read_again_and_so_are_those_that_they_name() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["first", "second"].map(|name| directory.path().join(name));
        let [first, second] = paths.clone();
        std::fs::write(&first, "1").unwrap();
        let (tell, mut told) = mpsc::unbounded_channel();
        let texts = Texts {
            first: true,
            paths,
            tell,
        };
        let follower = Follower::start(texts).unwrap();
        let mut until = async |text: &str| {
            while told.recv().await.unwrap() != text {}
        };
        until("1").await;
        follower.applied().await;
        std::fs::write(&second, "2").unwrap();
        until("12").await;
        // Replace the file by renaming, as editors do.
        let other = directory.path().join("other");
        std::fs::write(&other, "3").unwrap();
        std::fs::rename(&other, &first).unwrap();
        until("32").await;
    }
}
