//! Replay: the events sent on the streams of sessions, kept for clients that lose a stream and resume it.
//!
//! `rmcp` forgets a stream with its reply, whether or not the client got it. Its `EventStore` learns neither the session of a
//! stream nor the end of a cancelled one. It also lets a client that does not read hold up its whole session. So this module
//! keeps the events of each stream as they come, and clients read the kept events.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use parking_lot::Mutex;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::event_id::Place;

/// How long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// The maximum bytes kept of streams that have ended: for one session, and for all sessions.
const BYTES_EACH: usize = 16 << 20;
const BYTES: usize = 64 << 20;

/// The maximum number of messages kept of a stream. Of progress notifications, only the last matters.
const MESSAGES: usize = 64;

/// The bytes that a stream takes besides its messages: its own state, and its entries in [`Kept`].
const STREAM: usize = 1 << 10;

/// The bytes that a message takes besides its text: a message is large, and made of many parts.
const MESSAGE: usize = 1 << 10;

/// The streams of all sessions.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<HashMap<SessionId, Kept>>);

/// The kept streams of one session.
#[derive(Debug, Default)]
struct Kept {
    /// The streams, by the number that `rmcp` gave to the request.
    streams: HashMap<u64, Arc<Recorded>>,
    /// The streams that have ended, in the order of their ends.
    ended: VecDeque<Ended>,
    /// The total bytes of the ended streams.
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    number: u64,
    bytes: usize,
    at: Instant,
}

/// A recorded stream.
#[derive(Debug, Default)]
pub(super) struct Recorded(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    /// The last messages of the stream.
    messages: VecDeque<ServerSseMessage>,
    /// The number of earlier messages, which are dropped.
    dropped: u64,
    ended: bool,
}

impl Replays {
    /// Begins to record a stream.
    pub(super) fn begin(&self, session: &SessionId, number: u64) -> Arc<Recorded> {
        let recorded = Arc::<Recorded>::default();
        let mut all = self.0.lock();
        let kept = all.entry(Arc::clone(session)).or_default();
        kept.streams.insert(number, Arc::clone(&recorded));
        recorded
    }

    /// Returns a kept stream.
    pub(super) fn find(&self, session: &SessionId, number: u64) -> Option<Arc<Recorded>> {
        let mut all = self.0.lock();
        for kept in all.values_mut() {
            let is_old = |ended: &Ended| ended.at.elapsed() >= KEPT;
            while kept.ended.front().is_some_and(is_old) {
                kept.forget_oldest();
            }
        }
        all.get(session)?.streams.get(&number).cloned()
    }

    /// Returns whether the stream has or may yet get events after this place.
    pub(super) fn goes_on(&self, session: &SessionId, place: Place) -> bool {
        let Place::Request(index, number) = place else {
            return true;
        };
        self.find(session, number).is_some_and(|recorded| {
            let state = recorded.0.borrow();
            !state.ended || state.from(index.saturating_add(1)).is_some()
        })
    }

    /// Marks a stream as ended, and forgets the oldest ended streams while they exceed the byte limits.
    pub(super) fn end(&self, session: &SessionId, number: u64) {
        // The session may have ended before.
        let Some(recorded) = self.find(session, number) else {
            return;
        };
        // `end` measures all messages of the stream. Other streams need not wait for that, so the lock is not held here.
        let bytes = recorded.end();
        let mut all = self.0.lock();
        if let Some(kept) = all.get_mut(session) {
            let at = Instant::now();
            kept.ended.push_back(Ended { number, bytes, at });
            kept.bytes += bytes;
            while kept.bytes > BYTES_EACH {
                kept.forget_oldest();
            }
        }
        while all.values().map(|kept| kept.bytes).sum::<usize>() > BYTES {
            let with_ended = all.values_mut().filter(|kept| !kept.ended.is_empty());
            let oldest = with_ended.min_by_key(|kept| kept.ended.front().map(|ended| ended.at));
            oldest.map(Kept::forget_oldest);
        }
        all.retain(|_, kept| !kept.streams.is_empty());
    }

    /// Forgets the streams of a session.
    pub(super) fn forget(&self, session: &SessionId) {
        let kept = self.0.lock().remove(session);
        for recorded in kept.iter().flat_map(|kept| kept.streams.values()) {
            // The readers of the stream get no more events.
            recorded.end();
        }
    }
}

impl Kept {
    /// Forgets the stream that ended first, if there is one.
    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.ended.pop_front() {
            self.streams.remove(&oldest.number);
            self.bytes -= oldest.bytes;
        }
    }
}

impl Recorded {
    /// Adds an event of the stream.
    pub(super) fn push(&self, message: ServerSseMessage) {
        self.0.send_modify(|state| {
            state.messages.push_back(message);
            if state.messages.len() > MESSAGES {
                state.messages.pop_front();
                state.dropped += 1;
            }
        });
    }

