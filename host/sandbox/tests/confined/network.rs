//! Tests of the network: `none`, `all`, and sockets that are always refused.

use std::net::{TcpListener, UdpSocket};

use nix::libc::*;
use toolhost_sandbox::Network;

use crate::fixture::{self, Fixture, User};

for_each_user! {
    no_network_means_no_sockets_but_those_of_unix[program = "python3"];
    no_network_holds_without_landlock[program = "python3"];
    a_list_of_hosts_fails_closed[program = "python3"];
    sockets_work_with_a_network[program = "python3"];
    raw_and_rare_sockets_are_refused[program = "python3"];
}

/// Prints the errno of making a socket.
fn socket(family: i32, kind: i32, protocol: i32) -> String {
    format!("print(call({SYS_socket}, {family}, {kind}, {protocol}))")
}

fn no_sockets(fixture: &Fixture) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "
try:
    socket.create_connection(('127.0.0.1', {port}))
    print(0)
except OSError as error:
    print(error.errno)"
    );
    fixture.errno(&connect, EPERM);
    for (family, kind) in [
        (AF_INET, SOCK_STREAM),
        (AF_INET, SOCK_DGRAM),
        (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC),
        (AF_INET6, SOCK_STREAM),
        (AF_INET6, SOCK_DGRAM),
        (AF_NETLINK, SOCK_RAW),
    ] {
        fixture.errno(&socket(family, kind, 0), EPERM);
    }
    // Setting bits that the kernel ignores must not bypass the filter.
    fixture.errno(
        &format!("print(call({SYS_socket}, {AF_INET} | 1 << 32, {SOCK_STREAM}, 0))"),
        EPERM,
    );
    let unix = fixture.python(
        "
one, other = socket.socketpair()
one.send(b'x')
listener = socket.socket(socket.AF_UNIX)
listener.bind('socket')
listener.listen()
print(socket.socket(socket.AF_UNIX).connect_ex('socket'))",
        true,
    );
    assert_eq!(fixture::errno(&unix), 0);
}

fn no_network_means_no_sockets_but_those_of_unix(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.network = Network::None;
    no_sockets(&fixture);
}

fn no_network_holds_without_landlock(user: User) {
    let mut fixture = Fixture::new(user).without_landlock();
    fixture.policy.network = Network::None;
    no_sockets(&fixture);
}

fn a_list_of_hosts_fails_closed(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.network = Network::Hosts(vec!["127.0.0.1".to_owned()]);
    no_sockets(&fixture);
}

fn sockets_work_with_a_network(user: User) {
    let fixture = Fixture::new(user);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ports = [
        listener.local_addr().unwrap().port(),
        receiver.local_addr().unwrap().port(),
    ];
    let script = format!(
        "
socket.create_connection(('127.0.0.1', {}))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {}))
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
socket.getaddrinfo('localhost', 80)
server = socket.create_server(('127.0.0.1', 0))
print(socket.create_connection(server.getsockname()).fileno() * 0)",
        ports[0], ports[1]
    );
    assert_eq!(fixture::errno(&fixture.python(&script, true)), 0);
    assert_eq!(receiver.recv(&mut [0; 9]).unwrap(), 1);
}

fn raw_and_rare_sockets_are_refused(user: User) {
    let fixture = Fixture::new(user);
    for (family, kind, protocol) in [
        (AF_INET, SOCK_RAW, IPPROTO_ICMP),
        (AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW),
        (AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
        (AF_PACKET, SOCK_RAW, 0),
        (AF_PACKET, SOCK_DGRAM, 0),
        (AF_VSOCK, SOCK_STREAM, 0),
        (AF_ALG, SOCK_SEQPACKET, 0),
        (AF_KEY, SOCK_RAW, 2),
        (AF_BLUETOOTH, SOCK_STREAM, 0),
        (44, SOCK_RAW, 0),
    ] {
        let output = fixture.python(&socket(family, kind, protocol), true);
        assert_eq!(fixture::errno(&output), EPERM, "{family} {kind}");
    }
}
