//! `GET /agents`: where agents connect that this server cannot reach. The server then sends its requests through their connections, and
//! passes on those of other hosts.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{any, get};
use axum::{Extension, Router};
use serde_json::json;
use toolhost_core::Host;
use toolhost_http::access::{Access, Principal, Scope, Token, Tokens};
use toolhost_http::forward::remove_of_connection;
use toolhost_http::limits::Limits;
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::{Edge, body};
use toolhost_link::tunnel;
use toolhost_link::{AGENTS, Alive, CONNECT, Dialled, PassError, PassedBody};
use toolhost_machine::Machines;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::operation::VERSION;

/// For how long a host that drains sends agents to another one. Then it takes those again that found none.
const SENDS_AWAY: Duration = Duration::from_secs(5);

/// After how many seconds an agent may try again.
const AGAIN: u64 = 1;

#[derive(Clone, Debug)]
struct Connecting {
    host: Host,
    /// The tokens that may become invalid; `None` for those of machines, which do not.
    tokens: Option<Tokens>,
    /// Since when agents are sent to other hosts.
    leaving: Arc<OnceLock<Instant>>,
}

impl Connecting {
    /// Returns whether an agent should connect to another host, because this one ends soon.
    fn sends_away(&self, dialled: &Dialled) -> bool {
        let drains = dialled.reaches_elsewhere() && self.host.leaving().is_cancelled();
        drains && self.leaving.get_or_init(Instant::now).elapsed() < SENDS_AWAY
    }
}

pub(super) fn routes(host: &Host, tokens: &Tokens) -> Router {
    connecting(host, Some(tokens.clone()))
}

fn connecting(host: &Host, tokens: Option<Tokens>) -> Router {
    let state = Connecting {
        host: host.clone(),
        tokens,
        leaving: Arc::default(),
    };
    Router::new().route(AGENTS, get(connect)).with_state(state)
}

/// Returns the route on which the agents of machines connect. The token of a machine lets in its agent alone.
pub(super) fn of_machines(host: &Host, machines: &Arc<Machines>) -> Router {
    let edge = Edge::new(Access::default(), Limits::new(0, |_| false));
    let machines = Arc::clone(machines);
    let tokens = move |request: &Request| {
        let name = name(request)?;
        let token = Token::new(machines.token(&name).reveal()).ok()?;
        let pattern = name.as_str().parse().ok()?;
        let agent = Principal::new("host", [Scope::Connect], None, None);
        Some(Tokens::new([(token, agent.with_workspaces([pattern]))]))
    };
    let routes = edge.admit_by(connecting(host, None), tokens);
    edge.around(routes, host.metrics().clone(), &[], None)
}

/// Returns the routes on which other hosts use the agents that are connected to this one. A request has the token of its agent.
pub(super) fn passing(host: &Host, edge: &Edge) -> Router {
    let state = host.clone();
    let tokens = move |request: &Request| {
        let token = state.agents()?.dialled().token(&name(request)?)?;
        let token = Token::new(token.reveal()).ok()?;
        let other = Principal::new("another host", [], None, None);
        Some(Tokens::new([(token, other)]))
    };
    let operations = format!("{AGENTS}/api/v0/workspace");
    let routes = Router::new()
        .route(&operations, any(pass))
        .route(&format!("{operations}/{{*path}}"), any(pass));
    edge.admit_by(routes.with_state(host.clone()), tokens)
}

