//! The process that a path names, as far as a chat may see it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::chat::Chat;
use super::error::ApiError;
use toolhost_local::process::{Process, Registry};

/// The id in a path, whatever it is: one that cannot be decoded names no process.
#[derive(Clone, Debug)]
pub(super) struct ProcessId(pub(super) String);

impl ProcessId {
    /// Returns the process, if it is there for this chat: one that it started, or that was started for no chat. Who names
    /// no chat sees all of them.
    pub(super) fn find(&self, registry: &Registry, chat: &Chat) -> Result<Arc<Process>, ApiError> {
        let found = match &chat.id {
            None => registry.find(&self.0),
            Some(chat) => registry
                .get(chat, &self.0)
                .or_else(|_| registry.get(None, &self.0)),
        };
        found.map_err(|_| ApiError::not_found(&self.0))
    }

    /// Refuses a process that is there, but not for this chat. One that is not there at all is let through.
    pub(super) fn refuse_others(&self, registry: &Registry, chat: &Chat) -> Result<(), ApiError> {
        match self.find(registry, chat) {
            Err(refused) if registry.find(&self.0).is_ok() => Err(refused),
            _ => Ok(()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ProcessId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(
            path.map_or_else(|_| "\u{FFFD}".to_owned(), |Path(id)| id),
        ))
    }
}
