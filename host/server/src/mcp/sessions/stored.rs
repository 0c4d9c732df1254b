//! The sessions in the store, with which a later server goes on.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::SessionId;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Open, Sessions, watch};
use crate::mcp::caller::Session;
use toolhost_core::Session as StoredSession;
use toolhost_http::access::Principal;
use toolhost_state::unix_time;

/// How much older the time in the store may be than the last use of a session.
const BEHIND: Duration = Duration::from_secs(5);

/// The longest address in bytes whose subscription is stored.
const MAX_ADDRESS: usize = 1024;

/// The state of a session that its client knows and that a new worker must have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClientState {
    /// The parameters of the first message, with the revision that client and server agreed on.
    pub(super) initialize: InitializeRequestParams,
    /// The addresses of the resources whose changes the client subscribed to.
    pub(super) subscriptions: BTreeSet<String>,
}

/// A subscription of a client to changes of a resource.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) address: String,
    /// Whether it begins. Otherwise it ends.
    pub(super) begins: bool,
}

/// The contents of the store.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// The sessions as they were written last. The lock is held while the store is changed.
    written: tokio::sync::Mutex<HashMap<SessionId, StoredSession>>,
    /// Set once the sessions of earlier servers are open.
    taken_over: OnceCell<()>,
    /// Whether the log says that the store cannot be written.
    is_told: AtomicBool,
    /// Whether the sessions are left to the next server.
    is_left: AtomicBool,
}

impl Sessions {
    /// Opens the sessions of earlier servers, once. Each gets a worker with its first request.
    pub(in crate::mcp) async fn take_over(self: &Arc<Self>) {
        let taken_over = self.stored.taken_over.get_or_init(async || {
            match self.host.stored_sessions().await {
                Ok(stored) => self.open_stored(stored).await,
                Err(error) => {
                    tracing::warn!(%error, "the sessions of an earlier server cannot be read: their clients have to begin new ones");
                }
            }
            tokio::spawn(watch(Arc::downgrade(self)));
        });
        taken_over.await;
    }

    /// Opens these sessions, but for those whose tokens are unknown, or that are idle for too long.
    async fn open_stored(self: &Arc<Self>, mut stored: Vec<StoredSession>) {
        stored.sort_by_key(|session| Reverse(session.used_ms));
        let mut written = self.stored.written.lock().await;
        for (number, stored) in stored.into_iter().enumerate() {
            let id = SessionId::from(stored.id.as_str());
            let unbounded = || Principal::unbounded(&*stored.principal);
            let known = match self.tokens.get() {
                Some(tokens) => tokens.recognize(&stored.principal, &id, &stored.token),
                None => Some(unbounded()),
            };
            let session = Session {
                principal: known.clone().unwrap_or_else(unbounded),
                chat: stored.chat.clone(),
                is_named: stored.is_named,
                lost: CancellationToken::new(),
            };
            match serde_json::from_str(&stored.client) {
                Ok(client) if known.is_some() && number < self.max => {
                    let mut open = Open::new(session, OnceCell::new());
                    open.client = Some(client);
                    open.begun = unix_time::from_ms(stored.created_ms);
                    *open.used.lock() = instant(unix_time::from_ms(stored.used_ms));
                    self.open.lock().insert(Arc::clone(&id), open);
                }
                _ => self.end(&id, session),
            }
            written.insert(id, stored);
        }
        drop(written);
        self.sweep().await;
    }

    /// Ends the sessions that are idle for too long or whose tokens are unknown, and stores the others if they were used.
    pub(super) async fn sweep(self: &Arc<Self>) {
        let mut all: Vec<_> = self.open.lock().keys().cloned().collect();
        all.extend(self.stored.written.lock().await.keys().cloned());
        for id in all {
            let tokens = self.tokens.get();
            self.end_if_unused(&id, |principal| {
                tokens.is_none_or(|tokens| tokens.know(principal))
            });
            self.store(&id).await;
        }
    }

