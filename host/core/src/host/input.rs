//! Input for a process that comes without a call. What is typed can do as much as a command, so the approval hook is asked as well.

use serde_json::json;
use serde_json::value::to_raw_value;
use toolhost_call::approval::Question;
use toolhost_call::audit::Audited;
use toolhost_call::tool::Hints;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Error, Input, State};

use super::{Actor, Host};

/// The tool that does the same in a call. The hook is asked about it by this name.
pub const INPUT_TOOL: &str = "process_input";

/// The name of the HTTP API in questions to the hook, in the place of a plugin.
pub(super) const INTERFACE: &str = "http-api";

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
        let approval = self.approval();
        if approval.is_configured() && !matches!(input, Input::Resize(_)) {
            let typed = match &input {
                Input::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
                Input::Close | Input::Resize(_) => None,
            };
            let close = matches!(input, Input::Close);
            let arguments = json!({ "process_id": process, "text": typed, "close": close });
            let arguments = to_raw_value(&arguments);
            let arguments = arguments.map_err(|error| Error::Failed(error.to_string()))?;
            let question = Question {
                principal: actor.name(),
                chat: Some(chat.as_str()),
                call: None,
                plugin: INTERFACE,
                tool: INPUT_TOOL,
                hints: Hints::default(),
                arguments: &arguments,
            };
            if let Some(refusal) = approval.ask(&trail, &question).await.refusal() {
                return Err(InputError::NotApproved(refusal));
            }
        }
        let workspace = &self.inner.workspace;
        let audited = Audited::new(self.seen_by(actor, workspace), trail);
        let workspace: &dyn Workspace = &audited;
        Ok(workspace.input(Some(chat), process, input, key).await?)
    }
}
