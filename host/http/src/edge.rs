//! The edge of a server: the checks that requests pass on their way to its routes, in the same order for every server.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use super::access::{self, Access, Principal, Tokens};
use super::console;
use super::health::{self, Readiness, Watched};
use super::limits::Limits;
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
    /// `stopping` is cancelled, and while `readiness` says so.
    pub fn health(
        &self,
        workspace: Arc<dyn Workspace>,
        stopping: CancellationToken,
        readiness: Option<Arc<dyn Readiness>>,
    ) -> (Router, OpenApi) {
        let access = Arc::clone(&self.access);
        let watched = Watched {
            access,
            workspace,
            stopping,
            readiness,
            started: Instant::now(),
        };
        health::routes().with_state(watched).split_for_parts()
    }

    /// Returns the routes of logins of the console, which need no token, and their description; `None` if the server has no console.
    pub fn console(&self) -> Option<(Router, OpenApi)> {
        let console = self.access.console.clone()?;
        let shared = console::Shared {
            access: Arc::clone(&self.access),
            console,
        };
        Some(console::routes().with_state(shared).split_for_parts())
    }

    /// Lets requests reach these routes if their client is authenticated and `check` accepts its principal, within the limits. A
    /// client is authenticated before it takes a permit.
    pub fn admit(&self, routes: Router, check: fn(&Principal) -> Result<(), Problem>) -> Router {
        let edge = self.clone();
        let admit = move |request: Request, next: Next| {
            let Edge { access, limits } = edge.clone();
            async move {
                let run = async |request| limits.run(request, next).await;
                access.let_in(request, check, run).await
            }
        };
        routes.layer(from_fn(admit))
    }

    /// Lets requests reach these routes if the tokens that `tokens` returns for a request have that of the request, within the limits.
    /// The tokens of the server are not valid here.
    pub fn admit_by(
        &self,
        routes: Router,
        tokens: impl Fn(&Request) -> Option<Tokens> + Clone + Send + Sync + 'static,
    ) -> Router {
        let limits = self.limits.clone();
        let admit = move |request: Request, next: Next| {
            let (limits, tokens) = (limits.clone(), tokens(&request));
            async move {
                let run = async |request| limits.run(request, next).await;
                Access::let_in_by(request, tokens, run).await
            }
        };
        routes.layer(from_fn(admit))
    }

    /// Lets requests reach these routes that `check` lets in, which need no token, within the limits. All of them share those of one
    /// token.
    pub fn admit_if(
        &self,
        routes: Router,
        check: impl Fn(&mut Request) -> Result<(), Problem> + Clone + Send + Sync + 'static,
    ) -> Router {
        let limits = self.limits.clone();
        let admit = move |mut request: Request, next: Next| {
            let limits = limits.clone();
            let checked = check(&mut request);
            async move {
                checked?;
                access::mark_authenticated(&request);
                limits.run(request, next).await
            }
        };
        routes.layer(from_fn(admit))
    }

    /// Puts the layers that every request passes around all routes of a server: tracing, bounded headers, known names only, the
    /// rules for pages of allowed origins (which may read these headers besides the usual ones), and problem documents for errors
    /// of other layers. `reword` changes the responses to some requests at last.
    ///
    /// Each request must carry the address that its connection came in on as an [`access::LocalAddress`] extension, as
    /// [`serve`](super::serve) adds it: without one, only names in [`Access::hosts`] are accepted.
    pub fn around(
        self,
        routes: Router,
        metrics: Metrics,
        exposed: &[HeaderName],
        reword: Option<Reword>,
    ) -> Router {
        let access = self.access;
        let first = First {
            access: Arc::clone(&access),
            metrics,
            reword,
        };
        routes
            .layer(from_fn(problem::in_a_body))
            // Outside of the layers that make new responses, so that a page can read those as well.
            .layer(access::for_pages(access, exposed))
            .layer(from_fn_with_state(first, First::run))
    }
}

/// Returns how the response to a request is changed; `None` if it is not.
pub type Reword = fn(&Request) -> Option<fn(Response) -> Response>;

/// The checks that come first. They are one layer, because axum clones all inner layers for each layer of each request.
#[derive(Clone, Debug)]
struct First {
    access: Arc<Access>,
    metrics: Metrics,
    reword: Option<Reword>,
}

impl First {
    async fn run(State(first): State<Self>, request: Request, next: Next) -> Response {
        let reword = first.reword.and_then(|reword| reword(&request));
        let checked = async |request| {
            let checked =
                headers::check(&request).and_then(|()| first.access.check_names(&request));
            match checked {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        };
        let response = trace::request(&first.metrics, request, checked).await;
        match reword {
            Some(reword) => reword(response),
            None => response,
        }
    }
}
