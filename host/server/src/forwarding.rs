//! Requests for chats and sessions that another host of the store has: this host refuses them, or sends them there.

use axum::RequestExt as _;
use axum::Router;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use toolhost_call::call::{MAX_ARGUMENTS, OtherHost, WorkspaceError};
use toolhost_core::{Host, Link, Located};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::forward::{self, Forwarding};
use toolhost_http::kept_body::Kept;
use toolhost_http::problem::{AtHost, Kind, Problem};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;

use crate::ENVELOPE;
use crate::mcp::{self, Asked as McpAsked};

/// The address below which everything is of one chat.
const OF_CHAT: &str = "/v1/chats/{chat}";

#[derive(Clone, Debug)]
struct Layer {
    host: Host,
    /// `None`: requests are refused, with the address of the other host.
    forwarding: Option<Forwarding>,
}

/// What decides which host a request is for.
#[derive(Debug)]
enum Asked {
    /// The workspace of a chat.
    Chat {
        chat: ChatId,
        /// The workspace that the request binds the chat to, as far as its headers say so.
        workspace: Option<WorkspaceName>,
        /// Whether the body may name a workspace of another host.
        may_name: bool,
    },
    /// A session of MCP, which is at the host of this machine.
    Session { machine: String },
    /// The store, unless the answer says that another host has to end what a call left.
    Cancellation,
}

/// Has requests to these routes refused, or sent to the host that they are for.
pub(super) fn layer(routes: Router, host: &Host, forwarding: Option<Forwarding>) -> Router {
    let layer = Layer {
        host: host.clone(),
        forwarding,
    };
    routes.layer(from_fn_with_state(layer, Layer::run))
}

impl Layer {
    async fn run(
        State(layer): State<Self>,
        mut request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        let Some(asked) = Asked::of(&mut request, &layer.host).await else {
            return Ok(next.run(request).await);
        };
        let headers = request.headers();
        let may_forward =
            !forward::is_forwarded(headers) && (forward::has_token(headers) || has_link(&request));
        let forwarding = layer.forwarding.as_ref().filter(|_| may_forward);
        match asked {
            Asked::Session { machine } if let Some(forwarding) = forwarding => {
                layer.in_session(machine, forwarding, request, next).await
            }
            Asked::Cancellation if let Some(forwarding) = forwarding => {
                layer.settle(forwarding, request, next).await
            }
            Asked::Session { .. } | Asked::Cancellation => Ok(next.run(request).await),
            // The handler refuses the client, and the client learns nothing of the chat.
            Asked::Chat { chat, .. } if !may_see(&request, &chat) => Ok(next.run(request).await),
            Asked::Chat {
                chat,
                workspace,
                may_name,
            } => {
                let located = layer.host.locate(&chat, workspace.as_ref()).await;
                let forwarding = forwarding.map(|forwarding| (forwarding, may_name));
                layer.of_chat(located, forwarding, request, next).await
            }
        }
    }

    /// Runs a request for a chat that is located so. It may be forwarded by `forwarding`, which also says whether its body may name a
    /// workspace of another host.
    async fn of_chat(
        &self,
        located: Result<Located, WorkspaceError>,
        forwarding: Option<(&Forwarding, bool)>,
        request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        match located {
            // This host frees the chat.
            Err(error)
                if is_end(&request) && error.other_host().is_some_and(|other| !other.has_lease) =>
            {
                Ok(next.run(request).await)
            }
            Err(error) if let Some(other) = error.other_host().cloned() => match forwarding {
                Some((forwarding, _)) if forward::has_address(&other) => {
                    self.send(forwarding, request, &other).await
                }
                _ if must_know(&request) => Err(error.into()),
                _ => Ok(next.run(request).await),
            },
            Ok(Located::Unsettled) if let Some((forwarding, true)) = forwarding => {
                self.settle(forwarding, request, next).await
            }
            Err(error) if must_know(&request) => {
                let detail = format!("where the chat runs cannot be looked up now: {error}");
                Err(Problem::new(Kind::UNREADABLE, detail).retry_after(1))
            }
            Ok(_) | Err(_) => Ok(next.run(request).await),
        }
    }

