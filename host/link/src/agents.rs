//! The provider of workspaces that agents offer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::operation::Identity;
use toolhost_workspace::{AgentSpec, Opened, Provider, ProviderError, Spec};

use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::by_name::ByName;
use crate::dialled::Dialled;
use crate::direct::{Address, AddressError, Direct, TlsFiles};
use crate::link::{CallError, Link};
use crate::lookup::{Looked, Lookup};
use crate::remote::Remote;
use crate::roots::Roots;
use crate::route::{Fixed, Route};
use crate::timing::Timing;
use toolhost_state::unix_time;

/// How far the clocks of host and agent may be apart before the workspace says so, in milliseconds.
const CLOCKS_MS: u64 = 60_000;

/// The agents that a host may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentsConfig {
    /// Agents with a name, and where they are.
    pub named: BTreeMap<String, Address>,
    /// A service that finds the agents of the other workspaces.
    pub lookup: Option<Lookup>,
    /// The addresses that a request may name; one without a port stands for all ports. Without any, no request may name one: a client could reach every server that
    /// this host reaches.
    pub allowed: Vec<String>,
    /// The TLS settings for the agents that requests name.
    pub tls: TlsFiles,
    /// The TLS settings for the hosts through which agents are used that are connected there; `None`: no such agent is used.
    pub hosts: Option<TlsFiles>,
    /// How long to wait for agents.
    pub timing: Timing,
}

/// The workspaces of agents.
#[derive(Debug)]
pub struct Agents {
    config: AgentsConfig,
    roots: Arc<Roots>,
    dialled: Arc<Dialled>,
    /// The breakers of agents that could not be reached when their workspace was opened.
    failed: Mutex<HashMap<WorkspaceName, (AgentSpec, Arc<Breaker>)>>,
    budget: Budget,
}

impl Agents {
    /// Checks the configuration. Makes no connection.
    ///
    /// # Errors
    ///
    /// The name of the agent whose address cannot be used, and why.
    pub fn new(config: AgentsConfig) -> Result<Self, (String, AddressError)> {
        let roots = Arc::new(Roots::default());
        for (name, address) in &config.named {
            let checked = Direct::new(address, &roots);
            checked.map_err(|error| (name.clone(), error))?;
        }
        Ok(Self {
            config,
            roots,
            dialled: Arc::default(),
            failed: Mutex::default(),
            budget: Budget::default(),
        })
    }

    /// Returns the agents that connect to this host.
    pub fn dialled(&self) -> &Arc<Dialled> {
        &self.dialled
    }

    /// Returns the TLS settings for other hosts, if agents may be used through those.
    pub fn hosts(&self) -> Option<&TlsFiles> {
        self.config.hosts.as_ref()
    }

    /// Returns how the agent of a workspace is reached, or why it is not.
    fn route(&self, name: &WorkspaceName, spec: &AgentSpec) -> Result<Box<dyn Route>, String> {
        let direct = |address: &Address| -> Result<Box<dyn Route>, String> {
            let direct = Direct::new(address, &self.roots).map_err(|error| error.to_string())?;
            Ok(Box::new(Fixed(Arc::new(direct))))
        };
        if let Some(url) = &spec.url {
            self.check_url(url)?;
            let token = spec.token.clone();
            return direct(&Address {
                url: url.clone(),
                token: token.ok_or("the agent at this address has a token: give it as `token`")?,
                tls: self.config.tls.clone(),
            });
        }
        if spec.token.is_some() {
            return Err("a token belongs to an address: give it as `url`".into());
        }
        let wanted = match &spec.agent {
            Some(agent) => agent
                .parse()
                .map_err(|_| format!("{agent:?} is no name of an agent"))?,
            None => name.clone(),
        };
        match (self.config.named.get(wanted.as_str()), &self.config.lookup) {
            (Some(address), _) => direct(address),
            (None, Some(lookup)) if spec.agent.is_none() && !self.dialled.has(&wanted) => {
                Ok(Box::new(Looked::new(lookup, name, &self.roots)?))
            }
            (None, _) => Ok(Box::new(ByName {
                name: wanted,
                dialled: Arc::clone(&self.dialled),
                roots: Arc::clone(&self.roots),
                through: Mutex::default(),
            })),
        }
    }

