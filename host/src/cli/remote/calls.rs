//! Calls that a server remembers.

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Server;
use toolhost_server::ListedCall;
use toolhost_state::id::{CallId, ChatId};

/// The calls to look up.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Filter {
    pub(in crate::cli) chat: Option<ChatId>,
    pub(in crate::cli) call: Option<CallId>,
    pub(in crate::cli) tool: Option<String>,
    pub(in crate::cli) since_ms: Option<u64>,
    /// Whether to leave out calls that are over.
    pub(in crate::cli) running: bool,
    /// Whether to leave out calls that run or succeeded.
    pub(in crate::cli) failed: bool,
    pub(in crate::cli) text: Option<String>,
}

/// A page of calls, and the place of the next one.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Page {
    pub(in crate::cli) calls: Vec<ListedCall>,
    #[serde(default)]
    pub(in crate::cli) next: Option<String>,
}

/// The arguments and the reply of a call as JSON, as far as they are kept.
#[derive(Debug, Default)]
pub(in crate::cli) struct Content {
    pub(in crate::cli) arguments: Option<Box<RawValue>>,
    pub(in crate::cli) reply: Option<Box<RawValue>>,
}

impl Server {
    /// Returns a page of calls, newest first.
    pub(in crate::cli) async fn calls(
        &self,
        filter: &Filter,
        limit: usize,
        after: Option<String>,
    ) -> anyhow::Result<Page> {
        let chat = filter.chat.as_ref().map(|chat| chat.as_str());
        // The list of all chats finds a call by its id.
        let (mut url, prefix) = match (chat, &filter.call) {
            (Some(chat), None) => (self.place.url(&["v1", "chats", chat, "calls"]), None),
            _ => (self.place.url(&["v1", "calls"]), chat),
        };
        let parameters = [
            ("prefix", prefix.map(str::to_owned)),
            ("call", filter.call.as_ref().map(ToString::to_string)),
            ("tool", filter.tool.clone()),
            ("since", filter.since_ms.map(|since| since.to_string())),
            ("state", filter.running.then(|| "running".to_owned())),
            ("success", filter.failed.then(|| "false".to_owned())),
            ("text", filter.text.clone()),
            ("limit", Some(limit.to_string())),
            ("after", after),
        ];
        let given = parameters.into_iter();
        url.query_pairs_mut()
            .extend_pairs(given.filter_map(|(name, value)| Some((name, value?))));
        let answer = self.send(Method::GET, url, None).await?;
        let mut page: Page = answer
            .json()
            .context("the server's answer is no list of calls")?;
        page.calls
            .retain(|call| chat.is_none_or(|chat| chat == call.chat));
        Ok(page)
    }

    /// Returns the arguments and the reply of a call.
    pub(in crate::cli) async fn content(&self, call: &ListedCall) -> anyhow::Result<Content> {
        let path = ["v1", "chats", &call.chat, "calls", &call.id];
        let mut content = Content::default();
        if call.arguments_bytes.is_some() {
            let url = self.place.url(&[&path[..], &["arguments"]].concat());
            let answer = self.send(Method::GET, url, None).await?;
            if answer.status != StatusCode::NO_CONTENT {
                let arguments = answer.json().context("the server's answer is not JSON")?;
                content.arguments = Some(arguments);
            }
        }
        if call.reply_bytes.is_some() {
            let answer = self.send(Method::GET, self.place.url(&path), None).await?;
            let reply = answer.json().context("the server's answer is not JSON")?;
            content.reply = Some(reply);
        }
        Ok(content)
    }
}
