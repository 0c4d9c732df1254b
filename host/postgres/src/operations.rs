//! The operations of a store, on PostgreSQL.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{
    AgentElsewhere, Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation,
    ChatEvent, ChatPage, ChatQuery, ConnectedAgent, Counts, EndedCall, Ending, FoundTools, Home,
    Limits, NestedCall, NewCall, News, OtherHost, Quarantine, SharedCounts, Store, StoreError,
    StoredWorkspace, Swept, Switch, Workspaces,
};

use crate::error::Fault;
use crate::{Postgres, Shared};

impl Postgres {
    /// Makes a change, also if the caller drops the future.
    fn change<T, F>(
        &self,
        action: &'static str,
        change: impl FnOnce(Arc<Shared>) -> F,
    ) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let changing = change(Arc::clone(&self.shared));
        let shared = Arc::clone(&self.shared);
        let changing = async move {
            let changed = changing.await;
            let count = match changed {
                Ok(_) => &shared.changes,
                Err(_) => &shared.failures,
            };
            count.fetch_add(1, Ordering::Relaxed);
            changed.map_err(|fault| fault.into_store_error(action))
        };
        Box::pin(async move {
            // The change is handed over now, and not before: the ledger makes changes in an order.
            let changing = tokio::spawn(changing);
            changing.await.unwrap_or_else(|error| {
                Err(StoreError::Failed {
                    action,
                    source: error.into(),
                })
            })
        })
    }

    /// Reads.
    fn read<'a, T, F>(
        &'a self,
        action: &'static str,
        read: impl FnOnce(Arc<Shared>) -> F,
    ) -> Answer<'a, T>
    where
        F: Future<Output = Result<T, Fault>> + Send + 'a,
    {
        let reading = read(Arc::clone(&self.shared));
        Box::pin(async move {
            reading
                .await
                .map_err(|fault| fault.into_store_error(action))
        })
    }
}