/// Returns the name of the agent that connects, or that a request is for.
fn name(request: &Request) -> Option<WorkspaceName> {
    request
        .headers()
        .get(toolhost_link::NAME)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Returns the path of a request as the agent knows it.
fn target_of(request: &Request) -> &str {
    let target = request.uri().path().strip_prefix(AGENTS);
    target.unwrap_or_default()
}

async fn pass(State(host): State<Host>, request: Request) -> Result<Response, Problem> {
    let gone = || Problem::new(Kind::OTHER_HOST, PassError::NotConnected.to_string());
    let (name, agents) = name(&request).zip(host.agents()).ok_or_else(gone)?;
    let target = target_of(&request).parse();
    let target = target
        .map_err(|error: axum::http::uri::InvalidUri| Problem::broken_request(error.to_string()))?;
    let (method, mut headers) = (request.method().clone(), request.headers().clone());
    remove_of_connection(&mut headers);
    let is_stream = target_of(&request).starts_with(CONNECT);
    let (body, _held) = match is_stream {
        true => (PassedBody::Stream(request.into_body()), None),
        false => {
            let read = body::read(request, toolhost_agent::BODY_BYTES).await?;
            let (bytes, held) = read.into_parts();
            (PassedBody::Bytes(bytes.into()), Some(held))
        }
    };
    let mut asked = axum::http::Request::new(body);
    (*asked.method_mut(), *asked.uri_mut(), *asked.headers_mut()) = (method, target, headers);
    let answer = agents.dialled().pass(&name, asked).await;
    let mut answer = answer.map_err(|error| match error {
        PassError::NotConnected => gone(),
        PassError::Broken(text) => Problem::new(Kind::HOST_LOST, text),
    })?;
    remove_of_connection(answer.headers_mut());
    Ok(answer.map(Body::new))
}

async fn connect(
    State(connecting): State<Connecting>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Result<Response, Problem> {
    principal.require(Scope::Connect)?;
    let no_agents = || Problem::new(Kind::NO_PROVIDER, "this server takes no agents");
    let dialled = connecting.host.agents().ok_or_else(no_agents)?.dialled();
    let dialled = Arc::clone(dialled);
    if connecting.sends_away(&dialled) {
        let detail = "this host drains: connect to another one, to which the same address may lead";
        return Err(Problem::new(Kind::SHUTTING_DOWN, detail).retry_after(AGAIN));
    }
    let text = |name| {
        let value = request.headers().get(name)?;
        value.to_str().ok()
    };
    let version = text(toolhost_link::OPERATIONS);
    if version != Some(&VERSION.to_string()) {
        let detail = format!(
            "this host (Toolhost {}) has version {VERSION} of the operations, and the agent has {}: update the older one",
            env!("CARGO_PKG_VERSION"),
            version.unwrap_or("none"),
        );
        return Err(Problem::new(Kind::OTHER_VERSION, detail));
    }
    let missing = |name: &str| Problem::broken_request(format!("the header {name} is missing"));
    let name = text(toolhost_link::NAME).ok_or_else(|| missing("Toolhost-Agent-Name"))?;
    let name: WorkspaceName = name.parse()?;
    let token = text(toolhost_link::TOKEN).ok_or_else(|| missing("Toolhost-Agent-Token"))?;
    let token = Secret::new(token);
    if !principal.actor().may_name(&name) {
        let detail = format!("this token is for agents of other names than \"{name}\"");
        return Err(Problem::new(Kind::FOREIGN_WORKSPACE, detail));
    }
    let Connecting {
        host,
        tokens,
        leaving,
    } = connecting;
    let (response, tunnel) = tunnel::accept(request)?;
    tokio::spawn(async move {
        let Some(tunnel) = tunnel.await else {
            return;
        };
        let fields = json!({ "principal": principal.name(), "agent": name.as_str() });
        host.audit().record("agent_connected", fields.clone());
        tracing::info!(agent = %name, principal = principal.name(), "an agent connected");
        let alive = Alive {
            every: tunnel::ALIVE_EVERY,
            within: tunnel::ANSWER_WITHIN,
        };
        let (leaves, host_leaves, over) =
            (dialled.reaches_elsewhere(), host.leaving(), host.over());
        let ends = async {
            tokio::select! {
                () = until_gone(tokens, principal) => "its token is not valid any more",
                () = over.cancelled() => "this host stops",
                () = host_leaves.cancelled(), if leaves && leaving.get().is_none() => {
                    leaving.get_or_init(Instant::now);
                    "this host drains, and the agent goes to another one"
                }
            }
        };
        let stream = tunnel.into_stream();
        let ended = dialled.serve(&name, &token, stream, alive, ends).await;
        let reason = ended.map_or_else(|error| error.to_string(), ToOwned::to_owned);
        tracing::info!(agent = %name, reason, "an agent is not connected any more");
        host.audit().record("agent_disconnected", fields);
    });
    Ok(response)
}

/// Waits until a principal is not known any more.
async fn until_gone(tokens: Option<Tokens>, principal: Principal) {
    match tokens {
        Some(tokens) => tokens.until_gone(principal).await,
        None => std::future::pending().await,
    }
}
