//! Hosts behind a balancer, two agents, and their database, all of which can be lost, stopped and cut off from each other.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::balancer::Balancer;
use super::*;
use crate::harness::network::{Net, Network, Space, Way};
use crate::harness::proxy::Proxy;
use crate::harness::serving::{Serving, server};
use crate::harness::{TOKEN, connecting, is_alive};

const PASSWORD: &str = "a-password";

/// The port of servers in namespaces, where nobody else has one.
const PORT: u16 = 7411;

/// A server that is started again when it was killed.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) directory: TempDir,
    serving: Mutex<Option<Serving>>,
    /// Where the others, the balancer and clients reach it.
    pub(super) url: String,
    /// The way of these to it, and its way to the database.
    pub(super) front: Way,
    pub(super) store: Way,
    space: Option<Space>,
}

/// The agent `far`, which listens, or `near`, which connects to the balancer.
pub(super) struct Agent {
    pub(super) root: TempDir,
    pub(super) way: Way,
    /// Where `far` is reached, or `near` connects.
    url: String,
    _server: Option<Serving>,
    process: Option<Mutex<Connecting>>,
    _state: TempDir,
    _space: Option<Space>,
}

/// An agent that connects, and the command that starts it.
struct Connecting {
    command: Command,
    child: Child,
}

pub(super) struct Field {
    pub(super) hosts: Vec<Host>,
    pub(super) far: Agent,
    pub(super) near: Agent,
    pub(super) balancer: Balancer,
    pub(super) database: Mutex<postgres::Server>,
    /// The address of the database for this program.
    pub(super) url: String,
    /// Last, so that nothing is in the namespaces any more when they go.
    _network: Option<Network>,
}

impl Field {
    /// Starts three hosts and the agents, in the namespaces of a network, or with proxies between them. A host that sends no heartbeat for
    /// as long as its lease is lost.
    pub(super) async fn start(mut network: Option<Network>, lease: &str) -> Self {
        let here = |network: &Option<Network>, net| {
            let address = network.as_ref().map(|network| network.address(net, 1));
            address.unwrap_or(Ipv4Addr::LOCALHOST)
        };
        let database = postgres::Server::at(here(&network, Net::Store), PASSWORD);
        let url = database.database();
        let far = Agent::far(network.as_mut()).await;
        let mut hosts = Vec::new();
        for number in 0..3 {
            let store = format!("{}:{}", here(&network, Net::Store), database.port());
            let name = url.rsplit_once("dbname=").unwrap().1;
            let host = Host::new(number, network.as_mut(), (&store, name, lease), &far.url);
            hosts.push(host.await);
        }
        hosts.iter().for_each(Host::start);
        let urls = hosts.iter().map(|host| host.url.clone());
        let balancer = Balancer::start(here(&network, Net::Front), urls).await;
        let near = Agent::near(network.as_mut(), &balancer.url).await;
        make_near(&hosts[0].url).await;
        Self {
            hosts,
            far,
            near,
            balancer,
            database: Mutex::new(database),
            url,
            _network: network,
        }
    }

    /// How often the command of each call ran.
    pub(super) fn runs(&self) -> HashMap<usize, usize> {
        let mut runs = HashMap::new();
        for line in self.lines("ran") {
            *runs.entry(line).or_default() += 1;
        }
        runs
    }

