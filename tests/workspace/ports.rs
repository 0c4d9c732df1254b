//! The TCP ports of commands: which are listed, and connections to them.

use super::*;

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use toolhost_needs::needs;
use toolhost_sandbox::Policy;
use toolhost_workspace::Connection;
use toolhost_workspace::process::{Mode, Narrower, Network, Port};

/// Answers with what it reads, and with `end` after its end.
const ECHO: &str = r#"
import socket, sys, threading
host = sys.argv[1]
server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind((host, int(sys.argv[2])))
server.listen()
def serve(client):
    while data := client.recv(65536):
        client.sendall(data)
    client.sendall(b"end")
    client.close()
while True:
    client, _ = server.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
"#;

/// How commands are confined.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Off,
    Landlock,
    Namespaces,
    NoNetwork,
}

const KINDS: [Kind; 4] = [Kind::Off, Kind::Landlock, Kind::Namespaces, Kind::NoNetwork];

impl Kind {
    /// Opens a workspace with such commands; `None` if the kind of workspaces that is tested has none.
    async fn place(self) -> Option<Place> {
        let (policy, arguments) = match self {
            Self::Off => (
                Policy {
                    mode: Mode::Off,
                    ..Policy::default()
                },
                &["--sandbox", "off"][..],
            ),
            Self::Landlock => (crate::harness::without_namespaces(), &[][..]),
            // Agents that connect are started without namespaces.
            Self::Namespaces | Self::NoNetwork if elsewhere::dials() => return None,
            Self::Namespaces | Self::NoNetwork => (Policy::default(), &[][..]),
        };
        Some(Place::with(policy, arguments).await)
    }

    fn narrower(self) -> Narrower {
        Narrower {
            network: (self == Self::NoNetwork).then_some(Network::None),
            ..Narrower::default()
        }
    }
}

impl Place {
    /// Starts a server for a chat, and returns its process.
    async fn serve(&self, owner: &str, host: &str, port: u16, kind: Kind) -> String {
        std::fs::write(self.root.path().join("echo.py"), ECHO).unwrap();
        let text = format!("exec python3 echo.py {host} {port}");
        let command = Command {
            sandbox: kind.narrower(),
            ..command(&text)
        };
        self.start_for(owner, command).await.unwrap().0
    }

    async fn ports(&self, owner: &str, process: Option<&str>, within: Duration) -> Vec<Port> {
        let chat = chat(owner);
        let ports = self.workspace.list_ports(&chat, process, within);
        ports.await.unwrap()
    }

    /// Waits until a process listens on a port, and returns the port.
    async fn port_of(&self, owner: &str, process: &str) -> u16 {
        let ports = self.ports(owner, Some(process), PATIENCE).await;
        assert_eq!(ports.len(), 1, "{ports:?}");
        assert_eq!(ports[0].process, process);
        ports[0].number
    }

    async fn connect(&self, owner: &str, port: u16) -> Result<Box<dyn Connection>, Error> {
        let connecting = tokio::time::timeout(PATIENCE, async {
            self.workspace.connect(&chat(owner), port).await
        });
        connecting.await.unwrap()
    }

    async fn refused(&self, owner: &str, port: u16) {
        let refused = self.connect(owner, port).await.err();
        assert_eq!(refused, Some(Error::NotListening(port)));
    }

    /// Sends a text to an echo, ends it, and checks the answer.
    async fn echoes(&self, owner: &str, port: u16) {
        let mut connection = self.connect(owner, port).await.unwrap();
        connection.write_all(b"one").await.unwrap();
        connection.flush().await.unwrap();
        let mut bytes = [0; 3];
        connection.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"one");
        connection.shutdown().await.unwrap();
        let mut rest = String::new();
        connection.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "end");
    }
}

