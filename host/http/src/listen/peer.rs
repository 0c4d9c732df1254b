//! The process at the other end of a connection: whether it is a command of a tool.

mod diag;
mod holders;

use std::net::SocketAddr;
use std::sync::Once;

use toolhost_state::proc;

use holders::{Found, Search};

/// The name of the processes that start commands, as containment gives it.
const SPAWNER: &str = "toolhost-spawn";

/// The names of the processes that every command of a host runs below. A supervisor that keeps its command without a host has a name
/// of its own.
const ABOVE_COMMANDS: [&str; 3] = ["toolhost-super", "toolhost-kept", SPAWNER];

/// The most steps from a process up to the first.
const MOST_STEPS: usize = 1024;

/// Returns whether a process runs, and is no command of this host or another one: a command that calls tools without a token would
/// act in any chat.
pub(super) fn is_no_command(pid: i32) -> bool {
    let mut pid = pid;
    for _ in 0..MOST_STEPS {
        let (Some(name), Some(status)) = (proc::name(pid), proc::status(pid)) else {
            return false;
        };
        if ABOVE_COMMANDS.contains(&name.as_str()) {
            return false;
        }
        // The first process of a namespace has no parent.
        if status.parent == 0 {
            return true;
        }
        pid = status.parent;
    }
    false
}

/// Returns whether a command of this host may be the client of a TCP connection, given the addresses of both ends. Reads `/proc`, and
/// so blocks, if the client is on this machine and this host runs commands.
///
/// A client that has closed its socket counts as a command, because no process can be asked any more.
pub(super) fn may_be_command(client: SocketAddr, server: SocketAddr) -> bool {
    let socket = match diag::find(client, server) {
        Ok(Some(socket)) => socket,
        Ok(None) => return client.ip().to_canonical().is_loopback() && has_left(client, server),
        Err(error) => {
            static WARNED: Once = Once::new();
            WARNED.call_once(|| {
                tracing::warn!(%error, "the processes of clients cannot be found: with a token, commands can use the server");
            });
            return false;
        }
    };
    if socket.inode == 0 {
        return true;
    }
    let own = std::process::id().cast_signed();
    let mut spawners = proc::children(own);
    spawners.retain(|pid| proc::name(*pid).is_some_and(|name| name == SPAWNER));
    let mut search = Search::new(socket.inode);
    match search.below(&spawners) {
        Found::Held(_) => true,
        Found::None => false,
        // A command hides descriptors. As root, it can also change its user.
        Found::Unclear => {
            let user = nix::unistd::geteuid();
            (user.is_root() || user.as_raw() == socket.user) && !is_held_elsewhere(&mut search)
        }
    }
}

/// Returns whether a client on this machine has closed its connection. If it has not, the machine translates its address or port.
fn has_left(client: SocketAddr, server: SocketAddr) -> bool {
    let own = diag::find(server, client);
    !own.is_ok_and(|own| own.is_some_and(|own| own.is_established))
}

fn is_held_elsewhere(search: &mut Search) -> bool {
    match search.elsewhere() {
        Found::Held(pid) => is_no_command(pid),
        Found::None | Found::Unclear => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_process_that_runs_is_told_from_one_that_does_not() {
        for pid in [0, -1, i32::MAX] {
            assert!(!is_no_command(pid), "{pid}");
        }
    }

    /// Connects over an address, and returns both ends.
    fn connect(address: &str) -> (TcpStream, TcpStream, [SocketAddr; 2]) {
        let listener = TcpListener::bind(address).unwrap();
        let mut to = listener.local_addr().unwrap();
        if to.ip().is_unspecified() {
            to.set_ip([127, 0, 0, 1].into());
        }
        let client = TcpStream::connect(to).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let ends = [peer, server.local_addr().unwrap()];
        (client, server, ends)
    }

    #[test]
    fn the_socket_of_a_client_is_found_until_it_is_closed() {
        // The last one sees clients of IPv4 with mapped addresses.
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let (client, _server, [peer, own]) = connect(address);
            let socket = diag::find(peer, own).unwrap().unwrap();
            assert_eq!(socket.user, nix::unistd::geteuid().as_raw());
            let held = Search::new(socket.inode).elsewhere();
            let this = std::process::id().cast_signed();
            assert_eq!(held, Found::Held(this), "{address}");
            assert!(!may_be_command(peer, own), "{address}");
            drop(client);
            assert!(may_be_command(peer, own), "{address}");
        }
    }

    /// Commands of other hosts may have any number of descriptors.
    #[test]
    fn a_process_below_a_spawner_is_not_searched() {
        let directory = tempfile::tempdir().unwrap();
        let (client, _server, [peer, own]) = connect("127.0.0.1:0");
        let inode = diag::find(peer, own).unwrap().unwrap().inode;
        for (name, is_found) in [("sleep", true), (SPAWNER, false)] {
            let program = directory.path().join(name);
            std::fs::copy("/bin/sleep", &program).unwrap();
            let stdin = std::os::fd::OwnedFd::from(client.try_clone().unwrap());
            #[expect(clippy::disallowed_methods, reason = "no command of a tool")]
            let mut command = std::process::Command::new(program);
            let mut child = command.arg("1000").stdin(stdin).spawn().unwrap();
            let pid = child.id().cast_signed();
            let mut search = Search::new(inode);
            // This process has it as well.
            search.pass_over(std::process::id().cast_signed());
            let found = search.elsewhere();
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(found == Found::Held(pid), is_found, "{name}: {found:?}");
        }
    }

    #[test]
    fn a_client_on_another_machine_has_no_socket_here() {
        let (client, server) = ("192.0.2.1:4000", "192.0.2.2:4001");
        let [client, server] = [client, server].map(|address| address.parse().unwrap());
        assert!(diag::find(client, server).unwrap().is_none());
        assert!(!may_be_command(client, server));
    }
}
