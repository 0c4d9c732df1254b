//! A store that refuses changes when it is told to, as one on a full disk does.

use std::sync::atomic::{AtomicBool, Ordering};

use toolhost_store::{
    Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation, ChatPage,
    ChatQuery, Counts, EndedCall, Ending, NestedCall, NewCall, Sqlite, Store, StoreError,
    StoredWorkspace, Swept, Workspaces,
};

use toolhost_state::workspace_name::WorkspaceName;

use super::*;

#[derive(Debug)]
pub(super) struct Failing {
    store: Sqlite,
    fails: AtomicBool,
    /// Whether ends of calls are refused.
    fails_ends: AtomicBool,
    /// Whether the store says that other hosts use it.
    is_shared: bool,
    /// Whether another host begins the next call first, and withdraws it.
    begins_elsewhere: AtomicBool,
}

impl Failing {
    pub(super) fn of(store: Sqlite) -> Self {
        Self {
            store,
            fails: AtomicBool::new(false),
            fails_ends: AtomicBool::new(false),
            is_shared: false,
            begins_elsewhere: AtomicBool::new(false),
        }
    }

    /// Makes a store that says that other hosts use it.
    pub(super) fn shared(store: Sqlite) -> Self {
        Self {
            is_shared: true,
            ..Self::of(store)
        }
    }

    /// Has another host begin the next call first, and withdraw it.
    pub(super) fn begin_elsewhere(&self) {
        self.begins_elsewhere.store(true, Ordering::SeqCst);
    }

    /// Has ends of calls refused, or not any more.
    pub(super) fn fail_ends(&self, fails: bool) {
        self.fails_ends.store(fails, Ordering::SeqCst);
    }

    fn ending<'a, T: 'a>(&self, end: Answer<'a, T>) -> Answer<'a, T> {
        match self.fails_ends.load(Ordering::SeqCst) {
            true => Box::pin(async { Err(full()) }),
            false => self.change(end),
        }
    }

    /// Has changes refused, or not any more.
    pub(super) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn change<'a, T: 'a>(&self, change: Answer<'a, T>) -> Answer<'a, T> {
        match self.fails.load(Ordering::SeqCst) {
            true => Box::pin(async { Err(full()) }),
            false => change,
        }
    }
}

fn full() -> StoreError {
    StoreError::Full {
        path: "store.db".into(),
    }
}

/// Hands these operations on to the store that does not fail.
macro_rules! handed {
    ($($change:ident { $($name:ident($($argument:ident: $kind:ty),*) -> $made:ty;)* })*) => {
        impl Store for Failing {
            $($(
                fn $name(&self, $($argument: $kind),*) -> Answer<'_, $made> {
                    handed!(@$change, self, self.store.$name($($argument),*))
                }
            )*)*

            fn begin(&self, call: NewCall) -> Answer<'_, Begun> {
                match self.begins_elsewhere.swap(false, Ordering::SeqCst) {
                    true => Box::pin(async { Ok(Begun::Running) }),
                    false => self.change(self.store.begin(call)),
                }
            }

            fn counts(&self) -> Counts {
                self.store.counts()
            }

            fn is_shared(&self) -> bool {
                self.is_shared
            }
        }
    };
    (@ending, $of:expr, $done:expr) => { $of.ending($done) };
    (@change, $of:expr, $done:expr) => { $of.change($done) };
    (@read, $of:expr, $done:expr) => { $done };
}

handed! {
    change {
    resume(call: NewCall) -> Begun;
    withdraw(chat: ChatId, call: CallId) -> ();
    cancel(fence: Cancellation) -> CancelAnswer;
    interrupt() -> Vec<Call>;
    end_chat(chat: ChatId) -> ();
    add_found_tools(found: toolhost_store::FoundTools) -> bool;
    sweep(limits: toolhost_store::Limits) -> Swept;
    put_workspace(workspace: StoredWorkspace) -> ();
    remove_workspace(name: WorkspaceName) -> ();
    bind(binding: Binding) -> WorkspaceName;
    }
    ending {
    end(ended: EndedCall) -> Ending;
    }
    read {
    call(chat: ChatId, call: CallId) -> Option<Call>;
    settled(chat: ChatId, call: CallId) -> Option<Call>;
    nested(chat: ChatId, outer: CallId) -> Vec<NestedCall>;
    calls(query: CallQuery) -> CallPage;
    chats(query: ChatQuery) -> ChatPage;
    found_tools(chat: ChatId) -> Vec<String>;
    workspaces() -> Workspaces;
    }
}
