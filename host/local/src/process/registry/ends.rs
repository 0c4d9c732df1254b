//! The ends of chats and of the registry.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Registry;
use crate::process::confinement::{self, Confinement};
use crate::process::running::Process;
use crate::process::{Cause, Error, Info, State, ending};
use toolhost_state::id::ChatId;

/// How long an end waits for each of three things: the starts under way, the last output of the ended processes, and the
/// disk.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(3);

impl Registry {
    /// Ends a process of this chat, or of no chat, because its call was cancelled or failed. Sends SIGTERM, then SIGKILL to the
    /// processes that are left after the grace. Returns the state when no process is left. If a process is stuck in the kernel,
    /// it is given up, and the returned state is still live.
    ///
    /// The process is ended even if the returned future is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]. An ended process is no error.
    pub async fn end<'a>(
        &self,
        chat: impl Into<Option<&'a ChatId>>,
        id: &str,
    ) -> Result<State, Error> {
        let process = self.get(chat, id)?;
        let (grace, kill_now) = (self.limits.grace, self.kill_now.clone());
        let ended = async move {
            end_with_call(&process, grace, &kill_now).await;
            process.state()
        };
        let ended = self.ending.spawn_on(ended, &self.runtime).await;
        ended.map_err(|error| Error::Failed(error.to_string()))
    }

    /// Ends every process of a chat, or of no chat, forgets the chat, and removes its saved outputs, unless the disk hangs.
    /// Returns the processes that were still live.
    ///
    /// The processes are ended even if the returned future is dropped.
    pub async fn end_chat<'a>(&self, chat: impl Into<Option<&'a ChatId>>) -> Vec<Info> {
        let owner = chat.into().cloned();
        let chat = {
            let mut chats = self.chats();
            let Some(chat) = chats.by_owner.remove(&owner) else {
                return Vec::new();
            };
            chat
        };
        let (infos, ends) = self.ends(chat.processes.clone());
        let (keeper, forgotten) = (Arc::clone(&self.keeper), chat.processes.clone());
        let end = async move {
            keeper.forget(&forgotten).await;
            ends.await;
            chat.starts.close();
            if timeout(LAST_WORDS, chat.starts.wait()).await.is_err() {
                tracing::warn!("a start is still under way in a chat that has ended");
            }
        };
        let end = self.ending.spawn_on(end, &self.runtime);
        let keeper = Arc::clone(&self.keeper);
        // The removal is not part of the ends: a disk that hangs must not hold up callers that wait for processes.
        let removal = async move {
            if let Err(error) = end.await {
                tracing::error!(%error, "failed to end a chat");
            }
            keeper.remove_chat(chat.outputs, &chat.processes).await;
            remove_temporary(vec![chat.confined]).await;
        };
        if let Err(error) = self.removals.spawn_on(removal, &self.runtime).await {
            tracing::error!(%error, "failed to remove the saved outputs of a chat");
        }
        infos
    }

    /// Kills everything that the starts with this key started in this chat, or in no chat. Returns the number of processes. They
    /// are killed even if the returned future is dropped.
    pub async fn cancel<'a>(&self, chat: impl Into<Option<&'a ChatId>>, key: &str) -> usize {
        let owner = chat.into().cloned();
        let mut live = self.chats().started_by(&owner, key);
        live.retain(|process| process.state().is_live());
        let count = live.len();
        let kill_now = self.kill_now.clone();
        let end = async move {
            let ends = live
                .iter()
                .map(|process| end_with_call(process, Duration::ZERO, &kill_now));
            join_all(ends).await;
        };
        if let Err(error) = self.ending.spawn_on(end, &self.runtime).await {
            tracing::error!(%error, "failed to end the processes of a cancelled call");
        }
        count
    }

    /// Refuses new processes and ends all live ones, including those of chats that are just being ended. Returns the processes
    /// of the other chats. With [`Config::keep`](super::Config::keep), leaves all live ones to the next host instead, but for those that
    /// were told to end. The next host can still read the saved outputs, if records are kept.
    pub async fn shutdown(&self) -> Vec<Info> {
        let processes: Vec<_> = {
            let mut chats = self.chats();
            chats.closed = true;
            // The processes stay known, so that callers can ask for their state until the end.
            let all = chats.by_owner.values();
            all.flat_map(|chat| chat.processes.clone()).collect()
        };
        let is_left = |process: &Arc<Process>| self.is_left(process);
        let (left, ended): (Vec<_>, Vec<_>) = processes.into_iter().partition(is_left);
        let (infos, ends) = self.ends(ended);
        if let Err(error) = self.ending.spawn_on(ends, &self.runtime).await {
            tracing::error!(%error, "failed to end processes");
        }
        self.ending.close();
        self.ending.wait().await;
        let keeps = self.keep.is_some();
        if keeps {
            self.leave(&left);
        }
        let is_used = keeps && !left.is_empty();
        // A start under way counts until it has failed, or until its process has ended.
        self.lives.close();
        if timeout(LAST_WORDS, self.lives.wait()).await.is_err() {
            tracing::warn!("some processes could not be ended");
        }
        let keeper = Arc::clone(&self.keeper);
        let last = async {
            self.removals.close();
            self.removals.wait().await;
            keeper.close().await;
            let confinement = Arc::clone(&self.confinement);
            if is_used {
                // The next host removes those that no process needs.
                return;
            }
            let removal = tokio::task::spawn_blocking(move || confinement.close());
            if let Err(error) = removal.await {
                tracing::error!(%error, "failed to remove temporary files");
            }
        };
        if timeout(LAST_WORDS, last).await.is_err() {
            tracing::warn!(
                "the disk is slow: output may be missing, and the next start removes the temporary files that are left"
            );
        }
        infos
    }

    /// Returns the live ones of these processes, and a future that ends them.
    pub(super) fn ends(
        &self,
        mut live: Vec<Arc<Process>>,
    ) -> (Vec<Info>, impl Future<Output = ()> + use<>) {
        live.retain(|process| process.state().is_live());
        let infos = live.iter().map(|process| process.info()).collect();
        let (grace, kill_now) = (self.limits.grace, self.kill_now.clone());
        let end = async move {
            let ends = live
                .iter()
                .map(|process| ending::end(process, grace, &kill_now, Cause::Shutdown));
            join_all(ends).await;
        };
        (infos, end)
    }
}

/// Ends a process with its call: later snapshots show it as ended. A process that cannot be killed is given up.
async fn end_with_call(process: &Process, grace: Duration, kill_now: &CancellationToken) {
    ending::end(process, grace, kill_now, Cause::Cancelled).await;
    if timeout(LAST_WORDS, process.until_over()).await.is_err() {
        tracing::warn!(
            process = process.id(),
            "some processes of a command could not be ended"
        );
    }
}

/// Removes the temporary files of chats that have ended.
pub(super) async fn remove_temporary(chats: Vec<confinement::SharedSandboxes>) {
    let removal = move || chats.iter().for_each(Confinement::remove);
    if let Err(error) = tokio::task::spawn_blocking(removal).await {
        tracing::error!(%error, "failed to remove temporary files");
    }
}
