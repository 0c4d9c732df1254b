//! Concurrency limits: requests, callers that wait for one call, readers of events, and bytes of bodies. Nothing queues here: a
//! request over a limit is refused, and its client may retry.

mod held;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::Principal;
use super::problem::Problem;
use crate::guarded_body::Holding;
pub use held::Held;
use toolhost_state::id::{CallId, ChatId};

/// The most concurrent requests: of all tokens, and of one. No token can take all permits. A streamed response counts until it
/// has ended.
const REQUESTS: usize = 1024;
const REQUESTS_EACH: usize = 512;

/// The most concurrent requests that only end something, and so free permits: of all tokens, and of one. They come on top of
/// [`REQUESTS`] and [`REQUESTS_EACH`].
const ENDS: usize = 64;
const ENDS_EACH: usize = 16;

/// The most bytes in memory at once: of all tokens, and of one. Bytes of a request body count until the request is answered,
/// and bytes of output that are read for a reply until that is sent.
const BYTES: usize = 256 << 20;
const BYTES_EACH: usize = 128 << 20;

/// The most callers that wait for one call.
const CALLERS: usize = 256;

/// A limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// Too many requests.
    #[error("{0} requests are under way, and no more are taken")]
    Requests(usize),
    /// Too many requests of one token.
    #[error("{0} requests of this token are under way, and no more are taken")]
    RequestsEach(usize),
    /// Too many readers of events.
    #[error("{0} readers of this token follow chats, and no more can: close one first")]
    ReadersEach(usize),
    /// Too many bytes.
    #[error("requests under way hold {0} bytes, and no more are taken")]
    Bytes(usize),
    /// Too many callers of one call.
    #[error("{0} callers wait for this call, and no more can")]
    Callers(usize),
}

impl From<NoRoom> for Problem {
    fn from(error: NoRoom) -> Self {
        Self::busy(error.to_string())
    }
}

/// The concurrency limits of a server. Clones share everything.
#[derive(Clone, Debug)]
pub struct Limits {
    all: Arc<Share>,
    /// The share of each token that has requests in progress, by its name.
    each: Arc<Mutex<HashMap<String, Weak<Share>>>>,
    callers: Callers,
    /// Returns whether a request only ends something. Extra permits are reserved for such requests.
    ends: fn(&Request) -> bool,
}

type Callers = Arc<Mutex<HashMap<(ChatId, CallId), usize>>>;

/// The permits of one token, or of all together.
#[derive(Debug)]
struct Share {
    requests: Arc<Semaphore>,
    ends: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    readers: Arc<Semaphore>,
    most_readers: usize,
}

impl Share {
    fn new(requests: usize, ends: usize, bytes: usize, readers: usize) -> Arc<Self> {
        Arc::new(Self {
            requests: Arc::new(Semaphore::new(requests)),
            ends: Arc::new(Semaphore::new(ends)),
            bytes: Arc::new(Semaphore::new(bytes)),
            readers: Arc::new(Semaphore::new(readers)),
            most_readers: readers,
        })
    }

    fn enter(&self, ends: bool) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.requests).try_acquire_owned().ok();
        let end = || Arc::clone(&self.ends).try_acquire_owned().ok();
        place.or_else(|| ends.then(end).flatten())
    }
}

/// The permit of a request. It is released when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct RequestPermit {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    own: Arc<Share>,
    _requests: [OwnedSemaphorePermit; 2],
}

/// A caller that waits for a call.
#[derive(Debug)]
pub struct Caller {
    callers: Callers,
    key: (ChatId, CallId),
}

impl Limits {
    /// Makes the limits of a server whose events at most `readers` readers follow at once. One token can have half of them.
    /// `ends` returns whether a request only ends something: such a request may pass the limit of the others.
    pub fn new(readers: usize, ends: fn(&Request) -> bool) -> Self {
        Self {
            all: Share::new(REQUESTS, ENDS, BYTES, readers),
            each: Arc::default(),
            callers: Arc::default(),
            ends,
        }
    }

    /// Takes a permit for a request of this token. `ends` says whether the request only ends something.
    fn enter(&self, token: &str, ends: bool) -> Result<RequestPermit, NoRoom> {
        let own = self.share(token);
        let one = own.enter(ends);
        let one = one.ok_or(NoRoom::RequestsEach(REQUESTS_EACH))?;
        let other = self.all.enter(ends).ok_or(NoRoom::Requests(REQUESTS))?;
        let inner = Inner {
            limits: self.clone(),
            own,
            _requests: [one, other],
        };
        Ok(RequestPermit {
            inner: Arc::new(inner),
        })
    }