    /// Reads the events from this number on, then the events that are still to come.
    pub(super) fn read(
        &self,
        next: u64,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        stream::unfold((self.0.subscribe(), next), async |(mut states, next)| {
            let ready = |state: &State| state.ended || state.from(next).is_some();
            let (number, message) = {
                let state = states.wait_for(ready).await.ok()?;
                let (number, message) = state.from(next)?;
                (number, message.clone())
            };
            Some((message, (states, number + 1)))
        })
    }

    /// Ends the stream, and returns about how many bytes it holds.
    fn end(&self) -> usize {
        self.0.send_modify(|state| state.ended = true);
        let size = |message: &ServerSseMessage| {
            let text = serde_json::to_string(message.message.as_deref()?);
            Some(text.ok()?.len())
        };
        let state = self.0.borrow();
        let messages = state.messages.iter();
        let sizes = messages.map(|message| MESSAGE + size(message).unwrap_or_default());
        STREAM + sizes.sum::<usize>()
    }
}

impl State {
    /// Returns the first kept message from this number on, with its number.
    fn from(&self, next: u64) -> Option<(u64, &ServerSseMessage)> {
        let number = next.max(self.dropped);
        let index = usize::try_from(number - self.dropped).ok()?;
        Some((number, self.messages.get(index)?))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use rmcp::ErrorData;
    use rmcp::model::ServerJsonRpcMessage;

    use super::*;

    fn message(index: u64, bytes: usize) -> ServerSseMessage {
        let error = ErrorData::internal_error("x".repeat(bytes), None);
        ServerSseMessage::new(
            format!("{index}/7"),
            ServerJsonRpcMessage::error(error, None),
        )
    }

    async fn ids(recorded: Arc<Recorded>, next: u64) -> Vec<String> {
        let read = recorded.read(next);
        read.map(|message| message.event_id.unwrap())
            .collect()
            .await
    }

    #[tokio::test]
    async fn a_stream_is_read_from_anywhere_also_after_its_end() {
        let (replays, session) = (Replays::default(), SessionId::from("a"));
        let recorded = replays.begin(&session, 7);
        recorded.push(message(0, 1));
        let early = tokio::spawn(ids(Arc::clone(&recorded), 0));
        recorded.push(message(1, 1));
        let goes_on = |place| replays.goes_on(&session, place);
        assert!(goes_on(Place::Request(1, 7)), "it has not ended");
        replays.end(&session, 7);
        assert!(goes_on(Place::Request(0, 7)) && !goes_on(Place::Request(1, 7)));
        assert!(goes_on(Place::Standalone(3)) && !goes_on(Place::Request(0, 8)));
        assert_eq!(early.await.unwrap(), ["0/7", "1/7"]);
        let found = || replays.find(&session, 7).unwrap();
        assert_eq!(ids(found(), 1).await, ["1/7"]);
        assert_eq!(ids(found(), u64::MAX).await, [""; 0]);
        assert!(replays.find(&SessionId::from("b"), 7).is_none());
        replays.forget(&session);
        assert!(replays.find(&session, 7).is_none());
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let replays = Replays::default();
        let session = |name: usize| SessionId::from(name.to_string());
        for name in 0..5 {
            for number in 0..3 {
                let recorded = replays.begin(&session(name), number);
                recorded.push(message(0, 7 << 20));
                replays.end(&session(name), number);
            }
        }
        let found = |name, number| replays.find(&session(name), number).is_some();
        assert!(!found(4, 0) && found(4, 1) && found(4, 2));
        assert!(!found(0, 1) && found(0, 2), "63 MiB fit, and 70 do not");
        let recorded = replays.begin(&session(9), 0);
        for index in 0..1000 {
            recorded.push(message(index, 1));
        }
        assert_eq!(recorded.0.borrow().messages.len(), MESSAGES);
    }

    #[tokio::test]
    async fn short_streams_count_for_what_they_take() {
        let replays = Replays::default();
        let session = |name: usize| SessionId::from(name.to_string());
        let most = BYTES_EACH / (STREAM + MESSAGE);
        for number in 0..2 * most as u64 {
            for name in 0..2 {
                let recorded = replays.begin(&session(name), number);
                recorded.push(message(0, 1));
                replays.end(&session(name), number);
            }
        }
        let all = replays.0.lock();
        assert_eq!(all.len(), 2);
        for kept in all.values() {
            assert!((most / 2..=most).contains(&kept.streams.len()));
            assert_eq!(kept.streams.len(), kept.ended.len());
            let bytes = kept.ended.iter().map(|ended| ended.bytes);
            assert_eq!(bytes.sum::<usize>(), kept.bytes);
        }
        drop(all);
        // A stream that goes on is forgotten with its session as well, and so are all counts.
        replays.begin(&session(0), u64::MAX);
        replays.forget(&session(0));
        replays.forget(&session(1));
        assert!(replays.0.lock().is_empty());
    }
}
