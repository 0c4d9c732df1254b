//! The operations of a store, on SQLite.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use rusqlite::Connection;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

use super::core::Core;
use super::fault::Fault;
use super::readers::Readers;
use super::staging::{LookUp, Staging};
use super::{
    Sqlite, calls, chats, log_bytes, nested, pages, records, session_row, sweep, witness,
    workspace_row,
};
use crate::{
    Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation, ChatPage,
    ChatQuery, Counts, EndedCall, Ending, Limits, LocalStore, NestedCall, NewCall, Process,
    ProcessQuery, Processes, Session, Store, StoredWorkspace, Swept, Workspaces,
};

/// The most processes of one change that are staged. More of them are committed at once, in one transaction.
const MANY: usize = 16;

/// Names a call in the witness that has begun, if the database does not keep it.
fn note_begun(core: &Core, call: &NewCall, begun: &Begun) -> Result<(), Fault> {
    let mut witness = core.witness.lock();
    if *begun == Begun::New && witness.has_only_notes() {
        witness.note(witness::key(call.chat.as_str(), call.call.as_str()))?;
    }
    Ok(())
}

impl Store for Sqlite {
    fn begin(&self, call: NewCall) -> Answer<'_, Begun> {
        self.change_soon("begin a call", call, Staging::begin, |core, call| {
            let begun = core.begin(call, core.clock.moment(), false)?;
            note_begun(core, call, &begun)?;
            Ok(begun)
        })
    }

    fn resume(&self, call: NewCall) -> Answer<'_, Begun> {
        self.change("resume a call", move |core| {
            let begun = core.resume(&call, core.clock.moment())?;
            note_begun(core, &call, &begun)?;
            Ok(begun)
        })
    }

    fn end(&self, ended: EndedCall) -> Answer<'_, Ending> {
        let stored = self.change_soon("end a call", ended, Staging::end, |core, ended| {
            core.end(ended, core.clock.moment())
        });
        Box::pin(async move { stored.await.map(|()| Ending::Stored) })
    }

    fn note(&self, chat: ChatId, call: CallId) -> Answer<'_, ()> {
        let key = witness::key(chat.as_str(), call.as_str());
        let noted = self.shared.witness.lock().note(key);
        let path = &self.shared.path;
        let noted = noted.map_err(|error| Fault::from(error).into_store_error(path, "note a call"));
        Box::pin(std::future::ready(noted))
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
        // The query reads only a few pages, so handing it to another thread would cost more. The connection that writes has most of
        // these pages in its cache.
        Box::pin(async move {
            let shared = &self.shared;
            let look_up =
                |connection: &Connection| calls::look_up(connection, &shared.metrics, &chat, &call);
            let found = match shared.writer.staging() {
                None => shared
                    .writer
                    .soon(|core| look_up(&core.connection))
                    .unwrap_or_else(|| shared.readers.read(look_up)),
                Some(staging) => {
                    let key = witness::key(chat.as_str(), call.as_str());
                    let mut way = staging.lock().look_up(&key);
                    if matches!(way, LookUp::Staged(_)) {
                        // The database knows more of the call, if it takes it.
                        shared.writer.flush_soon().await;
                        way = staging.lock().look_up(&key);
                    }
                    if matches!(way, LookUp::Absent) {
                        return Ok(None);
                    }
                    // Other threads need the lock, and reading takes longer than anything that they do with it.
                    match (way, shared.readers.read(look_up)) {
                        (LookUp::Staged(staged), _) => Ok(Some(*staged)),
                        (LookUp::Database(generation), Ok(None))
                            if staging.lock().note_absent(key, generation) =>
                        {
                            calls::unknown(&chat, &call).map(Some)
                        }
                        (_, found) => found,
                    }
                }
            };
            found.map_err(|fault| fault.into_store_error(&shared.path, "look a call up"))
        })
    }

    fn settled(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        self.call(chat, call)
    }

    fn nested(&self, chat: ChatId, outer: CallId) -> Answer<'_, Vec<NestedCall>> {
        self.list("list the calls of a call", move |connection| {
            nested::calls(connection, &chat, &outer)
        })
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, CallPage> {
        self.list("list calls", move |connection| {
            pages::calls(connection, &query)
        })
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, ChatPage> {
        self.list("list chats", move |connection| {
            chats::page(connection, &query)
        })
    }

    fn end_chat(&self, chat: ChatId) -> Answer<'_, ()> {
        self.change("end a chat", move |core| core.end_chat(&chat))
    }

    fn sweep(&self, limits: Limits) -> Answer<'_, Swept> {
        self.run_blocking("forget calls", move |shared| {
            sweep::sweep(&shared.writer, &shared.readers, &limits)
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
        self.run_blocking("list workspaces", move |shared| {
            let (workspaces, faults) = shared.read(workspace_row::all)?;
            faults.iter().for_each(|fault| shared.metrics.damage(fault));
            Ok(workspaces)
        })
    }

    fn counts(&self) -> Counts {
        self.shared.writer.flush();
        let metrics = &self.shared.metrics;
        let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        let file = std::fs::metadata(&self.shared.path).map_or(0, |file| file.len());
        Counts {
            running: self.shared.running.lock().values().sum(),
            commits: read(&metrics.commits),
            changes: read(&metrics.changes),
            failures: read(&metrics.failures),
            damaged: read(&metrics.damaged),
            has_set_aside: self.shared.has_set_aside,
            bytes: file + log_bytes(&self.shared.path),
            is_kept: matches!(self.shared.readers, Readers::File { .. }),
            shared: None,
        }
    }
}