impl Store for Postgres {
    fn begin(&self, call: NewCall) -> Answer<'_, Begun> {
        self.change("begin a call", async move |shared| {
            shared.begin(&call).await
        })
    }

    fn resume(&self, call: NewCall) -> Answer<'_, Begun> {
        self.change("resume a call", async move |shared| {
            shared.resume(&call).await
        })
    }

    fn end(&self, ended: EndedCall) -> Answer<'_, Ending> {
        self.change("end a call", async move |shared| shared.end(&ended).await)
    }

    fn withdraw(&self, chat: ChatId, call: CallId) -> Answer<'_, ()> {
        self.change("withdraw a call", async move |shared| {
            shared.withdraw(&chat, &call, None).await
        })
    }

    fn cancel(&self, cancellation: Cancellation) -> Answer<'_, CancelAnswer> {
        self.change("cancel a call", async move |shared| {
            shared.cancel(&cancellation).await
        })
    }

    fn interrupt(&self) -> Answer<'_, Vec<Call>> {
        self.change("take calls over", async |shared: Arc<Shared>| {
            shared.interrupt().await
        })
    }

    fn call(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        self.read("look a call up", async move |shared| {
            shared.call(&chat, &call).await
        })
    }

    fn settled(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        self.read("wait for a call", async move |shared| {
            shared.settled(&chat, &call).await
        })
    }

    fn nested(&self, chat: ChatId, outer: CallId) -> Answer<'_, Vec<NestedCall>> {
        self.read("list the calls of a call", async move |shared| {
            shared.nested(&chat, &outer).await
        })
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, CallPage> {
        self.read("list calls", async move |shared| shared.page(&query).await)
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, ChatPage> {
        self.read("list chats", async move |shared| shared.chats(&query).await)
    }

    fn end_chat(&self, chat: ChatId) -> Answer<'_, ()> {
        self.change("end a chat", async move |shared| {
            shared.end_chat(&chat).await
        })
    }

    fn add_found_tools(&self, found: FoundTools) -> Answer<'_, bool> {
        self.change(
            "store the tools that a chat has found",
            async move |shared| shared.add_found_tools(&found).await,
        )
    }

    fn found_tools(&self, chat: ChatId) -> Answer<'_, Vec<String>> {
        self.read(
            "look up the tools that a chat has found",
            async move |shared| shared.found_tools(&chat).await,
        )
    }

    fn sweep(&self, limits: Limits) -> Answer<'_, Swept> {
        self.change("forget calls", async move |shared| {
            shared.sweep(&limits).await
        })
    }

    fn put_workspace(&self, workspace: StoredWorkspace) -> Answer<'_, ()> {
        self.change("store a workspace", async move |shared| {
            shared.put_workspace(&workspace).await
        })
    }

    fn remove_workspace(&self, name: WorkspaceName) -> Answer<'_, ()> {
        self.change("forget a workspace", async move |shared| {
            shared.remove_workspace(&name).await
        })
    }

    fn bind(&self, binding: Binding) -> Answer<'_, WorkspaceName> {
        self.change("store the workspace of a chat", async move |shared| {
            shared.bind(&binding).await
        })
    }

    fn workspace_of(&self, chat: ChatId) -> Answer<'_, Option<StoredWorkspace>> {
        self.read("look a chat up", async move |shared| {
            shared.workspace_of(&chat).await
        })
    }

    fn workspace(&self, name: WorkspaceName) -> Answer<'_, Option<StoredWorkspace>> {
        self.read("look a workspace up", async move |shared| {
            shared.workspace(&name).await
        })
    }

    fn settle(&self, chat: ChatId, principal: String) -> Answer<'_, Home> {
        self.change("store where a chat runs", async move |shared| {
            shared.settle(&chat, &principal).await
        })
    }

    fn home_of(&self, chat: ChatId) -> Answer<'_, Option<Home>> {
        self.read("look up where a chat runs", async move |shared| {
            shared.home_of(&chat).await
        })
    }

    fn free(&self, chat: ChatId) -> Answer<'_, Option<OtherHost>> {
        self.change("free a chat", async move |shared| shared.free(&chat).await)
    }

    fn put_agent(&self, agent: ConnectedAgent) -> Answer<'_, ()> {
        self.change("store that an agent is connected", async move |shared| {
            shared.put_agent(&agent).await
        })
    }

    fn remove_agent(&self, agent: WorkspaceName) -> Answer<'_, ()> {
        self.change(
            "store that an agent is not connected",
            async move |shared| shared.remove_agent(&agent).await,
        )
    }

    fn sync_agents(&self, agents: Vec<ConnectedAgent>) -> Answer<'_, ()> {
        self.change("store which agents are connected", async move |shared| {
            shared.sync_agents(&agents).await
        })
    }

    fn host_of_agent(&self, agent: WorkspaceName) -> Answer<'_, Option<AgentElsewhere>> {
        self.read("look an agent up", async move |shared| {
            shared.host_of_agent(&agent).await
        })
    }

    fn machine(&self) -> Option<String> {
        Some(self.shared.lease.machine.simple().to_string())
    }

    fn host_of_machine(&self, machine: String) -> Answer<'_, Option<OtherHost>> {
        self.read("look a host up", async move |shared| {
            shared.host_of_machine(&machine).await
        })
    }

    fn workspaces(&self) -> Answer<'_, Workspaces> {
        self.read("list workspaces", async |shared: Arc<Shared>| {
            shared.workspaces().await
        })
    }

    fn put_switch(&self, switch: Switch) -> Answer<'_, ()> {
        self.change(
            "store that a plugin was turned on or off",
            async move |shared| shared.put_switch(&switch).await,
        )
    }

    fn switches(&self) -> Answer<'_, Vec<Switch>> {
        self.read(
            "list plugins that were turned on or off",
            async |shared: Arc<Shared>| shared.switches().await,
        )
    }

    fn tell_quarantine(&self, quarantine: Quarantine) -> Answer<'_, ()> {
        self.change("tell of a quarantine", async move |shared| {
            shared.tell_quarantine(&quarantine).await
        })
    }

    fn add_reader(&self, chat: ChatId) -> Answer<'_, ()> {
        self.change("store that a chat is read", async move |shared| {
            shared.add_reader(&chat).await
        })
    }

    fn sync_readers(&self, chats: Vec<ChatId>) -> Answer<'_, ()> {
        self.change("store which chats are read", async move |shared| {
            shared.sync_readers(&chats).await
        })
    }

    fn tell_event(&self, chat: ChatId, event: ChatEvent) -> Answer<'_, ()> {
        self.change("tell an event", async move |shared| {
            shared.tell_event(&chat, event).await
        })
    }

    fn counts(&self) -> Counts {
        let changes = self.shared.changes.load(Ordering::Relaxed);
        let leases = self.leases();
        let (connections, waiting) = self.shared.database.numbers();
        Counts {
            running: self.shared.running.lock().len() as u64,
            commits: changes,
            changes,
            failures: self.shared.failures.load(Ordering::Relaxed),
            is_kept: true,
            shared: Some(SharedCounts {
                is_reachable: leases.is_reachable,
                leases_lost: leases.lost,
                calls_taken_over: leases.taken_over,
                connections,
                waiting,
            }),
            ..Counts::default()
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn link_key(&self) -> Option<[u8; 32]> {
        Some(self.shared.link_key)
    }

    fn is_reachable(&self) -> bool {
        self.leases().is_reachable
    }

    fn news(&self) -> Option<UnboundedReceiver<News>> {
        self.news.lock().take()
    }

    fn close(&self) -> Answer<'_, ()> {
        self.change("give up the lease", async |shared: Arc<Shared>| {
            shared.lease.give_up(&shared.database).await
        })
    }
}