    /// Returns the breaker of an agent, which is the same one until its workspace is open.
    fn breaker(&self, name: &WorkspaceName, spec: &AgentSpec) -> Arc<Breaker> {
        let mut failed = self.failed.lock();
        let (known, breaker) = failed.entry(name.clone()).or_default();
        if known != spec {
            *known = spec.clone();
            *breaker = Arc::default();
        }
        Arc::clone(breaker)
    }

    /// Checks that the operator agrees with an address.
    fn check_url(&self, url: &str) -> Result<(), String> {
        let begins = |allowed: &String| {
            url.strip_prefix(allowed.trim_end_matches('/'))
                .is_some_and(|rest| {
                    // Not `http://agent.evil.example` for `http://agent`.
                    rest.is_empty() || rest.starts_with(['/', ':'])
                })
        };
        match self.config.allowed.iter().any(begins) {
            true => Ok(()),
            false => Err(format!(
                "this host uses no agent at {url:?}: the operator names the addresses that requests may use in `agent_urls` of [workspaces]"
            )),
        }
    }
}

impl Provider for Agents {
    fn check(&self, name: &WorkspaceName, spec: &Spec) -> Result<(), ProviderError> {
        let Spec::Agent(spec) = spec else {
            return Err(other());
        };
        let route = self.route(name, spec);
        route.map(drop).map_err(ProviderError::Invalid)
    }

    fn has(&self, name: &WorkspaceName) -> bool {
        self.config.named.contains_key(name.as_str())
            || self.config.lookup.is_some()
            || self.dialled.has(name)
    }

    fn awaits(&self, name: &WorkspaceName, spec: &Spec) -> Option<WorkspaceName> {
        let Spec::Agent(AgentSpec {
            agent, url: None, ..
        }) = spec
        else {
            return None;
        };
        let wanted = match agent {
            Some(agent) => agent.parse().ok()?,
            None => name.clone(),
        };
        let is_known = self.config.named.contains_key(wanted.as_str()) || self.dialled.has(&wanted);
        (!is_known).then_some(wanted)
    }

    fn open<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<Opened, ProviderError>> {
        Box::pin(async move {
            let Spec::Agent(spec) = spec else {
                return Err(other());
            };
            let route = self.route(name, spec).map_err(ProviderError::Invalid)?;
            let breaker = self.breaker(name, spec);
            let link = Link::new(route, self.config.timing, breaker, self.budget.clone());
            let opened = Remote::open(link).await;
            if opened.is_ok() {
                self.failed.lock().remove(name);
            }
            let (remote, identity) = opened.map_err(|error| match error {
                CallError::Unavailable(text) => ProviderError::Unreachable(text),
                CallError::Refused(text) | CallError::Unknown(text) => ProviderError::Failed(text),
            })?;
            Ok(Opened {
                workspace: Arc::new(remote),
                gaps: gaps(&identity),
                remembers_starts: identity.remembers_starts,
            })
        })
    }

    /// Removes nothing: the agent and its files are not the host's.
    fn remove<'a>(
        &'a self,
        name: &'a WorkspaceName,
        _: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.failed.lock().remove(name);
        Box::pin(async { Ok(()) })
    }
}

fn other() -> ProviderError {
    ProviderError::Invalid("this workspace is none of an agent".into())
}

/// Returns what a client should know of an agent.
fn gaps(identity: &Identity) -> Vec<String> {
    let apart = unix_time::now_ms().abs_diff(identity.time_unix_ms);
    let mut gaps = Vec::new();
    if apart > CLOCKS_MS {
        gaps.push(format!(
            "the clock of the agent is {} s away from that of the host: the times of its processes are by its clock",
            apart / 1000
        ));
    }
    if !identity.remembers_starts {
        gaps.push(
            "the agent has no state directory: when it is started anew, it knows none of its processes"
                .into(),
        );
    }
    gaps
}
