//! `/api/v0/workspace`: the operations of a workspace as they are, for hosts that use it from another machine.

mod connect;
mod ended;
mod notices;
mod question;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use toolhost_agent::{ApiError, Asked as Once, Offer, ToolCall, Watched, digest, json};
use toolhost_call::call::Ledger;
use toolhost_http::body::{self, BodyError};
use toolhost_workspace::files::{CpuAccount, FilesGrant};
use toolhost_workspace::operation::{
    Answer, Answered, Asked, Cancel, Each, End, EndChat, Identity, Operation, Repeat, SendSignal,
    Typed, VERSION, each,
};
use toolhost_workspace::{Context, Workspace};
use uuid::Uuid;

use crate::names::{CONNECT, EVENTS, INSTANCE, OPERATIONS, PATH};
use crate::openapi;
use notices::Hub;
use toolhost_state::unix_time;

/// The longest time that a host may take to send an operation.
const TIME: Duration = Duration::from_secs(5 * 60);

/// The names of the operations that only end something.
const ENDS: [&str; 4] = [SendSignal::NAME, End::NAME, Cancel::NAME, EndChat::NAME];

/// What the routes share.
#[derive(Clone, Debug)]
struct Agent {
    workspace: Arc<dyn Workspace>,
    files: FilesGrant,
    remembers_starts: bool,
    ledger: Ledger,
    /// The id of this run.
    instance: Arc<str>,
    hub: Arc<Hub>,
}

impl FromRef<Agent> for Arc<Hub> {
    fn from_ref(agent: &Agent) -> Self {
        Arc::clone(&agent.hub)
    }
}

/// Returns the routes of the operations that the operator allows.
pub(crate) fn router(offer: &Offer) -> Router {
    let hub = Hub::of(&*offer.workspace);
    let agent = Agent {
        workspace: Arc::clone(&offer.workspace),
        files: offer.files,
        remembers_starts: offer.remembers_starts,
        ledger: offer.ledger.clone(),
        instance: Uuid::new_v4().to_string().into(),
        hub,
    };
    let routes = Router::new()
        .route(PATH, get(identify))
        .route(&format!("{PATH}/events"), get(notices::notices))
        .route(
            &format!("{CONNECT}/{{chat}}/{{port}}"),
            post(connect::connect),
        )
        .route("/api/v0/openapi.json", get(openapi::description));
    let mut routes = Routes(routes);
    each(&mut routes);
    routes.0.with_state(agent)
}

/// Returns whether this is the path of an operation that frees permits which other requests need.
pub(crate) fn is_end(path: &str) -> bool {
    path.strip_prefix(PATH)
        .and_then(|path| path.strip_prefix('/'))
        .is_some_and(|name| ENDS.contains(&name))
}

/// The routes of the operations so far.
struct Routes(Router<Agent>);

impl Each for Routes {
    fn take<O: Typed>(&mut self) {
        let kind = Kind {
            name: O::NAME,
            max_bytes: O::MAX_BYTES,
            of_files: O::OF_FILES,
            writes_files: O::WRITES_FILES,
            read: |bytes| serde_json::from_slice::<Asked<O>>(bytes).map(Asked::into_any),
        };
        let path = format!("{PATH}/{}", kind.name);
        self.0 = std::mem::take(&mut self.0).route(&path, kind.route());
    }
}

/// The properties of an operation's type. Its route is made of them as values: a route generic over the type would be compiled for each,
/// and all these were a tenth of the agent.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    max_bytes: usize,
    of_files: bool,
    writes_files: bool,
    read: fn(&[u8]) -> serde_json::Result<Asked<Operation>>,
}

impl Kind {
    fn route(self) -> MethodRouter<Agent> {
        let answer =
            move |State(agent): State<Agent>,
                  call: ToolCall,
                  watched: Watched,
                  request: Request| { perform(self, agent, call, watched, request) };
        post(answer)
    }
}

