//! Replay: the events sent on the streams of sessions, kept for clients that lose a stream and resume it.
//!
//! `rmcp` forgets a stream with its reply, whether or not the client got it. So this module reads each stream as it comes and
//! keeps its events, and clients read the kept events.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use parking_lot::{Mutex, MutexGuard};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// The maximum bytes kept of streams that have ended: for one session, and for all sessions.
const BYTES_EACH: usize = 16 << 20;
const BYTES: usize = 64 << 20;

/// The maximum number of messages kept of a stream. Of progress notifications, only the last matters.
const MESSAGES: usize = 64;

/// The bytes that a stream takes besides its messages: its own state, and its entries in [`Replays`].
const STREAM: usize = 1 << 10;

/// The bytes that a message takes besides its text: a message is large, and made of many parts.
const MESSAGE: usize = 1 << 10;

/// The streams of all sessions.
#[derive(Debug, Default)]
pub(super) struct Replays {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<SessionId, Kept>,
    /// The streams that have ended, in the order of their ends.
    ended: BTreeMap<u64, Ended>,
    /// The total bytes of the ended streams.
    bytes: usize,
    /// The number of streams that have ever ended.
    count: u64,
}

/// The kept streams of one session.
#[derive(Debug, Default)]
struct Kept {
    /// The streams, by the number that `rmcp` gave to the request.
    streams: HashMap<u64, Arc<Recorded>>,
    /// The keys of the session's ended streams in [`Inner::ended`], in the order of their ends.
    ended: VecDeque<u64>,
    /// The total bytes of the session's ended streams.
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    session: SessionId,
    number: u64,
    bytes: usize,
    at: Instant,
}

/// A recorded stream.
#[derive(Debug)]
pub(super) struct Recorded {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The messages, each with its number. Clients resume a stream after such a number.
    messages: VecDeque<(u64, ServerSseMessage)>,
    next: u64,
    ended: bool,
}

/// Returns the number of an event and the number of its stream. `None` if the event belongs to no request's stream.
pub(super) fn position(event: &str) -> Option<(u64, u64)> {
    let (index, stream) = event.split_once('/')?;
    Some((index.parse().ok()?, stream.parse().ok()?))
}

