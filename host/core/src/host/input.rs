//! Input for a process that comes without a call. What is typed can do as much as a command, so the approval hook is asked as well.

use serde_json::json;
use toolhost_call::audit::Audited;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Error, Input, State};

use super::{Actor, Host};

/// The tool that does the same in a call. The hook is asked about it by this name.
pub const INPUT_TOOL: &str = "process_input";

/// Why an input was not written.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The approval hook refused it. Nothing was written.
    #[error("{0}")]
    NotApproved(String),
    /// There is no such process for the actor, it takes no such input, or the workspace cannot be reached.
    #[error(transparent)]
    Process(#[from] Error),
}

impl Host {
    /// Writes to the standard input of a process, ends it, or changes the size of its terminal, and returns the state of the process
    /// afterwards. A repeat with the same key does nothing.
    ///
    /// # Errors
    ///
    /// See [`InputError`].
    pub async fn input(
        &self,
        chat: &ChatId,
        process: &str,
        input: Input,
        key: Option<String>,
        actor: &Actor,
    ) -> Result<State, InputError> {
        let trail = self.trail_of(chat, actor);
        if self.approval().is_configured() && !matches!(input, Input::Resize(_)) {
            let typed = match &input {
                Input::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
                Input::Close | Input::Resize(_) => None,
            };
            let close = matches!(input, Input::Close);
            let arguments = json!({ "process_id": process, "text": typed, "close": close });
            let approved = self.approve(&trail, (chat, actor), INPUT_TOOL, &arguments);
            approved.await.map_err(InputError::NotApproved)?;
        }
        let workspace = &self.inner.workspace;
        let audited = Audited::new(self.seen_by(actor, workspace), trail);
        let workspace: &dyn Workspace = &audited;
        Ok(workspace.input(Some(chat), process, input, key).await?)
    }
}
