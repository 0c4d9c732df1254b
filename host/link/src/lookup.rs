//! Agents that a service of the operator finds: `GET URL?workspace=NAME`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use reqwest::Url;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolhost_call::client;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

use crate::direct::{Address, Direct, TlsFiles};
use crate::roots::Roots;
use crate::route::Route;
use crate::transport::{SendError, Transport};

/// The longest time for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// How long an answer holds that does not say it.
const HOLDS: Duration = Duration::from_secs(60);

/// The longest answer.
const MAX_BYTES: usize = 64 << 10;

/// A service that knows where agents are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Its address. The parameter `workspace` is added.
    pub url: String,
    /// The token that it gets, if it asks for one.
    pub token: Option<Secret>,
    /// The TLS settings for the service, and for the agents that it names.
    pub tls: TlsFiles,
}

/// The answer of such a service.
#[derive(Debug, Deserialize)]
struct Found {
    url: String,
    token: Secret,
    /// How long the host may use it without asking again.
    valid_seconds: Option<u64>,
}

/// Asks such a service where the agent of one workspace is.
#[derive(Debug)]
pub(crate) struct Looked {
    client: reqwest::Client,
    url: Url,
    lookup: Lookup,
    roots: Arc<Roots>,
    answers: Mutex<Answers>,
}

/// The last answers of the service.
#[derive(Debug, Default)]
struct Answers {
    known: Option<Known>,
    /// The last failure, and when it was.
    failed: Option<(Instant, SendError)>,
}

#[derive(Debug)]
struct Known {
    transport: Arc<dyn Transport>,
    address: Address,
    until: Instant,
}

impl Looked {
    /// Prepares requests for a workspace, and makes none. Returns why it cannot.
    pub(crate) fn new(
        lookup: &Lookup,
        workspace: &WorkspaceName,
        roots: &Arc<Roots>,
    ) -> Result<Self, String> {
        let mut url = Url::parse(&lookup.url)
            .map_err(|error| format!("the lookup URL {:?} is none: {error}", lookup.url))?;
        url.query_pairs_mut()
            .append_pair("workspace", workspace.as_str());
        let tls = lookup.tls.config(&lookup.url, roots);
        let tls = tls.map_err(|error| error.to_string())?;
        let client = client::builder(tls)
            .timeout(ANSWER)
            .build()
            .map_err(|error| format!("the lookup URL cannot be asked: {error}"))?;
        Ok(Self {
            client,
            url,
            lookup: lookup.clone(),
            roots: Arc::clone(roots),
            answers: Mutex::default(),
        })
    }

    async fn ask(&self) -> Result<Found, SendError> {
        let shown = &self.lookup.url;
        let mut request = self.client.get(self.url.clone());
        if let Some(token) = &self.lookup.token {
            request = request.bearer_auth(token.reveal());
        }
        let unreached = |cause: String| {
            SendError::NotSent(format!(
                "the lookup service {shown} cannot be asked: {cause}"
            ))
        };
        let answer = request.send().await;
        let answer = answer.map_err(|error| unreached(client::cause(&error).to_string()))?;
        let (parts, body) = hyper::Response::from(answer).into_parts();
        match parts.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(SendError::Hopeless(format!(
                    "the lookup service {shown} knows no such workspace"
                )));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(SendError::Hopeless(format!(
                    "the lookup service {shown} does not accept this host ({}): correct its token",
                    parts.status
                )));
            }
            status => return Err(unreached(format!("it answers {status}"))),
        }
        let body = Limited::new(body, MAX_BYTES).collect().await;
        let body = body.map_err(|error| unreached(error.to_string()))?;
        serde_json::from_slice(&body.to_bytes()).map_err(|error| {
            SendError::Hopeless(format!(
                "the answer of the lookup service {shown} has not the form {{\"url\", \"token\", \"valid_seconds\"}}: {error}"
            ))
        })
    }
}

impl Route for Looked {
    fn find<'a>(
        &'a self,
        failed: Option<&'a Arc<dyn Transport>>,
    ) -> BoxFuture<'a, Result<Arc<dyn Transport>, SendError>> {
        Box::pin(async move {
            let begun = Instant::now();
            // The others wait for the answer to the first.
            let mut answers = self.answers.lock().await;
            let good = answers.known.as_ref().filter(|known| {
                Instant::now() < known.until
                    && failed.is_none_or(|failed| !Arc::ptr_eq(failed, &known.transport))
            });
            if let Some(known) = good {
                return Ok(Arc::clone(&known.transport));
            }
            if let Some((when, error)) = &answers.failed
                && *when >= begun
            {
                return Err(error.clone());
            }
            let found = match self.ask().await {
                Ok(found) => found,
                Err(error) => {
                    answers.failed = Some((Instant::now(), error.clone()));
                    return Err(error);
                }
            };
            let known = &mut answers.known;
            let holds = found.valid_seconds.map_or(HOLDS, Duration::from_secs);
            let until = Instant::now() + holds.min(Duration::from_secs(365 * 24 * 60 * 60));
            let address = Address {
                url: found.url,
                token: found.token,
                tls: self.lookup.tls.clone(),
            };
            if let Some(known) = known.as_mut().filter(|known| known.address == address) {
                known.until = until;
                return Ok(Arc::clone(&known.transport));
            }
            let transport = Direct::new(&address, &self.roots).map_err(|error| {
                let shown = &self.lookup.url;
                SendError::Hopeless(format!(
                    "the lookup service {shown} names no agent: {error}"
                ))
            })?;
            let transport: Arc<dyn Transport> = Arc::new(transport);
            *known = Some(Known {
                transport: Arc::clone(&transport),
                address,
                until,
            });
            Ok(transport)
        })
    }
}
