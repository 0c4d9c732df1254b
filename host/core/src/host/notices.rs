//! The notices that the chats of a host wait for. They are kept in the store of this machine, so that a host that starts again goes on
//! with them: it watches the processes, tells what happened, and delivers what was told.

mod delivery;
mod table;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use toolhost_call::call::Actor;
use toolhost_call::events::{Event, Events, Subject, clip};
use toolhost_call::metrics::Metrics;
use toolhost_call::notice::{Asked, Courier, Delivery, Notice, Notices, Told, Trigger};
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::unix_time;
use toolhost_store::{LocalStore, StoreError};
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Error;

use super::Host;
use table::Table;

/// How long to wait before the store is asked again to keep what it did not take.
const AGAIN: Duration = Duration::from_secs(1);

/// The notices of a host.
#[derive(Debug)]
pub(super) struct Board(Arc<Shared>);

/// What the tasks of the board share.
#[derive(Debug)]
struct Shared {
    records: Arc<dyn LocalStore>,
    /// All workspaces.
    workspace: Arc<dyn Workspace>,
    events: Events,
    metrics: Metrics,
    courier: Option<Arc<dyn Courier>>,
    table: Mutex<Table>,
    /// Held while something is told, so that it is stored, published and sent in the order of its numbers.
    telling: tokio::sync::Mutex<()>,
    over: CancellationToken,
    tasks: TaskTracker,
}

impl Board {
    /// Goes on with the notices that an earlier host had, until the guard is dropped. What was not done then is done by the next host.
    pub(super) async fn open(
        records: Arc<dyn LocalStore>,
        workspace: Arc<dyn Workspace>,
        events: Events,
        metrics: Metrics,
        courier: Option<Arc<dyn Courier>>,
    ) -> Result<(Self, DropGuard), StoreError> {
        let stored = records.notices().await?;
        let read = stored
            .into_iter()
            .filter_map(|stored| match serde_json::from_value::<Notice>(stored.body) {
                Ok(notice) => Some(notice),
                Err(error) => {
                    tracing::error!(notice = stored.id, %error, "the record of a notice cannot be read");
                    None
                }
            });
        let table = Table::of(read);
        let over = CancellationToken::new();
        let shared = Arc::new(Shared {
            records,
            workspace,
            events,
            metrics,
            courier,
            table: Mutex::new(table),
            telling: tokio::sync::Mutex::default(),
            over: over.clone(),
            tasks: TaskTracker::new(),
        });
        let (waiting, due) = shared.table.lock().unfinished();
        // Before anything else is told of their processes.
        for notice in due {
            shared.enqueue(&notice);
        }
        for notice in waiting {
            shared.watch(notice);
        }
        Ok((Self(shared), over.drop_guard()))
    }

