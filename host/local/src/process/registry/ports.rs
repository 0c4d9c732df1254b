//! The TCP ports on which the commands of a chat listen, and connections to them.
//!
//! A port is that of a chat if processes of its commands have all the sockets open to which a connection would go. So neither the ports of
//! other chats nor those of the machine are reached, whether or not they share a network namespace. Where the commands have namespaces of
//! their own, the spawner of the chat makes the socket in them.
//!
//! Commands that an earlier host started are reached if they share the network of this host: this one has no spawner in their namespaces.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::Registry;
use crate::process::confinement::SharedSandboxes;
use crate::process::contain::{Listening, Spawner, has_socket, open_among, tcp_socket};
use crate::process::running::Process;
use crate::process::{Error, Port};
use toolhost_state::id::ChatId;

/// How often a wait for a port looks. Nothing tells when a program begins to listen.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The most processes of one command that are looked at.
const MOST_PROCESSES: usize = 1024;

/// How long a server may take to accept a connection. The kernel accepts it for the server, unless too many wait already.
const ACCEPTS_WITHIN: Duration = Duration::from_secs(10);

/// The live commands of a chat, oldest first, and their sandboxes.
struct Commands {
    live: Vec<Arc<Process>>,
    sandboxes: SharedSandboxes,
}

/// An address at which a chat listens, and at which nothing else does.
#[derive(Clone, Debug)]
struct Place {
    /// The id of the command.
    process: String,
    /// The address to connect to.
    address: SocketAddr,
    /// The numbers of the sockets that listen there.
    sockets: HashSet<u64>,
    /// The spawner in the namespaces of the command; `None`: the command shares the network of this host.
    spawner: Option<Spawner>,
}

impl Registry {
    /// Returns the ports on which commands of a chat listen: see [`ListPorts`](toolhost_workspace::operation::ListPorts).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat has no such process, and [`Error::Closed`] if the registry closes while it waits.
    pub(crate) async fn list_ports(
        &self,
        chat: &ChatId,
        process: Option<&str>,
        within: Duration,
    ) -> Result<Vec<Port>, Error> {
        let begun = Instant::now();
        loop {
            let waited_for = match process {
                Some(id) => vec![self.get(chat, id)?],
                None => self.commands(chat).live,
            };
            let is_over = !waited_for.iter().any(|one| one.state().is_live());
            let places = self.places(chat).await?;
            let mut ports = BTreeMap::new();
            for place in places {
                if process.is_none_or(|id| id == place.process) {
                    let number = place.address.port();
                    ports.entry(number).or_insert(place.process);
                }
            }
            let left = within.saturating_sub(begun.elapsed());
            if !ports.is_empty() || is_over || left.is_zero() {
                let ports = ports.into_iter();
                let ports = ports.map(|(number, process)| Port { number, process });
                return Ok(ports.collect());
            }
            if self.chats().closed {
                return Err(Error::Closed);
            }
            let ends = waited_for.iter().map(|one| Box::pin(one.until_over()));
            _ = timeout(LOOK_EVERY.min(left), select_all(ends)).await;
        }
    }

