//! The route to an agent.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::transport::{SendError, Transport};

/// Finds the present way to one agent.
pub(crate) trait Route: fmt::Debug + Send + Sync {
    /// Returns the way. `failed` is the one that a request has just failed on: the agent may have another one now.
    fn find<'a>(
        &'a self,
        failed: Option<&'a Arc<dyn Transport>>,
    ) -> BoxFuture<'a, Result<Arc<dyn Transport>, SendError>>;

    /// Returns whether the agent is known to be connected.
    fn is_there(&self) -> bool {
        false
    }

    /// Returns when the agent has connected anew, if that is ever known.
    fn arrives(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// A way that never changes.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Arc<dyn Transport>);

impl Route for Fixed {
    fn find<'a>(
        &'a self,
        _: Option<&'a Arc<dyn Transport>>,
    ) -> BoxFuture<'a, Result<Arc<dyn Transport>, SendError>> {
        Box::pin(async { Ok(Arc::clone(&self.0)) })
    }
}
