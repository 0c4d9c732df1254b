//! What the sandbox leaves open by default, which an operator should know.

use nix::unistd::Uid;
use toolhost_sandbox::{Mode, Network, Policy};

use super::Check;

/// Returns the checks of the network and of the limits of commands; none if the sandbox is off.
pub(super) fn checks(policy: &Policy) -> Vec<Check> {
    match policy.mode {
        Mode::Off => Vec::new(),
        Mode::ReadOnly | Mode::Workspace => vec![network(&policy.network), limits(policy)],
    }
}

fn network(network: &Network) -> Check {
    const NAME: &str = "network";
    match network {
        Network::All => Check::warning(
            NAME,
            "commands reach every host that this machine reaches, its own services and the local network included",
            "name the hosts that they need in --sandbox-network, or write --sandbox-network none",
        ),
        Network::None => Check::ok(NAME, "commands reach no host"),
        Network::Hosts(hosts) => {
            let count = hosts.len();
            Check::ok(
                NAME,
                format!("commands reach the hosts of a list with {count} entries"),
            )
        }
    }
}

fn limits(policy: &Policy) -> Check {
    const NAME: &str = "limits";
    let limits = &policy.limits;
    let missing = [
        ("memory", "--sandbox-memory", limits.memory.is_none()),
        (
            "processes",
            "--sandbox-processes",
            limits.processes.is_none() || Uid::effective().is_root(),
        ),
        ("CPU time", "--sandbox-cpu", limits.cpu.is_none()),
        (
            "the size of a file",
            "--sandbox-file-size",
            limits.file_size.is_none(),
        ),
    ];
    let missing = missing.iter().filter(|(_, _, is_missing)| *is_missing);
    let (names, options): (Vec<_>, Vec<_>) =
        missing.map(|(name, option, _)| (*name, *option)).unzip();
    match names.is_empty() {
        true => Check::ok(
            NAME,
            "memory, processes, CPU time and files of each command have a limit",
        ),
        false => Check::warning(
            NAME,
            format!("nothing limits {}", names.join(", ")),
            format!(
                "set {}, and limit all commands together by the cgroup of the service",
                options.join(", ")
            ),
        ),
    }
}
