//! The traits of stores: [`Store`], which several hosts may share, and [`LocalStore`], which belongs to one.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

use crate::{
    AgentElsewhere, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation,
    ChatEvent, ChatPage, ChatQuery, ConnectedAgent, Counts, EndedCall, Ending, FoundTools, Home,
    Limits, NestedCall, NewCall, News, Notice, OtherHost, Process, ProcessQuery, Processes,
    Quarantine, Session, StoreError, StoredWorkspace, Swept, Switch, Workspaces,
};

/// The answer of a store. If the caller drops the future of a change before it is ready, the change may have been made.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Calls, chats and workspaces, which outlive a host. When the future of a change is ready, the change is as durable as the store promises.
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Stores the beginning of a call, unless the id was seen before. The check and the write are atomic. The call may run only after
    /// [`Begun::New`].
    fn begin(&self, call: NewCall) -> Answer<'_, Begun>;

    /// Stores that a call runs again, whose record has an unknown outcome and the same digest and was not cancelled. The check and the
    /// write are atomic. The call may run only after [`Begun::New`]; any other answer is the one that [`Store::begin`] gives to a repeat.
    fn resume(&self, call: NewCall) -> Answer<'_, Begun>;

    /// Stores the end of a call, and the call itself if its beginning is not stored.
    fn end(&self, ended: EndedCall) -> Answer<'_, Ending>;

    /// Forgets a call whose beginning was stored but that did not run.
    fn withdraw(&self, chat: ChatId, call: CallId) -> Answer<'_, ()>;

    /// Cancels a call. If the call has not arrived, the store keeps a tombstone, so that the call does not run when it arrives.
    fn cancel(&self, cancellation: Cancellation) -> Answer<'_, CancelAnswer>;

    /// Takes over the calls whose hosts have ended or have lost their lease, and returns them. A host does this before its first call, and
    /// at [`News::Interrupted`], and ends each of these calls with [`Store::end`]. Until then they count as running.
    fn interrupt(&self) -> Answer<'_, Vec<Call>>;

    /// Returns a call with its outcome; `None` if the id was not seen.
    fn call(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>>;

    /// Waits until a call runs at no other host, and returns it; `None` if the id was not seen.
    fn settled(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>>;

    /// Returns the calls that a call has made, in the order of their numbers. Those whose outcome is no longer kept are among them, and
    /// so are tombstones. A damaged record is no error: the call is listed as damaged.
    fn nested(&self, chat: ChatId, outer: CallId) -> Answer<'_, Vec<NestedCall>>;

    /// Returns a page of the calls that run or whose outcome is kept, newest first. The query delays no other operation, and looks
    /// at a bounded number of calls.
    fn calls(&self, query: CallQuery) -> Answer<'_, CallPage>;

    /// Returns a page of chats, those with running calls first.
    fn chats(&self, query: ChatQuery) -> Answer<'_, ChatPage>;

    /// Marks a chat as ended, and forgets the tools that were found in it. The next call that begins in the chat clears the mark.
    fn end_chat(&self, chat: ChatId) -> Answer<'_, ()>;

    /// Adds tools to those that were found in a chat, in this order, and stores the chat if it is not known. A tool that was found before
    /// keeps its place. Returns whether the list has changed. The check and the write are atomic.
    fn add_found_tools(&self, found: FoundTools) -> Answer<'_, bool>;

    /// Returns the names of the tools that were found in a chat since it began, in the order in which they were found.
    fn found_tools(&self, chat: ChatId) -> Answer<'_, Vec<String>>;

    /// Drops outcomes and ids beyond the limits of age and number. Each token has a share of the room, and each chat has a share of
    /// that of its token.
    fn sweep(&self, limits: Limits) -> Answer<'_, Swept>;

    /// Stores a workspace, or replaces it.
    fn put_workspace(&self, workspace: StoredWorkspace) -> Answer<'_, ()>;

    /// Forgets a workspace, and which chats belong to it.
    fn remove_workspace(&self, name: WorkspaceName) -> Answer<'_, ()>;

    /// Stores the workspace that a chat belongs to, unless it belongs to one. Returns the one that it belongs to. The check and the write
    /// are atomic.
    fn bind(&self, binding: Binding) -> Answer<'_, WorkspaceName>;

    /// Returns the workspace that a chat belongs to, as far as another host may have stored that.
    fn workspace_of(&self, _chat: ChatId) -> Answer<'_, Option<StoredWorkspace>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns a workspace, as far as another host may have stored it.
    fn workspace(&self, _name: WorkspaceName) -> Answer<'_, Option<StoredWorkspace>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Stores that the calls of a chat run on the machine of this host, in its default workspace, unless they run elsewhere. Returns where
    /// they run. The check and the write are atomic.
    fn settle(&self, _chat: ChatId, _principal: String) -> Answer<'_, Home> {
        Box::pin(std::future::ready(Ok(Home::Here)))
    }

    /// Returns where the calls of a chat run, as far as [`Store::settle`] has stored that; `None` if they run in the workspace that the chat
    /// belongs to, or if none has run.
    fn home_of(&self, _chat: ChatId) -> Answer<'_, Option<Home>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Frees a chat from the host in whose default workspace its calls ran, if that host has lost its lease: the next call of the chat
    /// decides where it runs. Returns that host; `None` if the chat was not freed.
    fn free(&self, _chat: ChatId) -> Answer<'_, Option<OtherHost>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Stores that an agent has connected to this host. It is connected to no other host any more.
    fn put_agent(&self, _agent: ConnectedAgent) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Stores that an agent is no longer connected to this host.
    fn remove_agent(&self, _agent: WorkspaceName) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Stores that these agents are still connected to this host, and no others. For an agent that has connected to another host since,
    /// that one counts if it has its lease.
    fn sync_agents(&self, _agents: Vec<ConnectedAgent>) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the other host to which an agent is connected; `None` if there is none that has its lease.
    fn host_of_agent(&self, _agent: WorkspaceName) -> Answer<'_, Option<AgentElsewhere>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the id of the machine of this host, by which the others know it also after a restart; `None` if the store belongs to one
    /// host.
    fn machine(&self) -> Option<String> {
        None
    }

    /// Returns the host of a machine; `None` if the store does not know it.
    fn host_of_machine(&self, _machine: String) -> Answer<'_, Option<OtherHost>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns all workspaces and their chats. Damaged records are no error: the result counts them.
    fn workspaces(&self) -> Answer<'_, Workspaces>;

    /// Stores that a plugin was turned on or off, for the hosts of this store. A store of one host keeps nothing.
    fn put_switch(&self, _switch: Switch) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the plugins that were turned on or off, at most one switch for each name and configured value.
    fn switches(&self) -> Answer<'_, Vec<Switch>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Tells the other hosts that a plugin was quarantined. Hosts that do not listen at this moment are not told later.
    fn tell_quarantine(&self, _quarantine: Quarantine) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Stores that clients read the events of a chat at this host. From then on, [`News::Event`] tells of the calls that begin and end at
    /// other hosts, of their progress, and of the end of the chat. Of a call that only reads, it tells the end alone.
    fn add_reader(&self, _chat: ChatId) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Stores that clients read the events of these chats at this host, and of no others.
    fn sync_readers(&self, _chats: Vec<ChatId>) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Tells an event to the other hosts at which clients read the events of the chat. The store itself tells of calls that begin or end,
    /// and of chats that end.
    fn tell_event(&self, _chat: ChatId, _event: ChatEvent) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns numbers for metrics.
    fn counts(&self) -> Counts;

    /// Returns whether the store answered when it was asked last.
    fn is_reachable(&self) -> bool {
        true
    }

    /// Returns whether other hosts use this store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the key with which all hosts of the store sign links; `None` if each host has its own.
    fn link_key(&self) -> Option<[u8; 32]> {
        None
    }

    /// Returns what happens at other hosts and concerns this one. The first caller gets the receiver; `None` for later callers, and if the
    /// store belongs to one host.
    fn news(&self) -> Option<UnboundedReceiver<News>> {
        None
    }

    /// Gives up the lease of this host, so that others take its calls over at once. Nothing is stored afterwards.
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The processes and temporary files of one machine, the sessions of its clients, and the notices that its chats wait for, which outlive a
/// host. When the future of a change is ready, the change is as durable as the store promises.
pub trait LocalStore: std::fmt::Debug + Send + Sync {
    /// Stores a process that is about to start.
    fn add_process(&self, process: Process) -> Answer<'_, ()>;

    /// Replaces the stored values of these processes. Processes that were forgotten are skipped.
    fn update_processes(&self, processes: Vec<Process>) -> Answer<'_, ()>;

    /// Forgets these processes.
    fn forget_processes(&self, ids: Vec<String>) -> Answer<'_, ()>;

    /// Returns processes. Damaged records are no error: the result counts them.
    fn processes(&self, query: ProcessQuery) -> Answer<'_, Processes>;

    /// Stores the path of a temporary file that is about to be made, and forgets the paths in `gone`.
    fn add_temporary(&self, path: PathBuf, gone: Vec<PathBuf>) -> Answer<'_, ()>;

    /// Forgets temporary files.
    fn forget_temporaries(&self, paths: Vec<PathBuf>) -> Answer<'_, ()>;

    /// Returns the temporary files that may exist.
    fn temporaries(&self) -> Answer<'_, Vec<PathBuf>>;

    /// Stores a session, or replaces it.
    fn put_session(&self, session: Session) -> Answer<'_, ()>;

    /// Forgets a session.
    fn remove_session(&self, id: String) -> Answer<'_, ()>;

    /// Returns all sessions. Damaged records are no error: they are left out.
    fn sessions(&self) -> Answer<'_, Vec<Session>>;

    /// Stores a notice, or replaces it.
    fn put_notice(&self, notice: Notice) -> Answer<'_, ()>;

    /// Forgets these notices.
    fn forget_notices(&self, ids: Vec<String>) -> Answer<'_, ()>;

    /// Returns all notices, in the order in which they were stored first. Damaged records are no error: they are left out.
    fn notices(&self) -> Answer<'_, Vec<Notice>>;

    /// Returns whether records of processes may be missing, because the store met damage or is the successor of a damaged one.
    fn may_lack_processes(&self) -> bool;
}
