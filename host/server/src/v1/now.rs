//! Running calls and processes, for any number of readers: one look each second, only while there are readers, which all of them share.
//!
//! A look is published only if something has changed. It is written as JSON once for all readers with the same bounds. So a reader
//! costs nothing while nothing changes, and the copy of some bytes when something does.

mod look;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use look::Look;
pub(crate) use look::wire;
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_http::event_stream::Frames;

/// The time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// The start of a stream: a comment, and how long a client is asked to wait before it connects again.
const BEGIN: &str = ": listening\nretry: 1000\n\n";

/// The last look at a host, which is renewed while it has readers.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    host: Host,
    /// `None` before the first look, and while there are no readers.
    last: Arc<watch::Sender<Option<Arc<Look>>>>,
    /// Whether the task that looks is running.
    is_looking: Arc<Mutex<bool>>,
}

impl Now {
    pub(crate) fn new(host: Host) -> Self {
        Self {
            host,
            last: Arc::new(watch::Sender::new(None)),
            is_looking: Arc::default(),
        }
    }

    /// Adds a reader, who sees what this principal may see. The first event is the last look, or a new one.
    pub(crate) fn read(&self, principal: Principal) -> Reader {
        let looks = self.last.subscribe();
        let mut is_looking = self.is_looking.lock();
        if !std::mem::replace(&mut *is_looking, true) {
            let looking = self.clone().look_while_read();
            tokio::spawn(looking);
        }
        drop(is_looking);
        Reader {
            bounds: principal.bounds(),
            principal,
            host: self.host.clone(),
            looks,
            stopping: self.host.stopping(),
            sent: None,
            began: false,
        }
    }

    /// Looks each second, until there are no readers.
    async fn look_while_read(self) {
        let mut ticks = tokio::time::interval(PERIOD);
        // A look can take longer than a second, when an agent does not answer.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            {
                let mut is_looking = self.is_looking.lock();
                if self.last.receiver_count() == 0 {
                    // The next reader must not get an old look.
                    self.last.send_replace(None);
                    *is_looking = false;
                    return;
                }
            }
            let look = Look::at(&self.host).await;
            self.last.send_if_modified(|last| {
                let is_news = last.as_ref().is_none_or(|last| !last.is_same(&look));
                if is_news {
                    *last = Some(Arc::new(look));
                }
                is_news
            });
        }
    }
}

/// A reader of what runs now.
pub(crate) struct Reader {
    principal: Principal,
    /// The bounds of the principal: readers with the same bounds see the same.
    bounds: String,
    host: Host,
    looks: watch::Receiver<Option<Arc<Look>>>,
    stopping: CancellationToken,
    /// The hash of the content that was sent last.
    sent: Option<blake3::Hash>,
    began: bool,
}

impl Frames for Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.began {
            self.began = true;
            return Some(Bytes::from_static(BEGIN.as_bytes()));
        }
        loop {
            let look = self.look().await?;
            let frame = look.frame(&self.host, &self.principal, &self.bounds).await;
            // A change of something that the reader does not see is no news.
            if self.sent != Some(frame.content) {
                self.sent = Some(frame.content);
                return Some(frame.bytes);
            }
        }
    }
}

impl Reader {
    /// Waits for a look that the reader has not seen; `None` if the host stops.
    async fn look(&mut self) -> Option<Arc<Look>> {
        let waiting = async {
            if self.sent.is_some() {
                self.looks.changed().await.ok()?;
            }
            let look = self.looks.wait_for(Option::is_some).await.ok()?;
            look.clone()
        };
        tokio::select! {
            () = self.stopping.cancelled() => None,
            look = waiting => look,
        }
    }
}