    /// Connects to a port on which a command of a chat listens.
    ///
    /// # Errors
    ///
    /// [`Error::NotListening`], or [`Error::Failed`] if the system refuses, or the server accepts no connection.
    pub(crate) async fn connect(&self, chat: &ChatId, port: u16) -> Result<TcpStream, Error> {
        let mut places = self.places(chat).await?;
        places.retain(|place| place.address.port() == port);
        let mut failed = Error::NotListening(port);
        for place in places {
            match self.connect_to(chat, &place).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    async fn connect_to(&self, chat: &ChatId, place: &Place) -> Result<TcpStream, Error> {
        let (address, spawner) = (place.address, place.spawner.clone());
        let port = address.port();
        let refused = |error: io::Error| match error.kind() {
            // It stopped to listen, or does so at another address.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::AddrNotAvailable => {
                Error::NotListening(port)
            }
            _ => Error::Failed(format!("cannot connect to port {port}: {error}")),
        };
        let made = spawn_blocking(move || match spawner {
            Some(spawner) => spawner.tcp_socket(address.is_ipv6()),
            None => tcp_socket(address.is_ipv6()),
        });
        let socket = made.await.map_err(lost)?.map_err(refused)?;
        let inode = rustix::fs::fstat(&socket).map_err(|errno| refused(errno.into()))?;
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = timeout(ACCEPTS_WITHIN, socket.connect(address)).await;
        let stream = stream.map_err(|_| {
            let seconds = ACCEPTS_WITHIN.as_secs();
            Error::Failed(format!(
                "the server on port {port} accepts no connection within {seconds} s"
            ))
        })?;
        let stream = stream.map_err(refused)?;
        // The port may have changed hands meanwhile. Nothing was sent yet.
        self.confirm(chat, place, inode.st_ino).await?;
        _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// Checks that a connected socket is in the namespace of the command, and that the sockets listen there which did before.
    async fn confirm(&self, chat: &ChatId, place: &Place, inode: u64) -> Result<(), Error> {
        let port = place.address.port();
        let now = self.places(chat).await?;
        let is_same = |now: &Place| {
            now.address == place.address
                && now.process == place.process
                && !now.sockets.is_disjoint(&place.sockets)
        };
        if !now.iter().any(is_same) {
            return Err(Error::NotListening(port));
        }
        let of = place.spawner.as_ref().map(pid);
        match spawn_blocking(move || has_socket(of, inode)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::Failed(format!(
                "the server on port {port} closed the connection at once"
            ))),
            Err(error) => Err(lost(error)),
        }
    }

    /// Returns the addresses at which the commands of a chat listen.
    async fn places(&self, chat: &ChatId) -> Result<Vec<Place>, Error> {
        let commands = self.commands(chat);
        if commands.live.is_empty() {
            return Ok(Vec::new());
        }
        spawn_blocking(move || places(&commands))
            .await
            .map_err(lost)
    }

    fn commands(&self, chat: &ChatId) -> Commands {
        let owner = Some(chat.clone());
        let mut chats = self.chats();
        let chat = chats.used(&owner);
        let mut commands = Commands {
            live: Vec::new(),
            sandboxes: SharedSandboxes::default(),
        };
        if let Some(chat) = chat {
            commands.live.clone_from(&chat.processes);
            commands.sandboxes = Arc::clone(&chat.confined);
        }
        drop(chats);
        commands.live.retain(|process| process.state().is_live());
        commands
    }
}

/// Looks at the sockets of the commands of a chat. Blocks.
fn places(commands: &Commands) -> Vec<Place> {
    let mut namespaces: Vec<(Option<Spawner>, Vec<&Process>)> = Vec::new();
    for process in &commands.live {
        let spawner = process.contained.spawner_of_chat();
        let spawner = spawner.and_then(|pid| commands.sandboxes.lock().spawner(pid));
        let known = namespaces
            .iter_mut()
            .find(|(known, _)| known.as_ref().map(pid) == spawner.as_ref().map(pid));
        match known {
            Some((_, processes)) => processes.push(process),
            None => namespaces.push((spawner, vec![process])),
        }
    }
    let places = namespaces
        .into_iter()
        .flat_map(|(spawner, processes)| places_within(spawner.as_ref(), &processes));
    places.collect()
}

/// Looks at the sockets of commands that share a network namespace.
fn places_within(spawner: Option<&Spawner>, processes: &[&Process]) -> Vec<Place> {
    let listening = Listening::read(spawner.map(pid));
    let inodes = listening.inodes();
    if inodes.is_empty() {
        return Vec::new();
    }
    // A socket that several commands have open is that of the first one.
    let mut owners = HashMap::new();
    for process in processes {
        let pids = process.contained.processes(MOST_PROCESSES);
        for inode in open_among(&pids, &inodes) {
            owners.entry(inode).or_insert_with(|| process.id());
        }
    }
    let own = owners.keys().copied().collect();
    let mut places: Vec<Place> = Vec::new();
    for socket in listening.with(&own) {
        for address in socket.targets() {
            let receivers = listening.receivers(address);
            let is_known = places.iter().any(|place| place.address == address);
            if !is_known
                && receivers.contains(&socket.inode)
                && receivers.iter().all(|receiver| own.contains(receiver))
                && let Some(process) = owners.get(&socket.inode)
            {
                places.push(Place {
                    process: (*process).to_owned(),
                    address,
                    sockets: receivers.into_iter().collect(),
                    spawner: spawner.cloned(),
                });
            }
        }
    }
    places
}

/// Returns the process id of a spawner, whose namespaces are those of the commands below it.
fn pid(spawner: &Spawner) -> i32 {
    spawner.pid().cast_signed()
}

#[expect(clippy::needless_pass_by_value, reason = "this maps errors")]
fn lost(error: tokio::task::JoinError) -> Error {
    Error::Failed(error.to_string())
}
