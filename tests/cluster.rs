//! Several hosts that share their chats in a database.

mod agents;
mod answers;
mod balancer;
mod chaos;
mod clients;
mod events;
mod field;
mod forwarding;
mod homes;
mod lost;
mod members;
mod plugins;
mod switching;
mod tls;
mod visibility;

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_agent::Offer;
use toolhost_core::{Builder, Host};
use toolhost_link::AgentsConfig;
use toolhost_needs::needs;
use toolhost_postgres::{Config, Postgres};

use crate::harness::{
    PATIENCE, Server, cluster, elsewhere, postgres, shared_code, shared_state, spawner, until,
    without_namespaces,
};

/// Hosts of one database, and the agent `agent`.
struct Cluster {
    url: String,
    agents: AgentsConfig,
    root: TempDir,
    agent: Server,
}

/// One of the hosts.
struct Node {
    host: Host,
    server: Server,
    store: Arc<Postgres>,
    workspace: TempDir,
}

impl Cluster {
    async fn new() -> Self {
        Self::with(true).await
    }

    /// `remembers_starts` says whether the agent says that it does.
    async fn with(remembers_starts: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        let local = elsewhere::local(root.path()).await;
        let offer = Offer {
            remembers_starts,
            ..elsewhere::offer(local)
        };
        let agent = Server::agent(offer).await;
        Self {
            url: postgres::database(),
            agents: elsewhere::agents("agent", &agent.url),
            root,
            agent,
        }
    }

    /// Starts a host.
    async fn node(&self, name: &str) -> Node {
        self.node_with(Config {
            name: name.to_owned(),
            address: Some(format!("https://{name}.example.com")),
            ..postgres::config(&self.url)
        })
        .await
    }

    async fn node_with(&self, config: Config) -> Node {
        self.node_of(config, |builder| builder).await
    }

    /// Starts a host with more parts.
    async fn node_of(&self, config: Config, parts: impl FnOnce(Builder) -> Builder) -> Node {
        let workspace = tempfile::tempdir().unwrap();
        let (state, store) = cluster::state(config).await;
        let host = Host::builder(workspace.path())
            .state_dir(shared_state("state"))
            .shared_code(shared_code().join("toolhost"))
            .spawner(spawner())
            .sandbox(without_namespaces())
            .agents(self.agents.clone())
            .state(state);
        let host = parts(host).start().await.unwrap();
        Node {
            server: Server::start(host.clone()).await,
            host,
            store,
            workspace,
        }
    }

    /// Waits until a line was written to a file of the agent.
    async fn begun(&self, file: &str) {
        until("the command runs", || (self.lines(file) == 1).then_some(())).await;
    }

    /// How often a line was written to a file of the agent.
    fn lines(&self, file: &str) -> usize {
        let text = std::fs::read_to_string(self.root.path().join(file)).unwrap_or_default();
        text.lines().count()
    }
}

/// A command in the workspace of the agent.
fn at_agent(command: &str) -> Value {
    json!({ "tool": "execute", "workspace": "agent", "arguments": { "command": command } })
}

fn here(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}