    /// Returns the numbers that commands wrote to files of this name.
    pub(super) fn lines(&self, file: &str) -> Vec<usize> {
        let roots = self.hosts.iter().map(|host| host.directory.path());
        let roots = roots.chain([self.far.root.path(), self.near.root.path()]);
        let read = |root: &Path| std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let text: String = roots.map(read).collect();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Waits until nothing runs that wrote its number to `pids`.
    pub(super) async fn nothing_runs(&self) {
        for pid in self.lines("pids") {
            let what = format!("{pid} has ended");
            until(&what, || {
                let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
                let is_ours = command.is_ok_and(|command| command.contains("1000"));
                (!is_ours || !is_alive(pid as u32)).then_some(())
            })
            .await;
        }
    }
}

/// Makes the workspace of the agent `near`. A host that has just started refuses that with 503 while the others of its database start
/// and keep it waiting.
async fn make_near(url: &str) {
    let (client, begun) = (crate::harness::client(), Instant::now());
    loop {
        let made = client.put(format!("{url}/v1/workspaces/near"));
        let made = made
            .bearer_auth(TOKEN)
            .json(&json!({ "provider": "agent" }));
        let answer = made.send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        if status == 200 {
            return;
        }
        assert!(
            status == 503 && begun.elapsed() < PATIENCE,
            "{status}: {text}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

impl Host {
    async fn new(
        number: usize,
        network: Option<&mut Network>,
        (store, database, lease): (&str, &str, &str),
        far: &str,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let name = format!("host-{number}");
        let (space, url, front, way, store) = match network {
            Some(network) => {
                let space = network.space();
                let way = |net| network.way(net, space.number());
                let address = network.address(Net::Front, space.number());
                let (front, way) = (way(Net::Front), way(Net::Store));
                let url = format!("http://{address}:{PORT}");
                (Some(space), url, front, way, store.to_owned())
            }
            None => {
                // It has no target before the server has an address.
                let front = Proxy::to("http://127.0.0.1:1").await;
                let way = Proxy::to(&format!("tcp://{store}")).await;
                let (url, store) = (front.url.clone(), way.url.replace("http://", ""));
                (None, url, Way::Proxy(front), Way::Proxy(way), store)
            }
        };
        let text = format!(
            "[store]\nurl = \"postgres://toolhost:{PASSWORD}@{store}/{database}?sslmode=disable\"\nlease = \"{lease}\"\n\
             connections = 8\nname = {name:?}\naddress = {url:?}\n[cluster]\nforward = true\n\
             [workspaces.agents.far]\nurl = {far:?}\ntoken = {TOKEN:?}\n"
        );
        std::fs::write(directory.path().join("toolhost.toml"), text).unwrap();
        Self {
            name,
            directory,
            serving: Mutex::default(),
            url,
            front,
            store: way,
            space,
        }
    }

    pub(super) fn start(&self) {
        let mut command = server(self.directory.path());
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["--log", "error", "--config"]);
        command.arg(self.directory.path().join("toolhost.toml"));
        command.args(["serve", "--drain", "5m"]);
        let serving = match &self.space {
            Some(space) => {
                // That of the balancer.
                let balancer = space.gateway().to_string();
                command.args(["--allow-host", &balancer]);
                let address = self.url.strip_prefix("http://").unwrap();
                Serving::at(space.within(&command), address)
            }
            None => Serving::of(command),
        };
        if let Way::Proxy(front) = &self.front {
            front.retarget(&serving.url);
        }
        *self.serving.lock().unwrap() = Some(serving);
    }

    pub(super) fn signal(&self, signal: Signal) {
        let serving = self.serving.lock().unwrap();
        let pid = serving.as_ref().unwrap().child.id();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// Waits for the end of the server.
    pub(super) async fn ended(&self) -> std::process::ExitStatus {
        let serving = self.serving.lock().unwrap().take();
        let ended = tokio::task::spawn_blocking(move || serving.unwrap().child.wait());
        ended.await.unwrap().unwrap()
    }
}

impl Agent {
    async fn far(network: Option<&mut Network>) -> Self {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let command = connecting::command(root.path(), state.path());
        let (serving, way, url, space) = match network {
            Some(network) => {
                let space = network.space();
                let address = network.address(Net::Front, space.number());
                let way = network.way(Net::Front, space.number());
                let serving = Serving::at(space.within(&command), &format!("{address}:{PORT}"));
                (
                    serving,
                    way,
                    format!("http://{address}:{PORT}"),
                    Some(space),
                )
            }
            None => {
                let serving = Serving::of(command);
                let proxy = Proxy::to(&serving.url).await;
                let url = proxy.url.clone();
                (serving, Way::Proxy(proxy), url, None)
            }
        };
        Self {
            root,
            way,
            url,
            _server: Some(serving),
            process: None,
            _state: state,
            _space: space,
        }
    }

    async fn near(network: Option<&mut Network>, balancer: &str) -> Self {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut command = connecting::command(root.path(), state.path());
        let (way, url, space) = match network {
            Some(network) => {
                let space = network.space();
                command = space.within(&command);
                let way = network.way(Net::Front, space.number());
                (way, balancer.to_owned(), Some(space))
            }
            None => {
                let proxy = Proxy::to(balancer).await;
                let url = proxy.url.clone();
                (Way::Proxy(proxy), url, None)
            }
        };
        let address = url.replace("http://", "ws://") + "/agents";
        command.args(["--connect", &address, "--name", "near"]);
        Self {
            root,
            way,
            url,
            _server: None,
            process: Some(Mutex::new(Connecting {
                child: command.spawn().unwrap(),
                command,
            })),
            _state: state,
            _space: space,
        }
    }

    /// Kills an agent that connects, with all that it runs, and starts it again.
    pub(super) fn restart(&self) {
        let process = self.process.as_ref().unwrap();
        let mut process = process.lock().unwrap();
        process.end();
        process.child = process.command.spawn().unwrap();
    }
}

impl Connecting {
    fn end(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        self.end();
    }
}
