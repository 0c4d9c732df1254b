//! The chats of a server.

use anyhow::Context as _;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;

use super::Server;

/// A page of chats, and the place of the next one.
#[derive(Debug, Deserialize)]
struct Page {
    chats: Vec<Value>,
    #[serde(default)]
    next: Option<String>,
}

/// A chat, as far as a table shows it.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Chat {
    pub(in crate::cli) chat: String,
    pub(in crate::cli) running: u64,
    #[serde(default)]
    pub(in crate::cli) workspace: Option<String>,
    #[serde(default)]
    pub(in crate::cli) token: Option<String>,
    #[serde(default)]
    pub(in crate::cli) last_call_at_unix_ms: Option<u64>,
    #[serde(default)]
    pub(in crate::cli) ended_at_unix_ms: Option<u64>,
}

impl Server {
    /// Returns all chats whose names begin so, as the server describes them.
    pub(in crate::cli) async fn chats(&self, prefix: &str) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut url = self.place.url(&["v1", "chats"]);
            url.query_pairs_mut()
                .append_pair("prefix", prefix)
                .append_pair("limit", "500")
                .extend_pairs(after.iter().map(|after| ("after", after)));
            let answer = self.send(Method::GET, url, None).await?;
            let page: Page = answer
                .json()
                .context("the server's answer is no list of chats")?;
            all.extend(page.chats);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }
}
