//! The operations of a store, on the model.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{
    Answer, Begun, Binding, Call, CallPage, CallQuery, CancelAnswer, Cancellation, ChatPage,
    ChatQuery, Counts, EndedCall, Ending, FoundTools, Limits, NestedCall, NewCall, News, Store,
    StoredWorkspace, Swept, Workspaces,
};

use crate::link::Fault;
use crate::store::Shared;

/// The store of a host, as its ledger has it.
#[derive(Debug)]
pub(crate) struct Model(pub(crate) Arc<Shared>);

/// Makes a change, also if the caller drops the future.
fn change<T: Send + 'static>(
    changing: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Answer<'static, T> {
    // The change is handed over when the ledger asks for the answer, and not before: the ledger makes changes in an order.
    Box::pin(async move { Ok(tokio::spawn(changing).await.unwrap()?) })
}

/// Answers an operation that no ledger asks for here.
fn nothing<T: Default + Send + 'static>() -> Answer<'static, T> {
    Box::pin(std::future::ready(Ok(T::default())))
}

impl Store for Model {
    fn begin(&self, call: NewCall) -> Answer<'_, Begun> {
        let shared = Arc::clone(&self.0);
        change(async move { shared.begin(call, false).await })
    }

    fn resume(&self, call: NewCall) -> Answer<'_, Begun> {
        let shared = Arc::clone(&self.0);
        change(async move { shared.begin(call, true).await })
    }

    fn end(&self, ended: EndedCall) -> Answer<'_, Ending> {
        let shared = Arc::clone(&self.0);
        change(async move { shared.end(ended).await })
    }

    fn withdraw(&self, _: ChatId, _: CallId) -> Answer<'_, ()> {
        nothing()
    }

    fn cancel(&self, cancellation: Cancellation) -> Answer<'_, CancelAnswer> {
        let shared = Arc::clone(&self.0);
        change(async move { shared.cancel(cancellation).await })
    }

    fn interrupt(&self) -> Answer<'_, Vec<Call>> {
        let shared = Arc::clone(&self.0);
        change(async move { shared.interrupt().await })
    }

    fn call(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        Box::pin(async move { Ok(self.0.call(&(chat, call)).await?) })
    }

    fn settled(&self, chat: ChatId, call: CallId) -> Answer<'_, Option<Call>> {
        Box::pin(async move { Ok(self.0.settled(&(chat, call)).await?) })
    }

    fn nested(&self, _: ChatId, _: CallId) -> Answer<'_, Vec<NestedCall>> {
        nothing()
    }

    fn calls(&self, _: CallQuery) -> Answer<'_, CallPage> {
        nothing()
    }

    fn chats(&self, _: ChatQuery) -> Answer<'_, ChatPage> {
        nothing()
    }

    fn end_chat(&self, _: ChatId) -> Answer<'_, ()> {
        nothing()
    }

    fn add_found_tools(&self, _: FoundTools) -> Answer<'_, bool> {
        nothing()
    }

    fn found_tools(&self, _: ChatId) -> Answer<'_, Vec<String>> {
        nothing()
    }

    fn sweep(&self, _: Limits) -> Answer<'_, Swept> {
        // Nothing is forgotten: a call that ran in the first minute is still known in the last one.
        nothing()
    }

    fn put_workspace(&self, _: StoredWorkspace) -> Answer<'_, ()> {
        nothing()
    }

    fn remove_workspace(&self, _: WorkspaceName) -> Answer<'_, ()> {
        nothing()
    }

    fn bind(&self, binding: Binding) -> Answer<'_, WorkspaceName> {
        Box::pin(std::future::ready(Ok(binding.workspace)))
    }

    fn workspaces(&self) -> Answer<'_, Workspaces> {
        nothing()
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn news(&self) -> Option<UnboundedReceiver<News>> {
        None
    }
}
