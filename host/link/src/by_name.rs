//! Agents that connect to a host: to this one, or to another one that this one can reach.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;
use toolhost_state::workspace_name::WorkspaceName;

use crate::dialled::Dialled;
use crate::roots::Roots;
use crate::route::Route;
use crate::through::{Passage, Through};
use crate::transport::{SendError, Transport};

/// How long one attempt waits for an agent that is not connected. It is tried again after that.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

/// The agent of a name, whichever connection it has.
#[derive(Debug)]
pub(crate) struct ByName {
    pub(crate) name: WorkspaceName,
    pub(crate) dialled: Arc<Dialled>,
    pub(crate) roots: Arc<Roots>,
    /// The way through another host that was used last.
    pub(crate) through: Mutex<Option<(Passage, Arc<Through>)>>,
}

impl ByName {
    /// Returns the way through the host that the agent is connected to, if it is another one.
    async fn elsewhere(&self) -> Option<Arc<dyn Transport>> {
        let passage = self.dialled.passages()?.find(&self.name).await?;
        let mut known = self.through.lock();
        if let Some((last, through)) = &*known
            && *last == passage
        {
            return Some(Arc::clone(through) as Arc<dyn Transport>);
        }
        let through = Through::new(&self.name, &passage, &self.roots);
        let through = through.inspect_err(|error| {
            let host = &passage.host;
            tracing::warn!(agent = %self.name, host, %error, "the agent cannot be used through its host");
        });
        let through = Arc::new(through.ok()?);
        *known = Some((passage, Arc::clone(&through)));
        Some(through)
    }
}

impl Route for ByName {
    fn find<'a>(
        &'a self,
        failed: Option<&'a Arc<dyn Transport>>,
    ) -> BoxFuture<'a, Result<Arc<dyn Transport>, SendError>> {
        Box::pin(async move {
            let mut arrivals = self.dialled.arrivals();
            let good = || {
                let found = self.dialled.get(&self.name)?;
                let is_other = failed.is_none_or(|failed| !Arc::ptr_eq(failed, &found));
                is_other.then_some(found)
            };
            let arriving = async {
                loop {
                    if let Some(found) = good() {
                        return found;
                    }
                    if arrivals.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            };
            // The store may be slow, while the agent comes back here.
            let found = timeout(CONNECTS_WITHIN, async {
                tokio::select! {
                    biased;
                    found = arriving => found,
                    Some(found) = self.elsewhere(), if self.dialled.reaches_elsewhere() => found,
                }
            });
            if let Ok(found) = found.await {
                return Ok(found);
            }
            // The same connection may have become good again.
            self.dialled.get(&self.name).ok_or_else(|| {
                SendError::NotSent(format!(
                    "the agent {:?} is not connected: start it with `toolhost-agent --connect` and this name",
                    self.name.as_str()
                ))
            })
        })
    }

    fn is_there(&self) -> bool {
        self.dialled.has(&self.name)
    }

    fn arrives(&self) -> BoxFuture<'_, ()> {
        let mut arrivals = self.dialled.arrivals();
        Box::pin(async move {
            while arrivals.changed().await.is_ok() {
                if self.dialled.has(&self.name) {
                    return;
                }
            }
            std::future::pending().await
        })
    }
}
