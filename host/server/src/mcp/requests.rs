//! The requests of a client that have no reply yet. Their number is bounded.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::RequestId;
use tokio::sync::watch;

/// The maximum number of requests without a reply. A call also takes a place of the host's; this limit bounds all other
/// requests.
const MAX_REQUESTS: usize = 1024;

/// The ids of requests without a reply. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<watch::Sender<HashSet<RequestId>>>);

impl Requests {
    /// Waits until each request has its reply.
    pub(super) async fn answered(&self) {
        _ = self.0.subscribe().wait_for(HashSet::is_empty).await;
    }

    /// Registers a request, or returns why it cannot begin.
    pub(super) fn admit(&self, id: &RequestId) -> Result<(), &'static str> {
        let mut admitted = Ok(());
        self.0.send_if_modified(|open| {
            if open.contains(id) {
                admitted = Err("the id of this request is that of another, which has no reply yet");
            } else if open.len() >= MAX_REQUESTS {
                admitted = Err("too many requests have no reply yet");
            }
            admitted.is_ok() && open.insert(id.clone())
        });
        admitted
    }

    /// Notes that a request has its reply, or gets none.
    pub(super) fn remove(&self, id: &RequestId) {
        self.0.send_if_modified(|open| open.remove(id));
    }
}