#[needs(program = "python3")]
#[tokio::test]
async fn bytes_pass_in_both_directions_whatever_confines_the_command() {
    const LENGTH: usize = 8 << 20;
    for kind in KINDS {
        let Some(place) = kind.place().await else {
            continue;
        };
        let id = place.serve("a", "127.0.0.1", 0, kind).await;
        let port = place.port_of("a", &id).await;
        place.echoes("a", port).await;
        let connection = place.connect("a", port).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(connection);
        let sent: Vec<u8> = (0..LENGTH).map(|index| (index % 251) as u8).collect();
        let copy = sent.clone();
        let sending = tokio::spawn(async move {
            writer.write_all(&copy).await.unwrap();
            writer.shutdown().await.unwrap();
            writer
        });
        let mut received = Vec::new();
        let reading = tokio::time::timeout(PATIENCE, reader.read_to_end(&mut received));
        reading.await.unwrap().unwrap();
        sending.await.unwrap();
        assert!(received.ends_with(b"end"), "{kind:?}");
        assert!(received[..LENGTH] == sent, "{kind:?}");
        assert_eq!(received.len(), LENGTH + 3);
    }
}

#[needs(program = "python3")]
#[tokio::test]
async fn only_the_ports_of_the_chat_are_reached() {
    // The port of this program, which runs beside the host.
    let own = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = own.local_addr().unwrap().port();
    for kind in KINDS {
        let Some(place) = kind.place().await else {
            continue;
        };
        let id = place.serve("a", "0.0.0.0", 0, kind).await;
        let port = place.port_of("a", &id).await;
        let other = place.serve("b", "127.0.0.1", 0, kind).await;
        let other = place.port_of("b", &other).await;
        place.echoes("a", port).await;
        place.echoes("b", other).await;
        // In namespaces of their own, both chats can have the same port.
        if other != port {
            place.refused("a", other).await;
            place.refused("b", port).await;
        }
        place.refused("a", own).await;
        let listed = place.ports("a", None, Duration::ZERO).await;
        let numbers: Vec<_> = listed.iter().map(|port| port.number).collect();
        assert_eq!(numbers, [port], "{kind:?}");
        let ended = place.workspace.end(Some(&chat("a")), &id).await;
        ended.unwrap();
        place.refused("a", port).await;
        assert_eq!(place.ports("a", None, PATIENCE).await, []);
    }
}

#[needs(program = "python3")]
#[tokio::test]
async fn every_address_of_a_command_is_connected_to() {
    for kind in [Kind::Off, Kind::NoNetwork] {
        let Some(place) = kind.place().await else {
            continue;
        };
        for host in ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "::"] {
            let id = place.serve("a", host, 0, kind).await;
            let port = place.port_of("a", &id).await;
            place.echoes("a", port).await;
        }
        assert_eq!(place.ports("a", None, Duration::ZERO).await.len(), 5);
    }
}

