//! `toolhost:plugin/context`: facts about the running call.

use tokio::time::Instant;
use wasmtime::Result;

use super::View;
use super::wit::context::Host;

impl Host for View<'_> {
    async fn chat(&mut self) -> Result<String> {
        Ok(self
            .scope
            .call
            .as_ref()
            .map(|call| call.request.chat.to_string())
            .unwrap_or_default())
    }

    async fn workspace_root(&mut self) -> Result<String> {
        let root = self
            .scope
            .call
            .as_ref()
            .map(|call| call.workspace.root().to_string_lossy().into_owned());
        Ok(root.unwrap_or_default())
    }

    async fn remaining_ms(&mut self) -> Result<u64> {
        let left = self
            .scope
            .call
            .as_ref()
            .map(|call| call.deadline.saturating_duration_since(Instant::now()));
        Ok(left.map_or(0, |left| {
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        }))
    }

    async fn cancelled(&mut self) -> Result<bool> {
        Ok(self
            .scope
            .call
            .as_ref()
            .is_some_and(|call| call.tell_cancelled()))
    }

    async fn attribute(&mut self, name: String) -> Result<Option<String>> {
        Ok(self
            .scope
            .call
            .as_ref()
            .and_then(|call| call.request.attributes.get(&name).cloned()))
    }
}