    /// Stops all work on notices. The next host goes on with it.
    pub(super) async fn close(&self) {
        self.0.over.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Host {
    /// Asks for a notice for a client, and returns its id.
    ///
    /// # Errors
    ///
    /// See [`Notices::ask`]; also if there is no such process for the actor.
    pub async fn ask_notice(
        &self,
        chat: &ChatId,
        process: &str,
        trigger: Trigger,
        actor: &Actor,
    ) -> Result<String, Error> {
        let seen = self.seen_by(actor, &self.inner.workspace);
        seen.info(Some(chat), process).await?;
        let asked = Asked {
            chat: chat.clone(),
            process: process.to_owned(),
            trigger,
            principal: actor.name().to_owned(),
            by: None,
        };
        self.inner.notices.ask(asked).await
    }

    /// Returns the notices of a chat that an actor may see, in the order in which they were asked for: those that the chat waits for, and at
    /// most 128 others of the last day.
    pub async fn notices(&self, chat: &ChatId, actor: &Actor) -> Vec<Arc<Notice>> {
        let all = self.inner.notices.0.table.lock().of_chat(chat);
        let mut seen = Vec::new();
        for notice in all {
            let call = notice.starter();
            if self.may_see_call(actor, chat, call.as_ref()).await {
                seen.push(notice);
            }
        }
        seen
    }

    /// Forgets a notice: it is neither told nor delivered any more. Returns whether the chat had it, for this actor.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. The notice is not told, and comes back when the host starts again.
    pub async fn forget_notice(
        &self,
        chat: &ChatId,
        id: &str,
        actor: &Actor,
    ) -> Result<bool, StoreError> {
        let seen = self.notices(chat, actor).await;
        if !seen.iter().any(|notice| notice.id == id) {
            return Ok(false);
        }
        let shared = &self.inner.notices.0;
        shared.table.lock().remove(id);
        shared.records.forget_notices(vec![id.to_owned()]).await?;
        Ok(true)
    }
}

impl Shared {
    /// Adds a notice for a process that was looked at, and begins to watch.
    async fn add(self: &Arc<Self>, notice: Notice) -> Result<(), Error> {
        let notice = Arc::new(notice);
        if !self.table.lock().add(&notice)? {
            return Ok(());
        }
        if let Err(error) = self.records.put_notice(stored(&notice)).await {
            self.table.lock().remove(&notice.id);
            return Err(Error::Failed(format!("the notice cannot be kept: {error}")));
        }
        self.watch(notice);
        Ok(())
    }

    /// Tells, in this order, what happened to a process: stores it, publishes it, and begins to deliver it.
    async fn tell(self: &Arc<Self>, all: Vec<(String, Told)>) {
        let _telling = self.telling.lock().await;
        for (id, told) in all {
            let courier = self.courier.as_deref();
            let told = self.table.lock().tell(&id, told, courier);
            let Some(notice) = told else {
                continue;
            };
            if !self.keep(&notice).await {
                continue;
            }
            let event = notice.told.as_ref().map(Told::event).unwrap_or_default();
            self.metrics.notice_told(event);
            self.publish(&notice);
            if notice.delivery == Delivery::Due {
                self.enqueue(&notice);
            }
        }
        self.forget_old().await;
    }

    /// Publishes a notice about which something was told.
    fn publish(&self, notice: &Arc<Notice>) {
        let subject = Subject {
            id: notice.process.clone(),
            call: notice.starter(),
        };
        let published = Event::Notice {
            process: Arc::new(subject),
            notice: Arc::clone(notice),
        };
        self.events.publish(&notice.chat, published);
    }

    /// Stores a notice, however long that takes. Returns whether it is still there: it may have been forgotten meanwhile.
    async fn keep(&self, notice: &Notice) -> bool {
        while let Err(error) = self.records.put_notice(stored(notice)).await {
            tracing::warn!(notice = notice.id, %error, "a notice cannot be stored: it is tried again");
            tokio::time::sleep(AGAIN).await;
        }
        let is_there = self.table.lock().get(&notice.id).is_some();
        if !is_there {
            self.forget(vec![notice.id.clone()]).await;
        }
        is_there
    }

    /// Forgets notices that are in the table no more.
    async fn forget(&self, ids: Vec<String>) {
        if let Err(error) = self.records.forget_notices(ids).await {
            tracing::warn!(%error, "notices cannot be forgotten: they come back when the host starts again");
        }
    }

    /// Forgets the notices that are kept no longer.
    async fn forget_old(&self) {
        let old = self.table.lock().take_old(unix_time::now_ms());
        if old.is_empty() {
            return;
        }
        self.forget(old).await;
    }

    /// Runs a task until the host is over.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let running = self.over.clone().run_until_cancelled_owned(task);
        self.tasks.spawn(async move { _ = running.await });
    }
}

impl Notices for Board {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let shared = Arc::clone(&self.0);
            let id = table::id_of(&asked);
            if shared.table.lock().get(&id).is_some() {
                return Ok(id);
            }
            let (chat, process) = (asked.chat, asked.process);
            let look = asked.trigger.wait(Duration::ZERO);
            shared.workspace.wait(Some(&chat), &process, look).await?;
            let info = shared.workspace.info(Some(&chat), &process).await?;
            let call = info.key.as_deref().and_then(CallId::of_start_key);
            let notice = Notice {
                id: id.clone(),
                process,
                started_by: call.map(|call| call.to_string()),
                command: clip(&info.command),
                trigger: asked.trigger,
                principal: asked.principal,
                asked_ms: unix_time::now_ms(),
                told: None,
                delivery: Delivery::None,
                chat,
            };
            // Whoever asks may be gone before the store answers.
            let added = tokio::spawn(async move { shared.add(notice).await }).await;
            added.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))?;
            Ok(id)
        })
    }
}

fn stored(notice: &Notice) -> toolhost_store::Notice {
    toolhost_store::Notice {
        id: notice.id.clone(),
        body: serde_json::to_value(notice).unwrap_or_default(),
    }
}