#[needs(program = "python3")]
#[tokio::test]
async fn a_port_that_another_program_shares_is_not_offered() {
    if elsewhere::is_elsewhere() {
        return;
    }
    let place = Kind::Off.place().await.unwrap();
    let id = place.serve("a", "127.0.0.1", 0, Kind::Off).await;
    let port = place.port_of("a", &id).await;
    let other = place.serve("b", "127.0.0.1", port, Kind::Off).await;
    let shared = async {
        while !place.ports("a", None, Duration::ZERO).await.is_empty() {
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(PATIENCE, shared).await.unwrap();
    place.refused("a", port).await;
    place.refused("b", port).await;
    let ended = place.workspace.end(Some(&chat("b")), &other).await;
    ended.unwrap();
    place.echoes("a", port).await;
}

#[needs(program = "python3")]
#[tokio::test]
async fn a_file_is_served_over_http() {
    let place = Kind::Landlock.place().await.unwrap();
    std::fs::write(place.root.path().join("page.txt"), "a page").unwrap();
    let id = place
        .start("exec python3 -m http.server 0 --bind 127.0.0.1")
        .await;
    let port = place.port_of("a", &id).await;
    let mut connection = place.connect("a", port).await.unwrap();
    let request = b"GET /page.txt HTTP/1.0\r\n\r\n";
    connection.write_all(request).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\na page"), "{answer}");
}

/// The server ends its direction first, and reads on.
#[needs(program = "python3")]
#[tokio::test]
async fn each_direction_ends_on_its_own() {
    let place = Kind::Landlock.place().await.unwrap();
    let script = r#"
import socket
server = socket.create_server(("127.0.0.1", 0))
client, _ = server.accept()
client.sendall(b"hi")
client.shutdown(socket.SHUT_WR)
count = 0
while data := client.recv(65536):
    count += len(data)
open("count", "w").write(f"{count}\n")
"#;
    std::fs::write(place.root.path().join("server.py"), script).unwrap();
    let id = place.start("exec python3 server.py").await;
    let port = place.port_of("a", &id).await;
    let mut connection = place.connect("a", port).await.unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hi");
    connection.write_all(&vec![7; 1 << 20]).await.unwrap();
    connection.shutdown().await.unwrap();
    let count = file(&place.root.path().join("count")).await;
    assert_eq!(count.trim(), (1 << 20).to_string());
}

#[needs(program = "python3")]
#[tokio::test]
async fn a_wait_ends_when_a_port_is_there_or_the_command_has_ended() {
    let place = Kind::Landlock.place().await.unwrap();
    std::fs::write(place.root.path().join("echo.py"), ECHO).unwrap();
    let fifo = place.root.path().join("go");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let id = place
        .start("read -r line < go; exec python3 echo.py 127.0.0.1 0")
        .await;
    assert_eq!(place.ports("a", Some(&id), Duration::ZERO).await, []);
    let listed = place.ports("a", Some(&id), PATIENCE);
    let (ports, ()) = tokio::join!(listed, async {
        tokio::fs::write(&fifo, "go\n").await.unwrap();
    });
    assert_eq!(ports.len(), 1);
    // A command that ends without a port ends the wait.
    let ends = place.start("read -r line < go").await;
    let begun = std::time::Instant::now();
    let listed = place.ports("a", Some(&ends), PATIENCE);
    let (ports, ()) = tokio::join!(listed, async {
        tokio::fs::write(&fifo, "go\n").await.unwrap();
    });
    assert_eq!(ports, []);
    assert!(begun.elapsed() < PATIENCE);
    let unknown = place
        .workspace
        .list_ports(&chat("b"), Some(&id), Duration::ZERO)
        .await;
    assert_eq!(unknown, Err(Error::NotFound(id)));
}

#[needs(program = "python3")]
#[tokio::test]
async fn connections_are_bounded_and_give_their_places_back() {
    let place = Kind::Landlock.place().await.unwrap();
    let id = place.serve("a", "127.0.0.1", 0, Kind::Landlock).await;
    let port = place.port_of("a", &id).await;
    let mut open = Vec::new();
    for _ in 0..toolhost_workspace::process::MAX_CONNECTIONS {
        open.push(place.connect("a", port).await.unwrap());
    }
    let refused = place.connect("a", port).await.err();
    assert!(
        matches!(refused, Some(Error::Busy(_) | Error::Unavailable(_))),
        "{refused:?}"
    );
    // Other operations go on beside them.
    assert_eq!(place.ports("a", None, Duration::ZERO).await.len(), 1);
    drop(open);
    let free = async {
        while place.connect("a", port).await.is_err() {
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(PATIENCE, free).await.unwrap();
}

/// Bytes that a server does not read hold up nothing else, and are not kept in memory.
#[needs(program = "python3")]
#[tokio::test]
async fn a_connection_that_stands_still_takes_no_more_bytes() {
    /// More than all buffers on the way.
    const MOST: usize = 64 << 20;
    let place = Kind::Landlock.place().await.unwrap();
    let text = "import socket, time; s = socket.create_server((\"127.0.0.1\", 0)); c = s.accept(); time.sleep(600)";
    let id = place.start(&format!("exec python3 -c '{text}'")).await;
    let port = place.port_of("a", &id).await;
    let mut still = place.connect("a", port).await.unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let sending = tokio::spawn(async move {
        let piece = vec![7; 1 << 16];
        while let Ok(written @ 1..) = still.write(&piece).await {
            count.fetch_add(written, Ordering::Relaxed);
        }
    });
    let other = place.serve("a", "127.0.0.1", 0, Kind::Landlock).await;
    let other = place.port_of("a", &other).await;
    loop {
        let before = sent.load(Ordering::Relaxed);
        for _ in 0..10 {
            place.echoes("a", other).await;
        }
        let now = sent.load(Ordering::Relaxed);
        assert!(now < MOST, "nothing holds it up");
        if now == before && now > 0 {
            break;
        }
    }
    assert!(!sending.is_finished());
    sending.abort();
}
