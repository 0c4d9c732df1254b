//! Requests to an agent that is connected to another host, which passes them on.

use std::fmt;

use futures_util::future::BoxFuture;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use toolhost_state::workspace_name::WorkspaceName;

use crate::direct::{Address, AddressError, Direct};
use crate::roots::Roots;
use crate::transport::{Answer, Request, SendError, Transport};

/// The path where agents connect to a host, and below which the host passes requests of other hosts on to them.
pub const AGENTS: &str = "/agents";

/// The header that names the agent that a request is for.
const AGENT_NAME: HeaderName = HeaderName::from_static("toolhost-agent-name");

/// The way to an agent that is connected to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The name of that host.
    pub host: String,
    /// The address below which that host passes requests on, and the token with which the agent lets hosts in.
    pub address: Address,
}

/// Knows to which hosts agents are connected.
pub trait Passages: fmt::Debug + Send + Sync {
    /// Returns the way to an agent that is connected to another host; `None` if no such host is known, or it cannot be reached.
    fn find<'a>(&'a self, agent: &'a WorkspaceName) -> BoxFuture<'a, Option<Passage>>;
}

/// Requests that another host passes on to an agent.
#[derive(Debug)]
pub(crate) struct Through {
    direct: Direct,
    name: HeaderValue,
    shown: String,
}

impl Through {
    /// Prepares connections, and makes none.
    ///
    /// # Errors
    ///
    /// If the address of the host cannot be used.
    pub(crate) fn new(
        agent: &WorkspaceName,
        passage: &Passage,
        roots: &Roots,
    ) -> Result<Self, AddressError> {
        let name = HeaderValue::from_str(agent.as_str()).map_err(|_| AddressError::Token)?;
        Ok(Self {
            direct: Direct::below(&passage.address, roots)?,
            name,
            shown: format!("the agent {agent} at the host {}", passage.host),
        })
    }
}

impl Transport for Through {
    fn send(&self, mut request: Request) -> BoxFuture<'_, Result<Answer, SendError>> {
        Box::pin(async move {
            request.headers.insert(AGENT_NAME, self.name.clone());
            let answer = self.direct.send(request).await?;
            match answer.status {
                // That host knows no such agent, or one with another token: it has left.
                StatusCode::UNAUTHORIZED | StatusCode::MISDIRECTED_REQUEST => {
                    let text = format!("{} is not connected there any more", self.shown);
                    Err(SendError::NotSent(text))
                }
                _ => Ok(answer),
            }
        })
    }

    fn agent(&self) -> &str {
        &self.shown
    }
}