    /// Sends a request to the host of its session. If that host is lost, the client hears that there is no such session, and begins
    /// another one.
    async fn in_session(
        &self,
        machine: String,
        forwarding: &Forwarding,
        request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        let known = self.host.host_of_machine(machine).await;
        let known = known.map_err(|error| {
            let detail =
                format!("the host of the session cannot be looked up ({error}): nothing ran");
            Problem::new(Kind::HOST_UNREACHABLE, detail)
        })?;
        match known.filter(|host| host.has_lease && forward::has_address(host)) {
            Some(other) => self.send(forwarding, request, &other).await,
            None => Ok(next.run(request).await),
        }
    }

    async fn send(
        &self,
        forwarding: &Forwarding,
        request: Request,
        other: &OtherHost,
    ) -> Result<Response, Problem> {
        let stopping = self.host.stopping();
        let sent = forwarding.send(request, other, stopping).await;
        let answer = sent.as_ref().map_or_else(Problem::code, |_| "answered");
        self.host.metrics().request_forwarded(answer);
        sent
    }

    /// Runs a request, and sends it on if it turns out to be for another host.
    async fn settle(
        &self,
        forwarding: &Forwarding,
        request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        let (request, kept) = Kept::of(request, MAX_ARGUMENTS + ENVELOPE);
        let response = next.run(request).await;
        let Some(AtHost(other)) = response.extensions().get() else {
            return Ok(response);
        };
        match kept.into_request() {
            Some(request) if forward::has_address(other) => {
                self.send(forwarding, request, other).await
            }
            _ => Ok(response),
        }
    }
}

impl Asked {
    /// Returns what decides which host a request is for; `None` if any host answers it.
    async fn of(request: &mut Request, host: &Host) -> Option<Self> {
        if let Some(link) = request.extensions().get::<Link>() {
            return Some(Self::Chat {
                chat: link.chat.clone(),
                workspace: None,
                may_name: false,
            });
        }
        let route = request.extensions().get::<MatchedPath>()?.as_str();
        if mcp::is_route(route) {
            let chat = parameter(request, "chat").await;
            return match mcp::asked(chat.as_deref(), request.headers(), host)? {
                McpAsked::Session { machine } => Some(Self::Session { machine }),
                McpAsked::Chat { chat, workspace } => Some(Self::Chat {
                    chat,
                    workspace,
                    may_name: false,
                }),
            };
        }
        let rest = route.strip_prefix(OF_CHAT)?;
        let method = request.method();
        if is_of_store(method, rest) {
            return None;
        }
        if *method == Method::DELETE && rest == "/calls/{call}" {
            return Some(Self::Cancellation);
        }
        let is_file = rest.starts_with("/files");
        let may_name =
            *method == Method::PUT && !is_file || *method == Method::POST && rest == "/calls";
        let chat = parameter(request, "chat").await?.parse().ok()?;
        Some(Self::Chat {
            chat,
            workspace: None,
            may_name,
        })
    }
}

/// Returns whether a request is answered by the host that has the chat, and by no other. A request that begins a call is refused by the
/// ledger, unless the store has its reply, and one of MCP is answered with a message.
fn must_know(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>();
    let rest = route.and_then(|route| route.as_str().strip_prefix(OF_CHAT));
    let begins = match *request.method() {
        Method::PUT => rest.is_some_and(|rest| rest.starts_with("/calls")),
        Method::POST => rest == Some("/calls"),
        _ => false,
    };
    rest.is_some() && !begins || has_link(request)
}

/// Returns whether a request has a link in the place of a token. All hosts of a store take the links of each other.
fn has_link(request: &Request) -> bool {
    request.extensions().get::<Link>().is_some()
}

/// Returns whether a request ends a chat.
fn is_end(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>();
    *request.method() == Method::DELETE && route.is_some_and(|route| route.as_str() == OF_CHAT)
}

/// Returns whether the client may see anything of a chat.
fn may_see(request: &Request, chat: &ChatId) -> bool {
    let principal = request.extensions().get::<Principal>();
    principal.is_some_and(|principal| principal.require_chat(Scope::Read, chat).is_ok())
        || has_link(request)
}

/// Returns whether the store answers a request below the address of a chat, which all hosts have.
fn is_of_store(method: &Method, rest: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && rest.starts_with("/calls")
}

/// Returns a parameter of the path.
async fn parameter(request: &mut Request, name: &str) -> Option<String> {
    let parameters = request.extract_parts::<RawPathParams>().await.ok()?;
    let mut found = parameters.iter().filter(|(key, _)| *key == name);
    found.next().map(|(_, value)| value.to_owned())
}