    /// Runs a request if there is a permit for it, as [`admit`] does.
    pub(super) async fn run(&self, mut request: Request, next: Next) -> Result<Response, Problem> {
        let principal = request.extensions().get::<Principal>();
        let ends = (self.ends)(&request);
        let place = self.enter(principal.map_or("", Principal::name), ends)?;
        request.extensions_mut().insert(place.clone());
        // Yield after each request of a connection. Otherwise a connection that sends hundreds of requests at once runs all of them
        // first.
        tokio::task::yield_now().await;
        let response = next.run(request).await;
        Ok(response.map(|body| Body::new(Holding::new(body, place))))
    }

    fn share(&self, token: &str) -> Arc<Share> {
        let mut each = self.each.lock();
        if let Some(share) = each.get(token).and_then(Weak::upgrade) {
            return share;
        }
        // Tokens come and go with the configuration. The shares of tokens without requests are removed.
        each.retain(|_, share| share.strong_count() > 0);
        let readers = self.all.most_readers.div_ceil(2);
        let share = Share::new(REQUESTS_EACH, ENDS_EACH, BYTES_EACH, readers);
        each.insert(token.to_owned(), Arc::downgrade(&share));
        share
    }
}

impl RequestPermit {
    /// Counts one more reader of events, until the returned permit is dropped.
    pub fn reader(&self) -> Result<OwnedSemaphorePermit, NoRoom> {
        let own = &self.inner.own;
        let reader = Arc::clone(&own.readers).try_acquire_owned();
        reader.map_err(|_| NoRoom::ReadersEach(own.most_readers))
    }

    /// Counts one more caller that waits for a call, until the returned [`Caller`] is dropped.
    pub fn caller(&self, chat: &ChatId, call: &CallId) -> Result<Caller, NoRoom> {
        let callers = Arc::clone(&self.inner.limits.callers);
        let key = (chat.clone(), call.clone());
        {
            let mut counts = callers.lock();
            let count = counts.entry(key.clone()).or_default();
            if *count >= CALLERS {
                return Err(NoRoom::Callers(CALLERS));
            }
            *count += 1;
        }
        Ok(Caller { callers, key })
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut counts = self.callers.lock();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

/// Runs a request if there is a permit for it. The request holds the permit until its response has ended.
pub async fn admit(
    State(limits): State<Limits>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    limits.run(request, next).await
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_leaves_places_to_others() {
        let limits = Limits::new(6, |_| false);
        let mut places: Vec<_> = (0..REQUESTS_EACH)
            .map(|_| limits.enter("a", false).unwrap())
            .collect();
        assert_eq!(
            limits.enter("a", false).unwrap_err(),
            NoRoom::RequestsEach(REQUESTS_EACH)
        );
        // Requests that only end something have permits of their own.
        let ends: Vec<_> = (0..ENDS_EACH)
            .map(|_| limits.enter("a", true).unwrap())
            .collect();
        assert!(limits.enter("a", true).is_err());
        drop(ends);
        places.extend((0..REQUESTS_EACH).map(|_| limits.enter("b", false).unwrap()));
        assert_eq!(
            limits.enter("c", false).unwrap_err(),
            NoRoom::Requests(REQUESTS)
        );
        places.truncate(1);
        assert!(limits.enter("a", false).is_ok() && limits.enter("c", false).is_ok());
        drop(places);
        _ = limits.enter("d", false).unwrap();
        let each = limits.each.lock();
        assert_eq!(each.len(), 1, "the others are forgotten");
    }

    #[test]
    fn readers_of_one_token_leave_places_to_others() {
        let limits = Limits::new(6, |_| false);
        let (one, other) = (
            limits.enter("a", false).unwrap(),
            limits.enter("b", false).unwrap(),
        );
        let readers: Vec<_> = (0..3).map(|_| one.reader().unwrap()).collect();
        assert_eq!(one.reader().unwrap_err(), NoRoom::ReadersEach(3));
        assert!(other.reader().is_ok());
        drop(readers);
        assert!(one.reader().is_ok());
    }

    #[test]
    fn callers_of_one_call_are_counted() {
        let limits = Limits::new(6, |_| false);
        let place = limits.enter("a", false).unwrap();
        let (chat, call) = ("a".parse().unwrap(), "1".parse().unwrap());
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| place.caller(&chat, &call).unwrap())
            .collect();
        assert!(place.caller(&chat, &call).is_err());
        assert!(place.caller(&"b".parse().unwrap(), &call).is_ok());
        drop(callers);
        assert!(limits.callers.lock().is_empty());
    }

    #[test]
    fn bytes_are_counted_and_come_back() {
        let limits = Limits::new(6, |_| false);
        let (one, other) = (
            limits.enter("a", false).unwrap(),
            limits.enter("a", false).unwrap(),
        );
        let mut held = Held::default();
        held.add(&one, BYTES_EACH - 1).unwrap();
        held.add(&one, 1).unwrap();
        assert_eq!(
            Held::default().add(&other, 1),
            Err(NoRoom::Bytes(BYTES_EACH))
        );
        drop(held);
        Held::default().add(&other, BYTES_EACH).unwrap();
    }
}