impl Replays {
    /// Begins to record a stream.
    pub(super) fn begin(&self, session: &SessionId, number: u64) -> Arc<Recorded> {
        let recorded = Arc::new(Recorded {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let mut inner = self.inner();
        let kept = inner.sessions.entry(Arc::clone(session)).or_default();
        kept.streams.insert(number, Arc::clone(&recorded));
        drop(inner);
        recorded
    }

    /// Returns a kept stream.
    pub(super) fn find(&self, session: &SessionId, number: u64) -> Option<Arc<Recorded>> {
        let mut inner = self.inner();
        inner.forget_old();
        inner.sessions.get(session)?.streams.get(&number).cloned()
    }

    /// Returns whether the stream has or may yet get events after this one.
    pub(super) fn goes_on(&self, session: &SessionId, event: &str) -> bool {
        let Some((index, number)) = position(event) else {
            // The standalone stream of a session has plain numbers, and no end of its own.
            return event.parse::<u64>().is_ok();
        };
        let recorded = self.find(session, number);
        recorded
            .is_some_and(|recorded| !matches!(recorded.from(index.saturating_add(1)), Err(true)))
    }

    /// Marks a stream as ended, and forgets the oldest ended streams while they exceed the byte limits.
    pub(super) fn end(&self, session: &SessionId, number: u64) {
        // The session may have ended before.
        let Some(recorded) = self.find(session, number) else {
            return;
        };
        // `end` measures all messages of the stream. Other streams need not wait for that, so the lock is not held here.
        let bytes = recorded.end();
        let mut inner = self.inner();
        inner.end(session, number, bytes);
        while inner.bytes_of(session) > BYTES_EACH && inner.forget_oldest_of(session) {}
        while inner.bytes > BYTES && inner.forget_oldest() {}
    }

    /// Forgets the streams of a session.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut inner = self.inner();
        while inner.forget_oldest_of(session) {}
        let kept = inner.sessions.remove(session);
        drop(inner);
        for recorded in kept.iter().flat_map(|kept| kept.streams.values()) {
            // The readers of the stream get no more events.
            recorded.end();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Inner {
    fn end(&mut self, session: &SessionId, number: u64, bytes: usize) {
        let Some(kept) = self.sessions.get_mut(session) else {
            return;
        };
        kept.ended.push_back(self.count);
        kept.bytes += bytes;
        let ended = Ended {
            session: Arc::clone(session),
            number,
            bytes,
            at: Instant::now(),
        };
        self.ended.insert(self.count, ended);
        self.bytes += bytes;
        self.count += 1;
    }

    fn bytes_of(&self, session: &SessionId) -> usize {
        self.sessions.get(session).map_or(0, |kept| kept.bytes)
    }

    /// Forgets the stream of a session that ended first. Returns whether there was one.
    fn forget_oldest_of(&mut self, session: &SessionId) -> bool {
        let kept = self.sessions.get_mut(session);
        let Some((kept, ended)) = kept.and_then(|kept| {
            let oldest = kept.ended.pop_front()?;
            Some((kept, self.ended.remove(&oldest)?))
        }) else {
            return false;
        };
        kept.streams.remove(&ended.number);
        kept.bytes -= ended.bytes;
        self.bytes -= ended.bytes;
        if kept.streams.is_empty() {
            self.sessions.remove(session);
        }
        true
    }

    /// Forgets the stream that ended first of all sessions. Returns whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.ended.values().next();
        // The oldest stream of all is also the oldest of its session.
        let session = oldest.map(|ended| Arc::clone(&ended.session));
        session.is_some_and(|session| self.forget_oldest_of(&session))
    }

    fn forget_old(&mut self) {
        let is_old = |ended: &Ended| ended.at.elapsed() >= KEPT;
        while self.ended.values().next().is_some_and(is_old) && self.forget_oldest() {}
    }
}

impl Recorded {
    /// Adds an event of the stream.
    pub(super) fn push(&self, message: ServerSseMessage) {
        let mut state = self.state();
        let said = message.event_id.as_deref().and_then(position);
        let index = said.map_or(state.next, |(index, _)| index);
        state.next = index + 1;
        state.messages.push_back((index, message));
        if state.messages.len() > MESSAGES {
            state.messages.pop_front();
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Reads the events after this number, then the events that are still to come; with `None`, from the beginning.
    pub(super) fn read(
        self: Arc<Self>,
        after: Option<u64>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        let reader = Reader {
            changes: self.changed.subscribe(),
            recorded: self,
            next: after.map_or(0, |after| after.saturating_add(1)),
        };
        stream::unfold(reader, Reader::next)
    }

    /// Ends the stream, and returns how many bytes it holds.
    fn end(&self) -> usize {
        let mut state = self.state();
        state.ended = true;
        let bytes = state.messages.iter().map(|(_, message)| size(message));
        let bytes = bytes.sum::<usize>();
        drop(state);
        self.changed.send_replace(());
        STREAM + bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the first message from this number on. If there is none, the error tells whether the stream has ended.
    fn from(&self, next: u64) -> Result<(u64, ServerSseMessage), bool> {
        let state = self.state();
        let found = state.messages.iter().find(|(index, _)| *index >= next);
        found.cloned().ok_or(state.ended)
    }
}

struct Reader {
    recorded: Arc<Recorded>,
    changes: watch::Receiver<()>,
    next: u64,
}

impl Reader {
    async fn next(mut self) -> Option<(ServerSseMessage, Self)> {
        loop {
            // The mark is set before the look-up, so that an event in between is not missed.
            self.changes.mark_unchanged();
            match self.recorded.from(self.next) {
                Ok((index, message)) => {
                    self.next = index + 1;
                    return Some((message, self));
                }
                Err(true) => return None,
                Err(false) => self.changes.changed().await.ok()?,
            }
        }
    }
}

/// Returns about how many bytes a message holds.
fn size(message: &ServerSseMessage) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(MESSAGE);
    if let Some(message) = &message.message {
        // The counting writer cannot fail. If serializing failed, the bytes counted until then would stand.
        _ = serde_json::to_writer(&mut count, message.as_ref());
    }
    count.0
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

    async fn ids(recorded: Arc<Recorded>, after: Option<u64>) -> Vec<String> {
        let read = recorded.read(after);
        read.map(|message| message.event_id.unwrap())
            .collect()
            .await
    }

    #[tokio::test]
    async fn a_stream_is_read_from_anywhere_also_after_its_end() {
        let (replays, session) = (Replays::default(), SessionId::from("a"));
        let recorded = replays.begin(&session, 7);
        recorded.push(message(0, 1));
        let early = tokio::spawn(ids(Arc::clone(&recorded), None));
        recorded.push(message(1, 1));
        assert!(replays.goes_on(&session, "1/7"), "it has not ended");
        replays.end(&session, 7);
        assert!(replays.goes_on(&session, "0/7") && !replays.goes_on(&session, "1/7"));
        assert!(replays.goes_on(&session, "3") && !replays.goes_on(&session, "x"));
        assert_eq!(early.await.unwrap(), ["0/7", "1/7"]);
        let found = || replays.find(&session, 7).unwrap();
        assert_eq!(ids(found(), Some(0)).await, ["1/7"]);
        assert_eq!(ids(found(), Some(u64::MAX)).await, [""; 0]);
        assert!(replays.find(&SessionId::from("b"), 7).is_none());
        replays.forget(&session);
        assert!(replays.find(&session, 7).is_none());
        assert_eq!(position("1/7"), Some((1, 7)));
        assert_eq!((position("0"), position("x/1")), (None, None));
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
        assert_eq!(recorded.state().messages.len(), MESSAGES);
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
        let inner = replays.inner();
        for kept in inner.sessions.values() {
            assert!((most / 2..=most).contains(&kept.streams.len()));
            assert_eq!(kept.streams.len(), kept.ended.len());
        }
        let counted = |of: Option<&SessionId>| {
            let ended = inner.ended.values();
            let ended = ended.filter(|ended| of.is_none_or(|of| ended.session == *of));
            ended.map(|ended| ended.bytes).sum::<usize>()
        };
        assert_eq!(counted(None), inner.bytes);
        assert_eq!(counted(Some(&session(1))), inner.bytes_of(&session(1)));
        drop(inner);
        // What goes on is forgotten with its session as well, and so is all that counted.
        replays.begin(&session(0), u64::MAX);
        replays.forget(&session(0));
        replays.forget(&session(1));
        let inner = replays.inner();
        assert!(inner.sessions.is_empty() && inner.ended.is_empty());
        assert_eq!(inner.bytes, 0);
    }
}
