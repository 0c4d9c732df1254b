//! Keeping processes when the host ends: preparing for it at their starts, and leaving them to the next host.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use toolhost_store::HostState;

use super::{Config, OpenError, Registry};
use crate::process::Error;
use crate::process::contain::{Directories, Place, Preparation};
use crate::process::running::Process;
use crate::process::shortage::{self, shortage};

/// The reasons why commands cannot be kept.
const NO_DIRECTORY: &str = "there is no state directory that outlives this host, in which the next one could find them; name one with --state-dir";
pub(super) const NO_SUPERVISORS: &str = "there are no supervisors";

/// Opens the place of kept processes; `None` if there is none, and none is needed.
pub(super) async fn place(
    config: &Config,
    state: &HostState,
) -> Result<Option<Arc<Place>>, OpenError> {
    let keeps = config.keep.is_some();
    let Some(directory) = state.directory().map(Path::to_path_buf) else {
        return match keeps {
            true => Err(OpenError::Keep(NO_DIRECTORY.into())),
            false => Ok(None),
        };
    };
    let opening = tokio::task::spawn_blocking(move || match keeps {
        true => Place::open(&directory).map(Some),
        false => Place::existing(&directory),
    });
    let opened = opening.await.map_err(std::io::Error::other).flatten();
    let place = opened.map_err(|error| match keeps {
        true => OpenError::Keep(error.to_string()),
        false => OpenError::TakeOver(error),
    });
    Ok(place?.map(Arc::new))
}

impl Registry {
    /// Makes the files of a process that is about to start, if this host keeps its processes. If the disk does not take them, the process
    /// starts all the same, and ends with the host.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if this machine is short of descriptors or memory.
    pub(super) async fn prepare_to_keep(&self, id: &str) -> Result<Option<Preparation>, Error> {
        let (Some(keep), Some(place)) = (self.keep, self.keeper.place.clone()) else {
            return Ok(None);
        };
        let (saved, owned) = (self.save_limits.per_process, id.to_owned());
        let preparing = move || place.prepare(&owned, keep, saved);
        let prepared = tokio::task::spawn_blocking(preparing).await;
        match prepared.map_err(std::io::Error::other).flatten() {
            Ok(prepared) => Ok(Some(prepared)),
            Err(error) if shortage(&error).is_some() => {
                Err(shortage::failed("cannot start the command", &error))
            }
            Err(error) => {
                tracing::warn!(process = id, %error, "a process cannot be kept when this host ends");
                Ok(None)
            }
        }
    }

    /// Notes the directories of a process that is about to start, so that the next host does not remove them.
    pub(super) async fn note_directories(&self, id: &str, directories: Directories) {
        let Some(place) = self.keeper.place.clone() else {
            return;
        };
        let owned = id.to_owned();
        let noting = move || place.note(&owned, &directories);
        let noted = tokio::task::spawn_blocking(noting).await;
        if let Err(error) = noted.map_err(std::io::Error::other).flatten() {
            tracing::warn!(process = id, %error, "the next host will remove the directories of a process");
        }
    }

    /// Moves the processes along that were taken over, unless they already do.
    pub(super) fn resume_adopted(&self) {
        let adopted = std::mem::take(&mut *self.adopted.lock());
        for (process, rest) in adopted {
            self.spawn_life(process, rest.watch, rest.output, Some(rest.directories));
        }
    }

    /// Stops the life of a process when the process is left to the next host.
    pub(super) fn until_left<L: Future<Output = ()>>(
        &self,
        process: Arc<Process>,
        life: L,
    ) -> impl Future<Output = ()> + use<L> {
        let leaving = self.leaving.clone();
        async move {
            let mut life = pin!(life);
            tokio::select! {
                () = &mut life => return,
                () = leaving.cancelled() => {}
            }
            if process.was_told_to_end() {
                life.await;
            }
        }
    }

    /// Returns whether a process is left to the next host when this one ends. A process that was told to end is not: it would miss the
    /// end of its grace.
    pub(super) fn is_left(&self, process: &Process) -> bool {
        self.keep.is_some() && !process.was_told_to_end()
    }

    /// Leaves these processes to the next host.
    pub(super) fn leave(&self, left: &[Arc<Process>]) {
        let count = left
            .iter()
            .filter(|process| process.state().is_live())
            .count();
        self.leaving.cancel();
        self.adopted.lock().clear();
        left.iter().for_each(|process| process.contained.leave());
        tracing::info!(
            processes = count,
            keep = ?self.keep.unwrap_or(Duration::ZERO),
            "left the processes that still run to the next host"
        );
    }
}
