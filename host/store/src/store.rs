//! The seam: the operations that every store has.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use toolhost_state::id::{CallId, ChatId};

use crate::{
    Begun, Call, CallPage, CallQuery, ChatPage, ChatQuery, Counts, EndedCall, Fence, Fenced,
    Limits, NewCall, Process, ProcessQuery, Processes, Session, StoreError, Swept,
};

/// The answer of a store. A change that was handed over happens even if its future is dropped.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The state that outlives a host. A change is stored as durably as the store promises when its future is ready.
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Stores the beginning of a call unless its id was seen, in one step. Only [`Begun::New`] permits the call to run.
    fn begin(&self, call: NewCall) -> Answer<'_, Begun>;

    /// Stores the end of a call, and the call itself if its beginning is not stored.
    fn end(&self, ended: EndedCall) -> Answer<'_, ()>;

    /// Forgets a call that began and did not run after all.
    fn withdraw(&self, chat: ChatId, call: CallId) -> Answer<'_, ()>;

    /// Cancels a call, or keeps it from running when it arrives.
    fn cancel(&self, fence: Fence) -> Answer<'_, Fenced>;

    /// Takes the calls over that ran when the last host ended, and returns them. A host does this once, before its first call, and ends
    /// each of them with [`Store::end`]: until then they run.
    fn interrupt(&self) -> Answer<'_, Vec<Call>>;

    /// Returns a call with its outcome; `None` if the id was not seen.
    fn call(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>>;

    /// Returns a page of the calls that run or whose outcome is kept, newest first. It holds up no other operation, and looks at
    /// a bounded number of calls.
    fn calls(&self, query: CallQuery) -> Answer<'_, CallPage>;

    /// Returns a page of chats, those with running calls first.
    fn chats(&self, query: ChatQuery) -> Answer<'_, ChatPage>;

    /// Stores that a chat was ended, until a call begins in it.
    fn end_chat(&self, chat: ChatId) -> Answer<'_, ()>;

    /// Forgets outcomes and ids that are too old or too many. Each token has its share of what there is room for, and each chat its
    /// share of that of its token.
    fn sweep(&self, limits: Limits) -> Answer<'_, Swept>;

    /// Stores a process that is about to start.
    fn add_process(&self, process: Process) -> Answer<'_, ()>;

    /// Replaces these processes, but for those that were forgotten.
    fn update_processes(&self, processes: Vec<Process>) -> Answer<'_, ()>;

    /// Forgets these processes.
    fn forget_processes(&self, ids: Vec<String>) -> Answer<'_, ()>;

    /// Returns processes. Damage to some of them is no error.
    fn processes(&self, query: ProcessQuery) -> Answer<'_, Processes>;

    /// Stores the name of a temporary file that is about to be made, and forgets those that are gone.
    fn add_temporary(&self, path: PathBuf, gone: Vec<PathBuf>) -> Answer<'_, ()>;

    /// Forgets temporary files.
    fn forget_temporaries(&self, paths: Vec<PathBuf>) -> Answer<'_, ()>;

    /// Returns the temporary files that may exist.
    fn temporaries(&self) -> Answer<'_, Vec<PathBuf>>;

    /// Stores a session, or replaces it.
    fn put_session(&self, session: Session) -> Answer<'_, ()>;

    /// Forgets a session.
    fn remove_session(&self, id: String) -> Answer<'_, ()>;

    /// Returns all sessions. Damage to some of them is no error: they are left out.
    fn sessions(&self) -> Answer<'_, Vec<Session>>;

    /// Returns numbers for metrics.
    fn counts(&self) -> Counts;
}
