//! Servers of chats for people: each has an origin of its own, whose host name begins with a label of its chat and port. A signed link lets
//! a browser in until it expires.

mod gate;
mod pass;
mod rewrite;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use toolhost_core::Host;

/// Has the requests to host names of servers of chats answered by these servers, and all others by the routes.
pub(super) fn beside(routes: Router, host: &Host) -> Router {
    let connections = pass::Connections::default();
    routes.layer(from_fn_with_state((host.clone(), connections), run))
}

async fn run(
    State((host, connections)): State<(Host, pass::Connections)>,
    request: Request,
    next: Next,
) -> Response {
    let address = host.public_address();
    let ports = address.and_then(|address| address.ports.as_deref());
    let Some((ports, label)) = ports.and_then(|ports| Some((ports, label(&request, ports)?)))
    else {
        return next.run(request).await;
    };
    let origin = rewrite::Origin::of_label(ports, &label);
    let answered = match gate::admit(&host, &label, &origin, &request) {
        Ok(gate::Entry::Go(link)) => pass::pass(&host, &connections, &link, &origin, request).await,
        Ok(gate::Entry::Redirect(response)) => Ok(response),
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

/// Returns the label that the host name of a request has before that of all servers of chats.
fn label(request: &Request, ports: &str) -> Option<String> {
    let (_, domain) = ports.split_once("://")?;
    let name = host(request.headers())?;
    let (label, rest) = name.split_once('.')?;
    let is_one = rest.eq_ignore_ascii_case(domain) && !label.is_empty();
    is_one.then(|| label.to_ascii_lowercase())
}

/// Returns the value of the one header `Host`.
fn host(headers: &HeaderMap) -> Option<&str> {
    let mut names = headers.get_all(HOST).iter();
    let name = names.next().filter(|_| names.next().is_none())?;
    name.to_str().ok()
}

/// The answer to a person who is not shown a server: the page says why.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, text }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let headers = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
        ];
        (self.status, headers, self.text + "\n").into_response()
    }
}
