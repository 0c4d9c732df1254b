//! A store that forgets everything at once.

use std::path::PathBuf;

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{
    Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation, ChatPage,
    ChatQuery, Counts, EndedCall, Ending, FoundTools, Limits, LocalStore, NestedCall, NewCall,
    Notice, Process, ProcessQuery, Processes, Session, Store, StoredWorkspace, Swept, Workspaces,
};

#[derive(Debug)]
pub(crate) struct Forgetful;

/// Defines methods that answer with this value whatever they are asked.
macro_rules! answers {
    ($($method:ident($($kind:ty),*) -> $answer:ty = $value:expr;)*) => {$(
        fn $method(&self $(, _: $kind)*) -> Answer<'_, $answer> {
            Box::pin(std::future::ready(Ok($value)))
        }
    )*};
}

impl Store for Forgetful {
    answers! {
        begin(NewCall) -> Begun = Begun::New;
        resume(NewCall) -> Begun = Begun::New;
        nested(ChatId, CallId) -> Vec<NestedCall> = Vec::new();
        end(EndedCall) -> Ending = Ending::Stored;
        settled(ChatId, CallId) -> Option<Call> = None;
        withdraw(ChatId, CallId) -> () = ();
        cancel(Cancellation) -> CancelAnswer = CancelAnswer::Tombstone(None);
        interrupt() -> Vec<Call> = Vec::new();
        call(ChatId, CallId) -> Option<Call> = None;
        calls(CallQuery) -> CallPage = CallPage::default();
        chats(ChatQuery) -> ChatPage = ChatPage::default();
        end_chat(ChatId) -> () = ();
        add_found_tools(FoundTools) -> bool = false;
        found_tools(ChatId) -> Vec<String> = Vec::new();
        sweep(Limits) -> Swept = Swept::default();
        put_workspace(StoredWorkspace) -> () = ();
        remove_workspace(WorkspaceName) -> () = ();
        bind(Binding) -> WorkspaceName = WorkspaceName::of_default();
        workspaces() -> Workspaces = Workspaces::default();
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }
}

impl LocalStore for Forgetful {
    answers! {
        put_session(Session) -> () = ();
        remove_session(String) -> () = ();
        sessions() -> Vec<Session> = Vec::new();
        put_notice(Notice) -> () = ();
        forget_notices(Vec<String>) -> () = ();
        notices() -> Vec<Notice> = Vec::new();
        add_process(Process) -> () = ();
        update_processes(Vec<Process>) -> () = ();
        forget_processes(Vec<String>) -> () = ();
        processes(ProcessQuery) -> Processes = Processes::default();
        add_temporary(PathBuf, Vec<PathBuf>) -> () = ();
        forget_temporaries(Vec<PathBuf>) -> () = ();
        temporaries() -> Vec<PathBuf> = Vec::new();
    }

    fn may_lack_processes(&self) -> bool {
        false
    }
}
