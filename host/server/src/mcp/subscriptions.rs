//! Subscriptions of clients to changes of resources.
//!
//! The output of a process changes when the process writes, and when it ends. The notices change when something is told. A tool's resource can change when its plugin is
//! exchanged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::caller::Caller;
use super::{errors, notices, outputs, resources};
use toolhost_call::events::Listener;
use toolhost_core::Host;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Error, WaitOptions, Wake};

/// The maximum number of addresses in one client's subscriptions.
pub(super) const MAX_WATCHED: usize = 64;

/// The shortest time between two notifications about one address.
const PAUSE: Duration = Duration::from_secs(1);

/// How long one wait at a workspace lasts, and after what time an unreachable workspace is asked again.
const LOOK: Duration = Duration::from_mins(10);
const AGAIN: Duration = Duration::from_secs(10);

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    watched: Mutex<HashMap<String, DropGuard>>,
}

impl Subscriptions {
    /// Adds an address. Returns the token that is cancelled when the address is removed, when the client is gone, or with its
    /// parent. Returns `None` if the address is already there.
    pub(super) fn add(
        &self,
        uri: &str,
        parent: &CancellationToken,
    ) -> Result<Option<CancellationToken>, ErrorData> {
        let mut watched = self.watched.lock();
        if watched.contains_key(uri) {
            return Ok(None);
        }
        if watched.len() >= MAX_WATCHED {
            let message = format!("there are {MAX_WATCHED} subscriptions, which is the most");
            return Err(errors::refused("busy", message));
        }
        let removed = parent.child_token();
        watched.insert(uri.to_owned(), removed.clone().drop_guard());
        Ok(Some(removed))
    }

    /// Removes an address, if it is there.
    pub(super) fn remove(&self, uri: &str) {
        self.watched.lock().remove(uri);
    }
}

/// A wait for changes of a resource.
#[derive(Debug)]
pub(super) enum Watch {
    /// A wait for changes of a process's output.
    Output {
        /// The workspace that runs the process.
        workspace: Arc<dyn Workspace>,
        chat: ChatId,
        process: String,
        /// How many bytes of output there were at the last look.
        seen: u64,
        /// Whether the process has ended, so that nothing more can change.
        over: bool,
    },
    /// A wait for something that the chat is told.
    Notices {
        host: Host,
        caller: Box<Caller>,
        listener: Listener,
    },
    /// A wait for changes of the tools, and so of their resources.
    Tools(ToolChanges),
}

/// The changes of the tools that a client is offered.
#[derive(Debug)]
pub(super) struct ToolChanges {
    /// Changes of the tools that there are.
    changes: watch::Receiver<u64>,
    /// The chats in which tools are found, and the chat of the client; `None`: the client does not ask for the list of tools.
    found: Option<(broadcast::Receiver<ChatId>, ChatId)>,
}

impl ToolChanges {
    /// Begins to wait for changes of the tools that there are.
    fn new(host: &Host) -> Self {
        let changes = host.tools_changed();
        Self {
            changes,
            found: None,
        }
    }

    /// Begins to wait for changes of the list of tools that is offered in a chat; `None`: in no chat that lasts.
    pub(super) fn of_list(host: &Host, chat: Option<ChatId>) -> Self {
        let found = chat.map(|chat| (host.tools_found(), chat));
        Self {
            found,
            ..Self::new(host)
        }
    }

    /// Takes the tools for changed, because the client may have another list of them.
    pub(super) fn mark_changed(&mut self) {
        self.changes.mark_changed();
    }

    /// Waits for the next change. Returns `false` if there will be none, because the host is gone.
    async fn changed(&mut self) -> bool {
        let Some((found, chat)) = &mut self.found else {
            return self.changes.changed().await.is_ok();
        };
        let is_found = async {
            loop {
                match found.recv().await {
                    Ok(other) if other != *chat => {}
                    // After a lag, the chat may be among those that were missed.
                    Ok(_) | Err(RecvError::Lagged(_)) => return true,
                    Err(RecvError::Closed) => return false,
                }
            }
        };
        tokio::select! {
            changed = self.changes.changed() => changed.is_ok(),
            is_found = is_found => is_found,
        }
    }
}

impl Watch {
    /// Begins to wait, if the caller can read the resource.
    pub(super) async fn of(host: &Host, caller: &Caller, uri: &str) -> Result<Self, ErrorData> {
        if resources::owner(host, caller, uri).is_some() {
            return Ok(Self::Tools(ToolChanges::new(host)));
        }
        if uri == notices::URI {
            return Ok(Self::Notices {
                host: host.clone(),
                caller: Box::new(caller.clone()),
                listener: host.events().listen(&caller.chat, None),
            });
        }
        let (chat, process) = outputs::process(host, caller, uri).await?;
        Ok(Self::Output {
            workspace: Arc::clone(host.workspace()),
            chat,
            seen: process.total,
            over: !process.state.is_live(),
            process: process.id,
        })
    }

    /// Sends one notification for each change, with a pause after it, until sending fails or nothing can change any more.
    pub(super) async fn notify<F: Future<Output = bool>>(self, tell: impl Fn() -> F) {
        match self {
            Self::Tools(mut changes) => {
                while changes.changed().await && tell().await {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Self::Notices {
                host,
                caller,
                mut listener,
            } => {
                while notices::is_told(&host, &caller, &mut listener).await && tell().await {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Self::Output {
                workspace,
                chat,
                process,
                mut seen,
                mut over,
            } => loop {
                if !over {
                    let options = WaitOptions {
                        timeout: LOOK,
                        since: seen,
                        until: None,
                        output: true,
                    };
                    match workspace.wait(Some(&chat), &process, options).await {
                        Ok(waited) if waited.wake == Wake::TimedOut => continue,
                        Ok(waited) => {
                            seen = waited.total;
                            over = waited.wake == Wake::Ended;
                        }
                        Err(Error::Unavailable(_) | Error::UnknownOutcome(_)) => {
                            tokio::time::sleep(AGAIN).await;
                            continue;
                        }
                        // The output is no longer kept.
                        Err(_) => over = true,
                    }
                }
                // A client that saw the process running does not know yet that it has ended.
                if !tell().await || over {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            },
        }
    }
}
