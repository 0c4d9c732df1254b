//! The operations of a store, on SQLite.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

use super::core::Core;
use super::{
    Sqlite, calls, chats, nested, notice_row, pages, records, session_row, sweep, workspace_row,
};
use crate::{
    Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation, ChatPage,
    ChatQuery, Counts, EndedCall, Ending, FoundTools, Limits, LocalStore, NestedCall, NewCall,
    Notice, Process, ProcessQuery, Processes, Session, Store, StoredWorkspace, Swept, Workspaces,
};

impl Store for Sqlite {
    fn begin(&self, call: NewCall) -> Answer<'_, Begun> {
        let name = (call.chat.clone(), call.call.clone());
        let begin = move |core: &mut Core| core.begin(&call);
        // The caller was told that the call does not run.
        self.change_or_undo("begin a call", begin, move |core, begun| {
            let (chat, call) = name;
            if begun == Begun::New
                && let Err(fault) = core.transact(|core| core.withdraw(&chat, &call))
            {
                tracing::warn!(?fault, %chat, %call, "a call that was turned away cannot be forgotten: a repeat is told that its outcome is unknown");
            }
        })
    }

    fn resume(&self, call: NewCall) -> Answer<'_, Begun> {
        self.change("resume a call", move |core| core.resume(&call))
    }

    fn end(&self, ended: EndedCall) -> Answer<'_, Ending> {
        self.change("end a call", move |core| {
            core.end(&ended)?;
            Ok(Ending::Stored)
        })
    }

    fn withdraw(&self, chat: ChatId, call: CallId) -> Answer<'_, ()> {
        self.change("withdraw a call", move |core| core.withdraw(&chat, &call))
    }

    fn cancel(&self, cancellation: Cancellation) -> Answer<'_, CancelAnswer> {
        self.change("cancel a call", move |core| core.cancel(&cancellation))
    }

    fn interrupt(&self) -> Answer<'_, Vec<Call>> {
        self.change("take calls over", Core::interrupt)
    }

    fn call(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        let metrics = Arc::clone(&self.metrics);
        self.read("look a call up", move |connection| {
            calls::look_up(connection, &metrics, &chat, &call)
        })
    }

    fn settled(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        self.call(chat, call)
    }

    fn nested(&self, chat: ChatId, outer: CallId) -> Answer<'_, Vec<NestedCall>> {
        self.read("list the calls of a call", move |connection| {
            nested::calls(connection, &chat, &outer)
        })
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, CallPage> {
        self.read("list calls", move |connection| {
            pages::calls(connection, &query)
        })
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, ChatPage> {
        self.read("list chats", move |connection| {
            chats::page(connection, &query)
        })
    }

    fn end_chat(&self, chat: ChatId) -> Answer<'_, ()> {
        self.change("end a chat", move |core| core.end_chat(&chat))
    }

    fn add_found_tools(&self, found: FoundTools) -> Answer<'_, bool> {
        self.change("store the tools that a chat has found", move |core| {
            core.add_found_tools(&found)
        })
    }

    fn found_tools(&self, chat: ChatId) -> Answer<'_, Vec<String>> {
        self.read(
            "look up the tools that a chat has found",
            move |connection| chats::found_tools(connection, &chat),
        )
    }

    fn sweep(&self, limits: Limits) -> Answer<'_, Swept> {
        Box::pin(async move {
            let swept = sweep::sweep(self, &limits).await;
            swept.map_err(|fault| fault.into_store_error(&self.path, "forget calls"))
        })
    }

    fn put_workspace(&self, workspace: StoredWorkspace) -> Answer<'_, ()> {
        self.change("store a workspace", move |core| {
            core.put_workspace(&workspace)
        })
    }

    fn remove_workspace(&self, name: WorkspaceName) -> Answer<'_, ()> {
        self.change("forget a workspace", move |core| {
            core.remove_workspace(&name)
        })
    }

    fn bind(&self, binding: Binding) -> Answer<'_, WorkspaceName> {
        self.change("store the workspace of a chat", move |core| {
            core.bind(&binding)
        })
    }

    fn workspaces(&self) -> Answer<'_, Workspaces> {
        self.read_sound("list workspaces", workspace_row::all)
    }

    fn is_reachable(&self) -> bool {
        let readers = self.readers.as_ref();
        !self.metrics.is_late.load(Ordering::Relaxed) && !readers.is_some_and(|all| all.is_late())
    }

    fn counts(&self) -> Counts {
        let metrics = &self.metrics;
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Counts {
            running: self.running.lock().values().sum(),
            commits: read(&metrics.commits),
            changes: read(&metrics.changes),
            failures: read(&metrics.failures),
            damaged: read(&metrics.damaged),
            has_set_aside: self.has_set_aside,
            bytes: read(&metrics.bytes),
            is_kept: self.readers.is_some(),
            shared: None,
        }
    }
}

impl LocalStore for Sqlite {
    fn add_process(&self, process: Process) -> Answer<'_, ()> {
        self.change("store a process", move |core| core.add_process(&process))
    }

    fn update_processes(&self, processes: Vec<Process>) -> Answer<'_, ()> {
        self.change("store processes", move |core| {
            core.update_processes(&processes)
        })
    }

    fn forget_processes(&self, ids: Vec<String>) -> Answer<'_, ()> {
        self.change("forget processes", move |core| core.forget_processes(&ids))
    }

    fn processes(&self, query: ProcessQuery) -> Answer<'_, Processes> {
        self.read_sound("list processes", move |connection| {
            records::processes(connection, &query)
        })
    }

    fn add_temporary(&self, path: PathBuf, gone: Vec<PathBuf>) -> Answer<'_, ()> {
        self.change("store a temporary file", move |core| {
            core.add_temporary(&path, &gone)
        })
    }

    fn forget_temporaries(&self, paths: Vec<PathBuf>) -> Answer<'_, ()> {
        self.change("forget temporary files", move |core| {
            core.forget_temporaries(&paths)
        })
    }

    fn temporaries(&self) -> Answer<'_, Vec<PathBuf>> {
        self.read("list temporary files", records::temporaries)
    }

    fn put_session(&self, session: Session) -> Answer<'_, ()> {
        self.change("store a session", move |core| core.put_session(&session))
    }

    fn remove_session(&self, id: String) -> Answer<'_, ()> {
        self.change("forget a session", move |core| core.remove_session(&id))
    }

    fn sessions(&self) -> Answer<'_, Vec<Session>> {
        self.read_sound("list sessions", session_row::all)
    }

    fn put_notice(&self, notice: Notice) -> Answer<'_, ()> {
        self.change("store a notice", move |core| core.put_notice(&notice))
    }

    fn forget_notices(&self, ids: Vec<String>) -> Answer<'_, ()> {
        self.change("forget notices", move |core| core.forget_notices(&ids))
    }

    fn notices(&self) -> Answer<'_, Vec<Notice>> {
        self.read_sound("list notices", notice_row::all)
    }

    fn may_lack_processes(&self) -> bool {
        self.has_set_aside || self.metrics.damaged.load(Ordering::Relaxed) > 0
    }
}
