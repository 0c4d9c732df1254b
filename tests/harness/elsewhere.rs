//! Workspaces of each kind: on this machine, or of an agent.

use std::any::Any;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolhost_agent::{Offer, Oversight};
use toolhost_call::call::{Ledger, Limits};
use toolhost_link::{Address, Agents, AgentsConfig, TlsFiles};
use toolhost_local::process::Config;
use toolhost_local::{Local, files};
use toolhost_sandbox::Policy;
use toolhost_state::secret::Secret;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::{AgentSpec, Provider, Spec, Workspace};

use super::processes::temporary;
use super::{PATIENCE, Server, TOKEN, spawner, without_namespaces};
use toolhost_core::Host;

/// The variable that chooses the kind of all workspaces of the tests that take any.
pub(crate) const KIND: &str = "TOOLHOST_TEST_WORKSPACE";

/// Returns whether tests run on the workspace of an agent.
pub(crate) fn is_elsewhere() -> bool {
    std::env::var_os(KIND).is_some()
}

/// Returns whether tests run on the workspace of an agent that connects.
pub(crate) fn dials() -> bool {
    std::env::var(KIND).is_ok_and(|kind| kind == "dialled")
}

/// Opens a directory as a workspace on this machine.
pub(crate) async fn local(root: &Path) -> Arc<Local> {
    local_with(root, without_namespaces()).await
}

/// The same, with commands of this policy.
async fn local_with(root: &Path, sandbox: Policy) -> Arc<Local> {
    let config = Config {
        spawner: Some(spawner()),
        sandbox,
        ..Config::new(root.canonicalize().unwrap())
    };
    let local = Local::open(config, files::Config::new(root), &temporary()).await;
    Arc::new(local.unwrap())
}

/// What an agent offers of a workspace: everything.
pub(crate) fn offer(workspace: Arc<dyn Workspace>) -> Offer {
    Offer {
        workspace,
        files: FilesGrant::Write,
        remembers_starts: false,
        ledger: Ledger::new(Limits::default()).unwrap(),
        oversight: Oversight::default(),
    }
}

/// The configuration of a host with one agent.
pub(crate) fn agents(name: &str, url: &str) -> AgentsConfig {
    let address = Address {
        url: url.to_owned(),
        token: Secret::new(TOKEN),
        tls: TlsFiles::default(),
    };
    AgentsConfig {
        named: [(name.to_owned(), address)].into(),
        ..AgentsConfig::default()
    }
}

/// Opens the workspace of the agent at an address.
pub(crate) async fn remote(url: &str) -> Result<Arc<dyn Workspace>, String> {
    opened(agents("agent", url)).await
}

/// Opens the workspace `agent` of this configuration.
pub(crate) async fn opened(config: AgentsConfig) -> Result<Arc<dyn Workspace>, String> {
    let agents = Agents::new(config).unwrap();
    let (name, spec) = ("agent".parse().unwrap(), Spec::Agent(AgentSpec::default()));
    let opened = agents.open(&name, &spec).await;
    Ok(opened.map_err(|error| error.to_string())?.workspace)
}

/// A host to which agents connect.
pub(crate) struct Gateway {
    pub(crate) host: Host,
    pub(crate) server: Server,
    agents: Mutex<Vec<Child>>,
    directory: tempfile::TempDir,
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let builder = Host::builder(directory.path())
            .state_dir(super::shared_state("state"))
            .shared_code(super::shared_code().join("toolhost"))
            .spawner(spawner())
            .without_shell()
            .files(FilesGrant::None)
            .agents(AgentsConfig::default());
        let host = builder.start().await.unwrap();
        Self {
            server: Server::start(host.clone()).await,
            host,
            agents: Mutex::default(),
            directory,
        }
    }

    /// Starts an agent that connects to this host.
    pub(crate) fn connect(&self, name: &str, root: &Path, arguments: &[&str]) -> u32 {
        self.connect_over(&self.server.url, name, root, arguments)
    }

    /// The same, over a proxy at this address.
    pub(crate) fn connect_over(
        &self,
        url: &str,
        name: &str,
        root: &Path,
        arguments: &[&str],
    ) -> u32 {
        let state = self.directory.path().join(name);
        let agent = super::connecting::run(url, name, root, &state, arguments);
        let pid = agent.id();
        self.agents.lock().unwrap().push(agent);
        pid
    }

    /// Waits for the end of an agent that was killed.
    pub(crate) fn ended(&self, pid: u32) {
        let mut agents = self.agents.lock().unwrap();
        let at = agents.iter().position(|agent| agent.id() == pid).unwrap();
        agents.remove(at).wait().unwrap();
    }

    /// Connects an agent, and opens its workspace.
    pub(crate) async fn workspace(
        &self,
        name: &str,
        root: &Path,
        arguments: &[&str],
    ) -> Arc<dyn Workspace> {
        self.connect(name, root, arguments);
        self.open(name).await
    }

    /// Opens the workspace of an agent that connects.
    pub(crate) async fn open(&self, name: &str) -> Arc<dyn Workspace> {
        let agents = self.host.agents().unwrap();
        let (name, spec) = (name.parse().unwrap(), Spec::Agent(AgentSpec::default()));
        let begun = std::time::Instant::now();
        loop {
            match agents.open(&name, &spec).await {
                Ok(opened) => return opened.workspace,
                Err(error) => assert!(
                    begun.elapsed() < PATIENCE && error.to_string().contains("not connected"),
                    "{error}"
                ),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        for agent in self.agents.get_mut().unwrap() {
            _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(agent.id() as i32),
                nix::sys::signal::Signal::SIGTERM,
            );
        }
        for agent in self.agents.get_mut().unwrap() {
            _ = agent.wait();
        }
    }
}

/// Opens a directory as a workspace of the kind that the variable chooses. The rest is dropped after the test.
pub(crate) async fn of_any_kind(
    root: &Path,
) -> (Arc<dyn Workspace>, Option<Box<dyn Any + Send + Sync>>) {
    of_any_kind_with(root, without_namespaces(), &[]).await
}

/// The same, with commands of this policy, which an agent that connects gets as arguments.
pub(crate) async fn of_any_kind_with(
    root: &Path,
    sandbox: Policy,
    arguments: &[&str],
) -> (Arc<dyn Workspace>, Option<Box<dyn Any + Send + Sync>>) {
    let local = local_with(root, sandbox).await;
    match std::env::var(KIND).as_deref() {
        Err(_) => (local, None),
        Ok("agent" | super::cluster::KIND) => {
            let server = Server::agent(offer(local)).await;
            let remote = remote(&server.url).await.unwrap();
            (remote, Some(Box::new(server)))
        }
        Ok("dialled") => {
            let gateway = Gateway::start().await;
            let remote = gateway.workspace("agent", root, arguments).await;
            (remote, Some(Box::new(gateway)))
        }
        Ok(other) => panic!("there is no kind {other:?} of workspaces"),
    }
}