impl LocalStore for Sqlite {
    fn finish(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.shared.writer.flush_soon().await;
            Ok(())
        })
    }

    fn add_process(&self, process: Process) -> Answer<'_, ()> {
        let stage = |staging: &mut Staging, process: &_| staging.put_process(process, true);
        self.change_soon("store a process", process, stage, |core, process| {
            core.add_process(process)
        })
    }

    fn update_processes(&self, processes: Vec<Process>) -> Answer<'_, ()> {
        let stage = |staging: &mut Staging, processes: &Vec<Process>| {
            if processes.len() > MANY {
                return None;
            }
            let mut staged = processes.iter().map(|one| staging.put_process(one, false));
            staged.all(|staged| staged.is_some()).then_some(())
        };
        self.change_soon("store processes", processes, stage, |core, processes| {
            core.update_processes(processes)
        })
    }

    fn forget_processes(&self, ids: Vec<String>) -> Answer<'_, ()> {
        self.change("forget processes", move |core| core.forget_processes(&ids))
    }

    fn processes(&self, query: ProcessQuery) -> Answer<'_, Processes> {
        self.run_blocking("list processes", move |shared| {
            let read = |connection: &Connection| records::processes(connection, &query);
            let (processes, faults) = shared.read(read)?;
            faults.iter().for_each(|fault| shared.metrics.damage(fault));
            Ok(processes)
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
        self.list("list temporary files", records::temporaries)
    }

    fn put_session(&self, session: Session) -> Answer<'_, ()> {
        self.change("store a session", move |core| core.put_session(&session))
    }

    fn remove_session(&self, id: String) -> Answer<'_, ()> {
        self.change("forget a session", move |core| core.remove_session(&id))
    }

    fn sessions(&self) -> Answer<'_, Vec<Session>> {
        self.run_blocking("list sessions", move |shared| {
            let (sessions, faults) = shared.read(session_row::all)?;
            faults.iter().for_each(|fault| shared.metrics.damage(fault));
            Ok(sessions)
        })
    }

    fn may_lack_processes(&self) -> bool {
        let counts = Store::counts(self);
        counts.damaged > 0 || counts.has_set_aside
    }
}
