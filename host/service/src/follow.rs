//! Following files while a server runs, such as tokens and certificates.

mod directories;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use directories::{Changes, Directories, Looks, look};

/// Why files cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WatchError(#[from] notify::Error);

/// Follows files. Dropping it ends that.
#[derive(Debug)]
pub struct Follower {
    task: JoinHandle<()>,
    again: Arc<Notify>,
}

impl Follower {
    /// Calls `changed` whenever one of these files has changed, on a thread that may wait. It returns the files to follow from
    /// then on.
    ///
    /// # Errors
    ///
    /// If the system has no watches left.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start<F>(files: Vec<PathBuf>, changed: F) -> Result<Self, WatchError>
    where
        F: FnMut() -> Vec<PathBuf> + Send + 'static,
    {
        let (mut directories, changes) = Directories::new()?;
        directories.watch(files.clone())?;
        let again = Arc::new(Notify::new());
        let following = follow(directories, changes, files, changed, Arc::clone(&again));
        let task = tokio::spawn(following);
        Ok(Self { task, again })
    }

    /// Returns what has `changed` called, whether or not the files look as before.
    pub fn reload(&self) -> impl Fn() + Send + 'static {
        let again = Arc::clone(&self.again);
        move || again.notify_one()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow<F>(
    mut directories: Directories,
    mut changes: Changes,
    mut files: Vec<PathBuf>,
    mut changed: F,
    again: Arc<Notify>,
) where
    F: FnMut() -> Vec<PathBuf> + Send + 'static,
{
    // What changed between the first reading and the first watch has no event, so that the first look counts as a change.
    let mut seen = None;
    loop {
        let looks = look(files.clone());
        if seen.as_ref() != Some(&looks) {
            // The task ends with the runtime only, and then this does as well.
            let called = tokio::task::spawn_blocking(move || (changed(), changed)).await;
            let Ok((wanted, back)) = called else { return };
            changed = back;
            let others = wanted != files;
            files = wanted;
            if let Err(error) = directories.watch(files.clone()) {
                tracing::error!(%error, "not all files are followed");
            }
            // What changes while it is read has an event. A file that was not watched then has none.
            seen = (!others).then_some(looks);
            if others {
                continue;
            }
        }
        tokio::select! {
            settled = changes.settled() => if !settled { return },
            () = again.notified() => seen = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn files_that_change_are_read_again_and_so_are_those_that_they_name() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (
            directory.path().join("first"),
            directory.path().join("second"),
        );
        std::fs::write(&first, "1").unwrap();
        let (tell, mut told) = mpsc::unbounded_channel();
        let paths = [first.clone(), second.clone()];
        let _follower = Follower::start(vec![first.clone()], move || {
            let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
            tell.send(paths.each_ref().map(read).concat()).unwrap();
            paths.to_vec()
        })
        .unwrap();
        let mut until = async |text: &str| {
            while told.recv().await.unwrap() != text {}
        };
        until("1").await;
        std::fs::write(&second, "2").unwrap();
        until("12").await;
        // Replaced by another, as editors do.
        let other = directory.path().join("other");
        std::fs::write(&other, "3").unwrap();
        std::fs::rename(&other, &first).unwrap();
        until("32").await;
    }
}
