//! The requests of a client that have no reply yet. Their number is bounded.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::RequestId;
use tokio::sync::watch;

/// The maximum number of requests without a reply. A call also takes a place of the host's; this limit bounds all other
/// requests.
const MAX_REQUESTS: usize = 1024;

/// The requests without a reply. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<watch::Sender<Open>>);

#[derive(Debug, Default)]
struct Open {
    /// The ids of requests whose replies are not made yet.
    ids: HashSet<RequestId>,
    /// The number of replies that are being written.
    writing: usize,
}

/// A reply that is being written, until this is dropped.
#[derive(Debug)]
pub(super) struct Reply(Requests);

impl Requests {
    /// Waits until each request has its reply.
    pub(super) async fn answered(&self) {
        let all = |open: &Open| open.ids.is_empty() && open.writing == 0;
        _ = self.0.subscribe().wait_for(all).await;
    }

    /// Registers a request, or returns why it cannot begin.
    pub(super) fn admit(&self, id: &RequestId) -> Result<(), &'static str> {
        let mut admitted = Ok(());
        self.0.send_if_modified(|open| {
            if open.ids.contains(id) {
                admitted = Err("the id of this request is that of another, which has no reply yet");
            } else if open.ids.len() + open.writing >= MAX_REQUESTS {
                admitted = Err("too many requests have no reply yet");
            }
            admitted.is_ok() && open.ids.insert(id.clone())
        });
        admitted
    }

    /// Frees the id of a request whose reply is about to be written. Returns `None` if there is no such request.
    pub(super) fn reply(&self, id: &RequestId) -> Option<Reply> {
        let is_open = self.0.send_if_modified(|open| {
            let is_open = open.ids.remove(id);
            open.writing += usize::from(is_open);
            is_open
        });
        is_open.then(|| Reply(self.clone()))
    }

    /// Notes that a request gets no reply.
    pub(super) fn remove(&self, id: &RequestId) {
        self.0.send_if_modified(|open| open.ids.remove(id));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| open.writing -= 1);
    }
}
