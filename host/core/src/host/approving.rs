//! The approval hook for changes that clients make without a call.

use serde_json::Value;
use serde_json::value::to_raw_value;
use toolhost_call::approval::Question;
use toolhost_call::audit::Trail;
use toolhost_call::tool::Hints;
use toolhost_state::id::ChatId;

use super::{Actor, Host};

/// The name of the HTTP API in questions to the hook, in the place of a plugin.
pub(super) const INTERFACE: &str = "http-api";

impl Host {
    /// Asks the hook, if there is one, about a change that is like a call of this tool with these arguments.
    ///
    /// # Errors
    ///
    /// The reason of the refusal.
    pub(super) async fn approve(
        &self,
        trail: &Trail,
        (chat, actor): (&ChatId, &Actor),
        tool: &str,
        arguments: &Value,
    ) -> Result<(), String> {
        let approval = self.approval();
        if !approval.is_configured() {
            return Ok(());
        }
        let arguments = to_raw_value(arguments).map_err(|error| error.to_string())?;
        let question = Question {
            principal: actor.name(),
            chat: Some(chat.as_str()),
            call: None,
            plugin: INTERFACE,
            tool,
            hints: Hints::default(),
            arguments: &arguments,
        };
        let answer = approval.ask(trail, &question).await;
        answer.refusal().map_or(Ok(()), Err)
    }
}
