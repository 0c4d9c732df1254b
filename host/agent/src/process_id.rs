//! The process that a path names, as far as a chat may see it.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Info;

use super::chat::Chat;
use super::error::ApiError;

/// The id in a path, whatever it is: one that cannot be decoded names no process.
#[derive(Clone, Debug)]
pub(super) struct ProcessId(pub(super) String);

/// A process that a chat may see.
#[derive(Debug)]
pub(super) struct Found {
    /// Its owner.
    pub(super) owner: Option<ChatId>,
    pub(super) info: Info,
}

impl ProcessId {
    /// Returns the process, if the chat may see it: a chat sees the processes that it started, and those that were started for
    /// no chat. A client that names no chat sees all processes.
    pub(super) async fn find(
        &self,
        workspace: &dyn Workspace,
        chat: &Chat,
    ) -> Result<Found, ApiError> {
        let id = &self.0;
        let found = async {
            let owner = match &chat.id {
                None => workspace.find(id).await?,
                Some(chat) => match workspace.info(Some(chat), id).await {
                    Ok(info) => {
                        let owner = Some(chat.clone());
                        return Ok(Found { owner, info });
                    }
                    Err(_) => None,
                },
            };
            let info = workspace.info(owner.as_ref(), id).await?;
            Ok(Found { owner, info })
        };
        found.await.map_err(|error| ApiError::of_lookup(error, id))
    }

    /// Refuses a process that exists, but that this chat may not see. A process that does not exist is not refused here.
    pub(super) async fn refuse_others(
        &self,
        workspace: &dyn Workspace,
        chat: &Chat,
    ) -> Result<(), ApiError> {
        match self.find(workspace, chat).await {
            Err(refused) if workspace.find(&self.0).await.is_ok() => Err(refused),
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
