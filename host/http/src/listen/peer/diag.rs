//! Sockets of this machine, by the addresses of a TCP connection: one question to the kernel (`sock_diag`), which takes some
//! microseconds, however many sockets there are. `/proc/net/tcp` lists all of them.
//!
//! The messages are built by hand: the crate for them, `netlink-packet-sock-diag`, brings crates that are not maintained.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`: the type of the question and of its answer.
const BY_FAMILY: u16 = 20;

/// `NLMSG_ERROR`.
const ERROR: u16 = 2;

/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

const TCP: u8 = 6;

/// The states of sockets, as the kernel numbers them.
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;

/// The index of the loopback interface, to which a client can bind its socket. The kernel finds such a socket only by this index.
const LOOPBACK: u32 = 1;

/// The length of the header of a message, and the places of fields in an answer.
const HEADER: usize = 16;
const STATE: usize = HEADER + 1;
const USER: usize = HEADER + 64;
const INODE: usize = HEADER + 68;

/// A socket of this machine.
#[derive(Debug)]
pub(super) struct Socket {
    /// The user that made it.
    pub(super) user: u32,
    /// Its number in the links of `/proc/PID/fd`; 0 if no process has it open.
    pub(super) inode: u32,
    pub(super) is_established: bool,
}

/// Returns the socket on this machine that has these addresses of its own and of its other end.
///
/// # Errors
///
/// If the kernel cannot be asked.
pub(super) fn find(own: SocketAddr, other: SocketAddr) -> io::Result<Option<Socket>> {
    let kind = (AddressFamily::NETLINK, SocketType::DGRAM);
    let netlink = socket_with(
        kind.0,
        kind.1,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let scope = match own {
        SocketAddr::V6(own) => own.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    for interface in [scope, LOOPBACK] {
        send(
            &netlink,
            &question(own, other, interface),
            SendFlags::empty(),
        )?;
        let mut answer = [0; 512];
        // The kernel has answered before `send` returns.
        let (length, _) = recv(&netlink, &mut answer, RecvFlags::DONTWAIT)?;
        if let Some(socket) = parse(answer.get(..length).unwrap_or_default())? {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// A `nlmsghdr` and an `inet_diag_req_v2`.
fn question(own: SocketAddr, other: SocketAddr, interface: u32) -> Vec<u8> {
    let addresses = [own, other].map(|address| address.ip().to_canonical());
    let both_are_v4 = addresses.iter().all(IpAddr::is_ipv4);
    let family = if both_are_v4 {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    // Any state.
    let mut body = [[family, TCP, 0, 0], [0xff; 4]].concat();
    for address in [own, other] {
        body.extend(address.port().to_be_bytes());
    }
    for address in addresses {
        match address {
            IpAddr::V4(address) => {
                body.extend(address.octets());
                body.extend([0; 12]);
            }
            IpAddr::V6(address) => body.extend(address.octets()),
        }
    }
    body.extend(interface.to_ne_bytes());
    // Any cookie.
    body.extend([0xff; 8]);
    let length = u32::try_from(HEADER + body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn parse(answer: &[u8]) -> io::Result<Option<Socket>> {
    let number = |at: usize| {
        let bytes = answer.get(at..)?.first_chunk().copied()?;
        Some(u32::from_ne_bytes(bytes))
    };
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let kind = number(4).ok_or_else(invalid)?.to_ne_bytes();
    if kind.starts_with(&ERROR.to_ne_bytes()) {
        let code = number(HEADER).ok_or_else(invalid)?.cast_signed();
        return match io::Error::from_raw_os_error(-code) {
            error if error.kind() == io::ErrorKind::NotFound => Ok(None),
            error => Err(error),
        };
    }
    let state = *answer.get(STATE).ok_or_else(invalid)?;
    let socket = Socket {
        user: number(USER).ok_or_else(invalid)?,
        inode: number(INODE).ok_or_else(invalid)?,
        is_established: state == ESTABLISHED,
    };
    // Without a connection, the kernel names the socket that listens at the address.
    Ok((state != LISTEN).then_some(socket))
}
