//! A client for server-sent events that comes back where it was when it loses its connection.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;

use super::*;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Event {
    pub(crate) fn is(&self, name: &str, field: &str, value: &str) -> bool {
        self.name == name && self.data[field] == value
    }

    /// The bytes of output.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = match (self.data["text"].as_str(), self.data["base64"].as_str()) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(text)) => STANDARD.decode(text).unwrap(),
            _ => panic!("{self:?}"),
        };
        assert_eq!(self.data["length"], bytes.len());
        bytes
    }
}

/// A stream of events.
pub(crate) struct Stream {
    response: Response,
    /// What is not an event yet, and how much of it was looked through.
    bytes: Vec<u8>,
    seen: usize,
}

impl Stream {
    /// Follows a chat; `query` begins with `?`, or is empty.
    pub(crate) async fn open(server: &Server, chat: &str, query: &str) -> Self {
        Self::resume(server, chat, query, "").await
    }

    /// Follows a chat after an event.
    pub(crate) async fn resume(server: &Server, chat: &str, query: &str, last: &str) -> Self {
        let path = format!("/v1/chats/{chat}/events{query}");
        let request = server.request(Method::GET, &path);
        let response = request.header("Last-Event-ID", last).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers["content-type"], "text/event-stream");
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["x-accel-buffering"], "no");
        let mut stream = Self {
            response,
            bytes: Vec::new(),
            seen: 0,
        };
        let first = stream.block().await.unwrap();
        assert_eq!(first, ": listening\nretry: 1000\n\n");
        stream
    }

    async fn block(&mut self) -> Option<String> {
        loop {
            let new = self.bytes.get(self.seen..).unwrap_or_default();
            if let Some(end) = new.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.bytes.split_off(self.seen + end + 2);
                let block = std::mem::replace(&mut self.bytes, rest);
                self.seen = 0;
                return Some(String::from_utf8(block).unwrap());
            }
            self.seen = self.bytes.len().saturating_sub(1);
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk());
            let bytes = chunk.await.expect("no event comes").ok()??;
            self.bytes.extend_from_slice(&bytes);
        }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            if block.starts_with(':') {
                continue;
            }
            let field = |name: &str| {
                let value = block.lines().find_map(|line| line.strip_prefix(name));
                value.unwrap_or_else(|| panic!("{block}")).trim().to_owned()
            };
            return Some(Event {
                name: field("event:"),
                id: field("id:"),
                data: serde_json::from_str(&field("data:")).unwrap(),
            });
        }
    }

    /// The events up to the first that is like this, with it.
    pub(crate) async fn until(&mut self, like: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.expect("the stream ended");
            let found = like(&event);
            events.push(event);
            if found {
                return events;
            }
        }
    }

    /// All events up to the end of the stream.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

pub(crate) fn names(events: &[Event]) -> Vec<&str> {
    let mut names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    // However many pieces it comes in.
    names.dedup_by(|one, other| one == other && *one == "output");
    names
}

/// Puts together the output of the one process in these events. What is missing is zeros; returns how much that is as well.
pub(crate) fn output(events: &[Event]) -> (Vec<u8>, u64) {
    let (mut bytes, mut missing) = (Vec::new(), 0);
    for event in events {
        match event.name.as_str() {
            "output" => {
                assert_eq!(event.data["offset"], bytes.len(), "{event:?}");
                bytes.extend(event.bytes());
            }
            "gap" => {
                assert_eq!(event.data["offset"], bytes.len(), "{event:?}");
                let length = event.data["length"].as_u64().unwrap();
                bytes.resize(bytes.len() + usize::try_from(length).unwrap(), 0);
                missing += length;
            }
            _ => {}
        }
    }
    (bytes, missing)
}