async fn identify(State(agent): State<Agent>) -> Json<Identity> {
    Json(Identity {
        operations: VERSION,
        toolhost: env!("CARGO_PKG_VERSION").into(),
        instance: agent.instance.to_string(),
        root: agent.workspace.root().into(),
        shell: agent.workspace.shell(),
        files: agent.files,
        remembers_starts: agent.remembers_starts,
        time_unix_ms: unix_time::now_ms(),
    })
}

async fn perform(
    kind: Kind,
    agent: Agent,
    call: ToolCall,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    agent.check(request.headers())?;
    if let Some(refusal) = question::refusal(kind, agent.files) {
        return Err(refusal);
    }
    let body = body::read_within(request, kind.max_bytes, TIME).await;
    let body = body.map_err(|error| match error {
        BodyError::Broken(detail) => {
            ApiError::bad_request("The operation broke off.").detail(detail)
        }
        error => error.into(),
    })?;
    let asked = (kind.read)(&body.bytes).map_err(|error| {
        let message = format!("The operation {:?} cannot be read.", kind.name);
        ApiError::bad_request(message).detail(error.to_string())
    })?;
    if asked.operation.repeat() != Repeat::Acts {
        return agent.done(asked, watched).await;
    }
    let once = call.asks(|| Once::once(kind.name, digest(&[&body.bytes])));
    let held = body.into_held();
    let act = async move {
        let done = agent.done(asked, watched).await;
        drop(held);
        done
    };
    call.once(once, act).await
}

impl Agent {
    /// Checks that the request is for this version, and for this run of the agent if it names one.
    fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let version = headers.get(OPERATIONS);
        if version.is_none_or(|version| version != VERSION.to_string().as_str()) {
            let message = format!(
                "This agent (Toolhost {}) has version {VERSION} of the operations, and the request names {}.",
                env!("CARGO_PKG_VERSION"),
                version.map_or("none".into(), |version| format!("{version:?}")),
            );
            return Err(ApiError::new(StatusCode::UPGRADE_REQUIRED, message));
        }
        if headers
            .get(INSTANCE)
            .is_some_and(|instance| *instance != *self.instance)
        {
            let message = "This agent was started since, and knows nothing of earlier requests.";
            return Err(ApiError::new(StatusCode::PRECONDITION_FAILED, message));
        }
        Ok(())
    }

    /// Does an operation, if it is approved.
    async fn done(&self, asked: Asked<Operation>, watched: Watched) -> Result<Response, ApiError> {
        let watched = watched.of(asked.operation.owner());
        if let Some((tool, arguments)) = question::of(&asked.operation) {
            watched.approve(tool, &arguments).await?;
        }
        let workspace = watched.workspace(Arc::clone(&self.workspace));
        let answered = answered(&workspace, &self.ledger, asked).await;
        let events = self.hub.count();
        let mut response = json(StatusCode::OK, &answered);
        let headers = response.headers_mut();
        headers.insert(EVENTS, events.into());
        if let Ok(instance) = HeaderValue::from_str(&self.instance) {
            headers.insert(INSTANCE, instance);
        }
        Ok(response)
    }
}

/// Does an operation with what its caller grants it.
async fn answered(
    workspace: &Arc<dyn Workspace>,
    ledger: &Ledger,
    asked: Asked<Operation>,
) -> Answered<Answer> {
    let context = Context {
        account: Arc::new(match asked.cpu {
            Some(limit) => CpuAccount::limited(limit),
            None => CpuAccount::default(),
        }),
    };
    let restricted = match &asked.roots {
        Some(roots) => match workspace.restricted(roots).await {
            Ok(restricted) => Some(restricted),
            Err(error) => {
                return Answered {
                    answer: asked.operation.refused(error),
                    cpu: context.account.used(),
                    ended: None,
                };
            }
        },
        None => None,
    };
    let waits = ended::Waits::of(&asked.operation, asked.for_end);
    let answer = restricted
        .as_ref()
        .unwrap_or(workspace)
        .call(&context, asked.operation)
        .await;
    // A server that stops waits for the answer, and ends the processes only then.
    let ended = waits.ended(&**workspace, &answer);
    let ended = ledger.stopping().run_until_cancelled(ended).await;
    Answered {
        answer,
        cpu: context.account.used(),
        ended: ended.flatten(),
    }
}
