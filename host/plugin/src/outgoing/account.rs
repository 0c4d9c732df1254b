//! The quota of a call for requests and bytes, and its use.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::Limit;
use super::observer::Observer;
use toolhost_call::metrics::LimitKind;

/// The most that one call may send and receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Requests, refused ones included.
    pub requests: u32,
    /// Bytes of all requests and responses, headers included.
    pub bytes: u64,
    /// Requests at the same time. More wait, for as long as a connection may take.
    pub concurrent: usize,
}

/// The requests and bytes that one call has sent and received.
#[derive(Debug)]
pub(super) struct Account {
    quota: Quota,
    requests: AtomicU32,
    /// Bytes in both directions.
    bytes: AtomicU64,
    sent: AtomicU64,
    reached: OnceLock<Limit>,
    observer: Arc<dyn Observer>,
}

/// Reports the bytes to the observer, once the session and all of its connections are gone.
impl Drop for Account {
    fn drop(&mut self) {
        let (all, sent) = (*self.bytes.get_mut(), *self.sent.get_mut());
        if all > 0 {
            self.observer.ended(sent, all.saturating_sub(sent));
        }
    }
}

impl Account {
    pub(super) fn new(quota: Quota, observer: Arc<dyn Observer>) -> Self {
        Self {
            quota,
            requests: AtomicU32::new(0),
            bytes: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            reached: OnceLock::new(),
            observer,
        }
    }

    /// Returns the limit that was reached first.
    pub(super) fn reached(&self) -> Option<Limit> {
        self.reached.get().copied()
    }

    /// Counts a request, if the quota has one left.
    pub(super) fn request(&self) -> Result<(), Limit> {
        let taken = self
            .requests
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |requests| {
                (requests < self.quota.requests).then_some(requests + 1)
            });
        match taken {
            Ok(_) => Ok(()),
            Err(_) => Err(self.refuse(LimitKind::HttpRequests, self.quota.requests.into())),
        }
    }

    /// Counts bytes that were sent or received.
    fn bytes(&self, count: usize) -> Result<(), Limit> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let before = self.bytes.fetch_add(count, Ordering::Relaxed);
        if before.saturating_add(count) > self.quota.bytes {
            return Err(self.refuse(LimitKind::HttpBytes, self.quota.bytes));
        }
        Ok(())
    }

    /// Returns how many bytes are left.
    fn left(&self) -> u64 {
        self.quota
            .bytes
            .saturating_sub(self.bytes.load(Ordering::Relaxed))
    }

    fn refuse(&self, kind: LimitKind, most: u64) -> Limit {
        let limit = Limit { kind, most };
        *self.reached.get_or_init(|| limit)
    }
}

/// A connection whose bytes are counted, and which fails once they are too many.
#[derive(Debug)]
pub(super) struct Counted<S> {
    stream: S,
    account: Arc<Account>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, account: Arc<Account>) -> Self {
        Self { stream, account }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let count = buffer.filled().len().saturating_sub(before);
        Poll::Ready(this.account.bytes(count).map_err(io::Error::other))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let left = usize::try_from(this.account.left()).unwrap_or(usize::MAX);
        if left == 0 && !bytes.is_empty() {
            // The guest asks to send one byte too many: this write reaches the limit.
            let limit = this
                .account
                .refuse(LimitKind::HttpBytes, this.account.quota.bytes);
            return Poll::Ready(Err(io::Error::other(limit)));
        }
        let bytes = bytes.get(..left).unwrap_or(bytes);
        let count = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        this.account.sent.fetch_add(count as u64, Ordering::Relaxed);
        Poll::Ready(
            this.account
                .bytes(count)
                .map(|()| count)
                .map_err(io::Error::other),
        )
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use parking_lot::Mutex;

    use super::*;
    use crate::outgoing::{Destination, SendError};

    #[derive(Debug, Default)]
    struct Told(Mutex<Vec<(u64, u64)>>);

    impl Observer for Told {
        fn sent(&self, _: &str, _: &Destination, _: Option<u16>) {}

        fn denied(&self, _: &Destination, _: &SendError) {}

        fn ended(&self, sent: u64, received: u64) {
            self.0.lock().push((sent, received));
        }
    }

    fn quota() -> Quota {
        Quota {
            requests: 2,
            bytes: 10,
            concurrent: 1,
        }
    }

    #[test]
    fn requests_are_counted() {
        let told = Arc::new(Told::default());
        let account = Account::new(quota(), Arc::clone(&told) as Arc<dyn Observer>);
        assert!(account.request().is_ok() && account.request().is_ok());
        assert_eq!(account.reached(), None);
        assert_eq!(
            account.request().unwrap_err().to_string(),
            "limit of 2 HTTP requests for one call reached"
        );
        assert_eq!(
            account.reached().map(|limit| limit.kind),
            Some(LimitKind::HttpRequests)
        );
        drop(account);
        assert!(told.0.lock().is_empty());
    }

    #[tokio::test]
    async fn bytes_of_both_directions_are_counted() {
        let told = Arc::new(Told::default());
        let account = Account::new(quota(), Arc::clone(&told) as Arc<dyn Observer>);
        let account = Arc::new(account);
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut counted = Counted::new(ours, Arc::clone(&account));
        counted.write_all(b"12345").await.unwrap();
        theirs.write_all(b"12345").await.unwrap();
        counted.read_exact(&mut [0; 5]).await.unwrap();
        assert_eq!(account.reached(), None);
        let error = counted.write(b"6").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "limit of 10 bytes of HTTP for one call reached"
        );
        theirs.write_all(b"6").await.unwrap();
        assert!(counted.read_exact(&mut [0; 1]).await.is_err());
        assert_eq!(
            account.reached().map(|limit| limit.kind),
            Some(LimitKind::HttpBytes)
        );
        drop(counted);
        let mut written = Vec::new();
        theirs.read_to_end(&mut written).await.unwrap();
        assert_eq!(written, b"12345");
        drop(account);
        assert_eq!(*told.0.lock(), [(5, 6)]);
    }
}
