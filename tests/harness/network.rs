//! Networks that lose what is sent over them: network namespaces where this process may make them, and proxies elsewhere.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use super::proxy::Proxy;

/// A network namespace with addresses in the networks of its [`Network`].
#[derive(Debug)]
pub(crate) struct Space {
    name: String,
    /// The number of its addresses.
    number: u8,
    /// The address of this machine for clients and agents.
    gateway: Ipv4Addr,
}

/// Two networks, each a bridge: one for clients and agents, and one for the database. The first address of each is this machine's.
#[derive(Debug)]
pub(crate) struct Network {
    id: String,
    subnet: u8,
    spaces: Vec<String>,
}

/// The number of a network: the one of clients and agents, and the one of the database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Net {
    Front,
    Store,
}

/// A way that can be made silent: nothing that is sent over it arrives, and nobody hears of that.
#[derive(Debug)]
pub(crate) enum Way {
    Proxy(Proxy),
    /// An end of a pair of interfaces, and its bridge.
    Veth {
        name: String,
        bridge: String,
    },
}

impl Network {
    /// Makes the bridges. This needs root.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let network = Self {
            id: format!("t{}n{number}", std::process::id()),
            subnet: (std::process::id() as u8 ^ number) | 64,
            spaces: Vec::new(),
        };
        for net in [Net::Front, Net::Store] {
            let (bridge, address) = (network.bridge(net), network.address(net, 1));
            ip(&format!("link add {bridge} type bridge"));
            ip(&format!("addr add {address}/24 dev {bridge}"));
            ip(&format!("link set {bridge} up"));
        }
        network
    }

    fn bridge(&self, net: Net) -> String {
        format!("{}b{}", self.id, net as u8)
    }

    /// Returns an address in a network.
    pub(crate) fn address(&self, net: Net, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, self.subnet, net as u8, number)
    }

    /// Makes a namespace with an interface in both networks.
    pub(crate) fn space(&mut self) -> Space {
        let number = self.spaces.len() as u8 + 10;
        let name = format!("{}s{number}", self.id);
        ip(&format!("netns add {name}"));
        self.spaces.push(name.clone());
        ip(&format!("-n {name} link set lo up"));
        for net in [Net::Front, Net::Store] {
            let inside = format!("eth{}", net as u8);
            let Way::Veth {
                name: outside,
                bridge,
            } = self.way(net, number)
            else {
                unreachable!("a network has no proxies");
            };
            let address = self.address(net, number);
            ip(&format!(
                "link add {outside} type veth peer name {inside} netns {name}"
            ));
            ip(&format!("link set {outside} master {bridge} up"));
            ip(&format!("-n {name} addr add {address}/24 dev {inside}"));
            ip(&format!("-n {name} link set {inside} up"));
        }
        Space {
            name,
            number,
            gateway: self.address(Net::Front, 1),
        }
    }

    /// Returns the way from a namespace into a network.
    pub(crate) fn way(&self, net: Net, number: u8) -> Way {
        Way::Veth {
            name: format!("{}v{}{number}", self.id, net as u8),
            bridge: self.bridge(net),
        }
    }
}

impl Space {
    /// Returns the number of its addresses.
    pub(crate) fn number(&self) -> u8 {
        self.number
    }

    /// Returns the address of this machine in the network of clients and agents.
    pub(crate) fn gateway(&self) -> Ipv4Addr {
        self.gateway
    }

    /// Has a command run in the namespace.
    pub(crate) fn within(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]);
        inside.arg(command.get_program()).args(command.get_args());
        inside.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                inside.env(name, value);
            }
        }
        inside
    }
}

impl Way {
    /// Lets nothing arrive any more.
    pub(crate) fn silence(&self) {
        match self {
            Self::Proxy(proxy) => proxy.freeze_all(),
            Self::Veth { name, .. } => ip(&format!("link set {name} nomaster")),
        }
    }

    /// Lets everything arrive again.
    pub(crate) fn mend(&self) {
        match self {
            Self::Proxy(proxy) => proxy.thaw(),
            Self::Veth { name, bridge } => ip(&format!("link set {name} master {bridge}")),
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.spaces {
            ip(&format!("netns del {name}"));
        }
        for net in [Net::Front, Net::Store] {
            ip(&format!("link del {}", self.bridge(net)));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test changes its networks")]
fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    let done = done.unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success() || std::thread::panicking(),
        "ip {arguments}: {said}"
    );
}
