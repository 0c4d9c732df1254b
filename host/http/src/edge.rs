//! The edge of a server: the checks that requests pass on their way to its routes, in the same order for every server.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use super::access::{self, Access, Principal};
use super::health::{self, Watched};
use super::limits::{self, Limits};
use super::problem::{self, Problem};
use super::{headers, trace};
use toolhost_call::metrics::Metrics;
use toolhost_workspace::Workspace;

/// The access rules and the limits that all routes of a server share.
#[derive(Clone, Debug)]
pub struct Edge {
    access: Arc<Access>,
    limits: Limits,
}

impl Edge {
    /// Makes the edge of a server.
    pub fn new(access: Access, limits: Limits) -> Self {
        let access = Arc::new(access);
        Self { access, limits }
    }

    /// Returns the routes `/healthz` and `/readyz`, which need no token, and their description. The server is not ready once
    /// `stopping` is cancelled.
    pub fn health(
        &self,
        workspace: Arc<dyn Workspace>,
        stopping: CancellationToken,
    ) -> (Router, OpenApi) {
        let access = Arc::clone(&self.access);
        let watched = Watched {
            access,
            workspace,
            stopping,
        };
        health::routes().with_state(watched).split_for_parts()
    }

    /// Lets requests reach these routes if their client is authenticated and `check` accepts its principal, within the limits. A
    /// client is authenticated before it takes a permit.
    pub fn admit(&self, routes: Router, check: fn(&Principal) -> Result<(), Problem>) -> Router {
        let access = Arc::clone(&self.access);
        let authenticate = move |request: Request, next: Next| {
            let access = Arc::clone(&access);
            async move { access.let_in(request, next, check).await }
        };
        routes
            .layer(from_fn_with_state(self.limits.clone(), limits::admit))
            .layer(from_fn(authenticate))
    }

    /// Puts the layers that every request passes around all routes of a server: tracing, bounded headers, known names only, the
    /// rules for pages of allowed origins (which may read these headers besides the usual ones), and problem documents for errors
    /// of other layers.
    ///
    /// Each request must carry the address that its connection came in on as an [`access::LocalAddress`] extension, as
    /// [`serve`](super::serve) adds it: without one, only names in [`Access::hosts`] are accepted.
    pub fn around(self, routes: Router, metrics: Metrics, exposed: &[HeaderName]) -> Router {
        let access = self.access;
        routes
            .layer(from_fn(problem::in_a_body))
            // Outside of the layers that make new responses, so that a page can read those as well.
            .layer(access::for_pages(Arc::clone(&access), exposed))
            .layer(from_fn_with_state(access, access::require_known_host))
            .layer(from_fn(headers::bound))
            .layer(from_fn_with_state(metrics, trace::request))
    }
}
