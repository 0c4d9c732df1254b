//! The stream of the events of a chat.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use reqwest::{Body, Method};
use serde_json::Value;
use sse_stream::SseStream;

use super::Server;
use toolhost_state::id::{CallId, ChatId};

/// An open stream of events.
pub(in crate::cli) struct Events(SseStream<Body>);

/// One event: its name, and its data.
#[derive(Debug)]
pub(in crate::cli) struct Heard {
    pub(in crate::cli) name: String,
    data: Value,
}

impl Server {
    /// Follows a chat, from now on: of one call, or all of it.
    pub(in crate::cli) async fn events(
        &self,
        chat: &ChatId,
        call: Option<&CallId>,
    ) -> anyhow::Result<Events> {
        let mut url = self.place.url(&["v1", "chats", chat.as_str(), "events"]);
        if let Some(call) = call {
            url.query_pairs_mut().append_pair("call", call.as_str());
        }
        self.stream(url).await
    }

    /// Opens a stream of events.
    pub(super) async fn stream(&self, url: reqwest::Url) -> anyhow::Result<Events> {
        let answer = self.open(Method::GET, url, None, Some("text/event-stream"));
        Ok(Events(SseStream::new(Body::from(answer.await?))))
    }
}

impl Events {
    /// Returns the next event; `None` when the server has ended the stream.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub(in crate::cli) async fn next(&mut self) -> anyhow::Result<Option<Heard>> {
        while let Some(event) = self.0.next().await {
            let event = event.context("the events of the server cannot be read")?;
            let (Some(name), Some(data)) = (event.event, event.data) else {
                continue;
            };
            let data = serde_json::from_str(&data).context("an event of the server is no JSON")?;
            return Ok(Some(Heard { name, data }));
        }
        Ok(None)
    }
}

impl Heard {
    /// Returns a text of the data.
    pub(in crate::cli) fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key)?.as_str()
    }

    /// Returns a number of the data.
    pub(in crate::cli) fn number(&self, key: &str) -> Option<u64> {
        self.data.get(key)?.as_u64()
    }

    /// Returns a number of the data that may have a fraction.
    pub(in crate::cli) fn fraction(&self, key: &str) -> Option<f64> {
        self.data.get(key)?.as_f64()
    }

    /// Returns the data.
    pub(in crate::cli) fn into_data(self) -> Value {
        self.data
    }

    /// Returns where output begins, and its bytes; `None` if this is no output.
    pub(in crate::cli) fn output(&self) -> Option<(u64, Vec<u8>)> {
        if self.name != "output" {
            return None;
        }
        let bytes = match (self.text("text"), self.text("base64")) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(text)) => STANDARD.decode(text).ok()?,
            (None, None) => return None,
        };
        Some((self.number("offset")?, bytes))
    }
}