    /// Brings a session in the store up to date, or removes one that has ended. If the store cannot be written, the session goes
    /// on in memory, and the next sweep tries again.
    pub(super) async fn store(&self, id: &SessionId) {
        let mut written = self.stored.written.lock().await;
        if self.is_left() {
            return;
        }
        let open = self.open.lock().get(id).and_then(|open| open.stored(id));
        let done = match (written.get(id), open) {
            (None, None) => return,
            (Some(old), Some(new)) if is_current(old, &new) => return,
            (_, Some(new)) => {
                let done = self.host.store_session(new.clone()).await;
                done.map(|()| _ = written.insert(Arc::clone(id), new))
            }
            (Some(_), None) => {
                let done = self.host.forget_session(id.to_string()).await;
                done.map(|()| _ = written.remove(id))
            }
        };
        let is_told = &self.stored.is_told;
        if let Err(error) = done
            && !is_told.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "the sessions of MCP clients cannot be stored, and end with this server");
        }
    }

    /// Notes how a client began, and stores the session.
    pub(super) async fn begun(&self, id: &SessionId, initialize: InitializeRequestParams) {
        if let Some(open) = self.open.lock().get_mut(id) {
            let subscriptions = BTreeSet::new();
            open.client = Some(ClientState {
                initialize,
                subscriptions,
            });
        }
        self.store(id).await;
    }

    /// Notes that a client has a subscription or no longer has it, and stores the session.
    pub(super) async fn subscribed(&self, id: &SessionId, subscription: Subscription) {
        let Subscription { address, begins } = subscription;
        if let Some(open) = self.open.lock().get_mut(id)
            && let Some(client) = &mut open.client
        {
            match begins && address.len() <= MAX_ADDRESS {
                true => client.subscriptions.insert(address),
                false => client.subscriptions.remove(&address),
            };
        }
        self.store(id).await;
    }

    /// Leaves the sessions to the next server. From now on, the end of a session does not count.
    pub(in crate::mcp) async fn leave(self: &Arc<Self>) {
        self.sweep().await;
        let _written = self.stored.written.lock().await;
        self.stored.is_left.store(true, Ordering::Relaxed);
    }

    /// Returns whether the sessions are left to the next server.
    pub(super) fn is_left(&self) -> bool {
        self.stored.is_left.load(Ordering::Relaxed)
    }
}

impl Open {
    /// Returns the session as it is stored; `None` if its first message has no reply yet.
    fn stored(&self, id: &SessionId) -> Option<StoredSession> {
        let client = self.client.as_ref()?;
        let idle = match self.is_idle(Duration::ZERO) {
            true => self.used.lock().elapsed(),
            false => Duration::ZERO,
        };
        let used = SystemTime::now().checked_sub(idle).unwrap_or(UNIX_EPOCH);
        Some(StoredSession {
            id: id.to_string(),
            chat: self.session.chat.clone(),
            is_named: self.session.is_named,
            principal: self.session.principal.name().to_owned(),
            token: self.session.principal.fingerprint(id).into(),
            revision: client.initialize.protocol_version.to_string(),
            client: serde_json::to_string(client).ok()?,
            created_ms: unix_time::to_ms(self.begun),
            used_ms: unix_time::to_ms(used),
        })
    }
}

/// Returns whether the store need not be changed: only the time of the last use differs, and by little.
fn is_current(old: &StoredSession, new: &StoredSession) -> bool {
    let used_ms = old.used_ms;
    let behind = Duration::from_millis(new.used_ms.abs_diff(used_ms));
    let new = StoredSession {
        used_ms,
        ..new.clone()
    };
    behind < BEHIND && *old == new
}

/// Returns a time of the wall clock by the monotonic one. A time that is still to come is now.
fn instant(time: SystemTime) -> Instant {
    let now = Instant::now();
    let age = time.elapsed().unwrap_or_default();
    now.checked_sub(age).unwrap_or(now)
}
