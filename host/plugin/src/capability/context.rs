//! `toolhost:plugin/context`: facts about the running call.

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::Result;
use wasmtime::component::Linker;

use super::State;
use super::bindings::toolhost::plugin::context as wit;
use super::{Call, CallContext, Of, View};

/// The call that is asked about; `None` while the host asks for the tools.
#[derive(Debug)]
pub(crate) struct Context(Option<Arc<Call>>);

impl Context {
    pub(super) fn begin(context: &CallContext) -> Self {
        Self(context.call.clone())
    }

    /// Returns a fact about the call, or the default while there is none.
    fn of_call<T: Default>(&self, fact: impl FnOnce(&Call) -> T) -> Result<T> {
        Ok(self.0.as_deref().map(fact).unwrap_or_default())
    }
}

/// Links the interface.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    wit::add_to_linker::<State, Of<Context>>(linker, State::view)
}

impl wit::Host for View<'_, Context> {
    async fn chat(&mut self) -> Result<String> {
        self.state.of_call(|call| call.request.chat.to_string())
    }

    async fn workspace_root(&mut self) -> Result<String> {
        self.state
            .of_call(|call| call.workspace.root().to_string_lossy().into_owned())
    }

    async fn remaining_ms(&mut self) -> Result<u64> {
        self.state.of_call(|call| {
            let left = call.deadline.saturating_duration_since(Instant::now());
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        })
    }

    async fn cancelled(&mut self) -> Result<bool> {
        self.state.of_call(Call::end_if_cancelled)
    }

    async fn attribute(&mut self, name: String) -> Result<Option<String>> {
        self.state
            .of_call(|call| call.request.attributes.get(&name).cloned())
    }
}
