//! The servers of a host: HTTP version 1 and MCP for chat servers, and the agent API beside them.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod agents;
mod checks;
mod forwarding;
mod mcp;
mod metrics;
mod openapi;
mod parts;
mod ports;
mod unknown;
mod v1;
mod visibility;

use std::io;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Method;
use axum::{Extension, Router};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhost_call::call::MAX_ARGUMENTS;
use toolhost_core::Host;
use toolhost_http::access::{Access, Tokens};
use toolhost_http::limits::Limits;
use toolhost_http::{Edge, Listener, Listeners, Readiness, Reword, problem};
use toolhost_workspace::process::Info;
use utoipa::openapi::OpenApi;

pub use checks::Check;
pub use mcp::{McpOptions, serve_mcp};
pub use parts::ServerParts;
pub use v1::{DEFAULT_FILE_SIZE, ListedCall, ListedState};

/// The maximum size of a request body without the arguments, in bytes.
const ENVELOPE: usize = 64 << 10;

/// Returns the routes of the parts that are offered.
///
/// Each request must carry the address that its connection came in on: see [`Edge::around`].
pub fn router(parts: impl Into<ServerParts>, access: Access) -> Router {
    let parts = parts.into();
    let host = &parts.host;
    let metrics = host.metrics().clone();
    let tokens = access.tokens.clone();
    let edge = Edge::new(access, Limits::new(host.events().limits().readers, ends));
    let readiness = Arc::new(Asked(host.clone()));
    let (mut open, mut described) = edge.health(
        Arc::clone(host.workspace()),
        host.draining(),
        Some(readiness),
    );
    match edge.console() {
        Some((logins, more)) => {
            open = open.merge(logins).merge(toolhost_console::routes());
            described = described.merge_from(more);
        }
        None => open = open.merge(openapi::root()),
    }
    let mut routes = open
        .merge(openapi::page())
        .method_not_allowed_fallback(problem::no_method)
        .merge(links(&parts, &edge))
        .merge(edge.admit(api(&parts, &tokens, described), |_| Ok(())))
        .merge(agents::passing(host, &edge));
    if parts.agent {
        routes = routes.merge(toolhost_link::routes(parts.offer(), &edge));
    }
    let reword = Some(toolhost_agent::as_api_errors as Reword);
    let routes = edge.around(routes, metrics, &v1::headers(), reword);
    ports::beside(routes, host)
}

/// Serves a host until `shutdown` is ready, then ends calls and processes and returns the processes that were still live.
///
/// Calls are cancelled and get their replies out before connections are closed.
///
/// # Errors
///
/// If a listener has no address.
pub async fn serve(
    listeners: impl Into<Listeners>,
    parts: impl Into<ServerParts>,
    access: Access,
    shutdown: impl Future<Output = ()>,
) -> io::Result<Vec<Info>> {
    let parts = parts.into();
    let routes = router(parts.clone(), access);
    let _machines = take_machines(&parts.host)?;
    parts.mcp.take_over().await;
    let ending = async {
        shutdown.await;
        parts.shutdown().await
    };
    let live = toolhost_http::serve(listeners, routes, parts.host.metrics(), ending).await?;
    Ok(live.unwrap_or_default())
}

/// Listens for the agents of machines, if the host makes any, until the result is dropped.
fn take_machines(host: &Host) -> io::Result<Option<DropGuard>> {
    let Some(machines) = host.machines() else {
        return Ok(None);
    };
    // A container may run its agent as any user; the state directory keeps the users of this machine out.
    let listener = Listener::unix(machines.socket().to_path_buf(), 0o666);
    let listener = listener.map_err(io::Error::other)?.with_tokens_only();
    let routes = agents::of_machines(host, machines);
    let (metrics, over) = (host.metrics().clone(), CancellationToken::new());
    let ending = over.clone();
    tokio::spawn(async move {
        let served = toolhost_http::serve(listener, routes, &metrics, ending.cancelled()).await;
        if let Err(error) = served {
            tracing::error!(%error, "the agents of machines cannot connect");
        }
    });
    Ok(Some(over.drop_guard()))
}

/// A host that is asked whether it is ready.
#[derive(Debug)]
struct Asked(Host);

impl Readiness for Asked {
    fn is_loading(&self) -> bool {
        self.0.is_loading()
    }

    fn is_recording(&self) -> bool {
        self.0.is_recording()
    }
}

/// Returns whether a request only ends or cancels something.
fn ends(request: &Request) -> bool {
    let path = request.uri().path();
    // Files may take long to be removed.
    let is_of_file = path.contains("/files/");
    request.method() == Method::DELETE && !is_of_file || toolhost_link::is_end(path)
}

/// Returns the route on which people open links, which take the place of tokens.
fn links(parts: &ServerParts, edge: &Edge) -> Router {
    let host = parts.host.clone();
    let opening = Router::from(v1::opening()).with_state(host.clone());
    let routes = forwarding::layer(opening, &host, parts.forwarding.clone())
        .method_not_allowed_fallback(problem::no_method);
    edge.admit_if(routes, move |request| v1::admitted(&host, request))
}

/// Returns the routes of a host's tools with their description, and the fallback for paths without a route.
fn api(parts: &ServerParts, tokens: &Tokens, opened: OpenApi) -> Router {
    let api = v1::routes().merge(metrics::routes());
    let (api, described) = api.with_state(parts.host.clone()).split_for_parts();
    let description = openapi::empty()
        .merge_from(described)
        .merge_from(v1::opening().into_openapi())
        .merge_from(opened);
    let of_chats = api.merge(parts.mcp.router(tokens));
    let forwarding = parts.forwarding.clone();
    forwarding::layer(of_chats, &parts.host, forwarding)
        .merge(openapi::routes(description))
        .merge(agents::routes(&parts.host, tokens))
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(Extension(parts.file_limit))
        .layer(Extension(parts.checks.clone()))
        .layer(Extension(v1::Now::new(parts.host.clone())))
        .layer(DefaultBodyLimit::max(MAX_ARGUMENTS + ENVELOPE))
}
