//! The TCP sockets of a network namespace, as `/proc/<pid>/net/tcp` and `tcp6` show them, and those that processes have open.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};

/// The most bytes that are read of one table. The sockets that listen come first.
const MOST_BYTES: u64 = 64 << 20;

/// The most descriptors that are looked at: of one process, and of all of a command.
const MOST_DESCRIPTORS_EACH: usize = 2048;
const MOST_DESCRIPTORS: usize = 8192;

/// The state of a socket that listens.
const LISTENS: u8 = 0x0a;

/// A socket of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) struct Socket {
    /// Its own address. That of a socket of IPv6 for IPv4 is the latter.
    pub(in crate::process) address: SocketAddr,
    /// Its number, which is that of no other socket of the machine; 0 until a program has accepted it.
    pub(in crate::process) inode: u64,
    is_listening: bool,
}

/// The sockets of a namespace that listen.
#[derive(Debug)]
pub(in crate::process) struct Listening(Vec<Socket>);

impl Listening {
    /// Reads the table of the namespace of a process; `None`: of this process. Blocks.
    pub(in crate::process) fn read(of: Option<i32>) -> Self {
        let mut all = Vec::new();
        look(of, |socket| {
            if socket.is_listening {
                all.push(socket);
            }
            socket.is_listening
        });
        Self(all)
    }

    /// Returns the sockets with these numbers.
    pub(in crate::process) fn with(&self, inodes: &HashSet<u64>) -> Vec<Socket> {
        let all = self.0.iter().copied();
        all.filter(|socket| inodes.contains(&socket.inode))
            .collect()
    }

    /// Returns the numbers of the sockets.
    pub(in crate::process) fn inodes(&self) -> HashSet<u64> {
        self.0.iter().map(|socket| socket.inode).collect()
    }

    /// Returns the numbers of the sockets of which each can get a connection to this address: of those with the very address, else of those
    /// with any address of its kind, else of those of IPv6 with any address.
    pub(in crate::process) fn receivers(&self, address: SocketAddr) -> Vec<u64> {
        let any_of_kind = match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let places = [address.ip(), any_of_kind, IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        let at = |ip| {
            let all = self.0.iter();
            let found = all.filter(|socket| socket.address == SocketAddr::new(ip, address.port()));
            found.map(|socket| socket.inode).collect::<Vec<_>>()
        };
        let mut found = places.into_iter().map(at);
        found.find(|found| !found.is_empty()).unwrap_or_default()
    }
}

impl Socket {
    /// Returns the addresses at which this socket, which listens, can be connected to from its namespace.
    pub(in crate::process) fn targets(&self) -> Vec<SocketAddr> {
        let port = self.address.port();
        let to = |ip: IpAddr| SocketAddr::new(ip, port);
        let (v4, v6) = (
            to(Ipv4Addr::LOCALHOST.into()),
            to(Ipv6Addr::LOCALHOST.into()),
        );
        match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => vec![v4],
            // It listens on IPv4 as well, unless it was told not to.
            IpAddr::V6(ip) if ip.is_unspecified() => vec![v6, v4],
            // The table does not name the interface, without which the address means nothing.
            IpAddr::V6(ip) if ip.is_unicast_link_local() => Vec::new(),
            ip => vec![to(ip)],
        }
    }
}

/// Makes an unconnected TCP socket in the namespace of this process, which does not block.
pub(in crate::process) fn tcp_socket(v6: bool) -> io::Result<OwnedFd> {
    let family = match v6 {
        true => AddressFamily::INET6,
        false => AddressFamily::INET,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    Ok(made)
}

/// Returns whether a socket with this number is in the namespace of a process; `None`: of this process. Blocks.
pub(in crate::process) fn has_socket(of: Option<i32>, inode: u64) -> bool {
    let mut found = false;
    look(of, |socket| {
        found |= socket.inode == inode;
        !found
    });
    found
}

/// Returns those of these sockets that processes have open, up to a number of descriptors. Processes that end meanwhile, or that must
/// not be looked at, have none.
pub(in crate::process) fn open_among(pids: &[i32], wanted: &HashSet<u64>) -> HashSet<u64> {
    let mut found = HashSet::new();
    let mut left = MOST_DESCRIPTORS;
    for pid in pids {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        for entry in entries.flatten().take(MOST_DESCRIPTORS_EACH.min(left)) {
            left -= 1;
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let inode = target.to_str().and_then(inode_of);
            found.extend(inode.filter(|inode| wanted.contains(inode)));
        }
    }
    found
}

/// Returns the number of a socket in the target of a link such as `socket:[12]`.
fn inode_of(link: &str) -> Option<u64> {
    number(link.strip_prefix("socket:[")?.strip_suffix(']')?, 10)
}

/// Gives the sockets of the namespace of a process to something, of each table until it returns false.
fn look(of: Option<i32>, mut each: impl FnMut(Socket) -> bool) {
    let process = of.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    for name in ["tcp", "tcp6"] {
        // Without IPv6, there is no second file.
        if let Ok(table) = File::open(format!("/proc/{process}/net/{name}")) {
            _ = read(table.take(MOST_BYTES), &mut each);
        }
    }
}

/// Reads a table. Lines that are no sockets are passed over.
fn read(table: impl Read, each: &mut impl FnMut(Socket) -> bool) -> io::Result<()> {
    let mut lines = BufReader::new(table);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let socket = str::from_utf8(&line).ok().and_then(parse);
        if socket.is_some_and(|socket| !each(socket)) {
            break;
        }
        line.clear();
    }
    Ok(())
}

/// Reads one line: number, local address, remote address, state, queues, timer, retransmits, user, timeout, inode, and more.
fn parse(line: &str) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace();
    let address = socket_address(fields.nth(1)?)?;
    let state = u8::from_str_radix(hex(fields.nth(1)?, 2)?, 16).ok()?;
    Some(Socket {
        address,
        inode: number(fields.nth(5)?, 10)?,
        is_listening: state == LISTENS,
    })
}

fn socket_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(hex(port, 4)?, 16).ok()?;
    let ip = match ip.len() {
        8 => IpAddr::V4(word(ip)?.into()),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(ip.get(index * 8..index * 8 + 8)?)?);
            }
            // A socket of IPv6 can have an address of IPv4.
            IpAddr::V6(bytes.into()).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Reads four bytes of an address. The kernel writes them as one number, in the order of the machine.
fn word(text: &str) -> Option<[u8; 4]> {
    let number = u32::from_str_radix(hex(text, 8)?, 16).ok()?;
    Some(number.to_ne_bytes())
}

/// Returns a text of this length if all of it are hexadecimal digits.
fn hex(text: &str, length: usize) -> Option<&str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (text.len() == length && digits).then_some(text)
}

fn number(text: &str, radix: u32) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| u64::from_str_radix(text, radix).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    /// Returns a line as the kernel writes it.
    fn line(ip: &str, port: u16, state: &str, inode: &str) -> String {
        let ip = match ip.parse().unwrap() {
            IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
            IpAddr::V6(ip) => {
                let words = ip.octets();
                let words = words.chunks_exact(4);
                let words = words
                    .map(|word| format!("{:08X}", u32::from_ne_bytes(word.try_into().unwrap())));
                words.collect()
            }
        };
        format!(
            "   0: {ip}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0000000000000000 100 0 0 10 0\n"
        )
    }

    fn sockets(table: &str) -> Vec<(String, u64, bool)> {
        let mut all = Vec::new();
        let mut each = |socket: Socket| {
            let address = socket.address.to_string();
            all.push((address, socket.inode, socket.is_listening));
            true
        };
        read(table.as_bytes(), &mut each).unwrap();
        all
    }

    fn listening(sockets: &[(&str, u64)]) -> Listening {
        let sockets = sockets.iter().map(|(address, inode)| Socket {
            address: address.parse().unwrap(),
            inode: *inode,
            is_listening: true,
        });
        Listening(sockets.collect())
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let table = [
            HEAD,
            &line("127.0.0.1", 8000, "0A", "12"),
            &line("0.0.0.0", 1, "0A", "13"),
            &line("::1", 65535, "0A", "4294967295"),
            &line("::ffff:10.1.2.3", 80, "01", "0"),
            &line("2001:db8::7", 443, "0A", "14"),
        ];
        let expected = [
            ("127.0.0.1:8000", 12, true),
            ("0.0.0.0:1", 13, true),
            ("[::1]:65535", 4_294_967_295, true),
            ("10.1.2.3:80", 0, false),
            ("[2001:db8::7]:443", 14, true),
        ];
        let expected = expected.map(|(address, inode, is)| (address.to_owned(), inode, is));
        assert_eq!(sockets(&table.concat()), expected);
    }

    #[test]
    fn hostile_lines_are_passed_over() {
        let good = line("127.0.0.1", 8000, "0A", "12");
        for bad in [
            "\n".to_owned(),
            "   0:\n".into(),
            good.replace("0100007F", "0100007G"),
            good.replace("0100007F", "+100007F"),
            good.replace("0100007F", "0100007F0"),
            good.replace("0100007F", ""),
            good.replace("0100007F", &"é".repeat(16)),
            good.replace(":1F40", ":11F40"),
            good.replace(":1F40", ":-1F4"),
            good.replace(":1F40", ""),
            good.replace(" 0A ", " A "),
            good.replace(" 0A ", " 10A "),
            good.replace(" 12 ", " -12 "),
            good.replace(" 12 ", " 18446744073709551616 "),
            good.replace(" 12 ", " x "),
            good.split_at(60).0.to_owned() + "\n",
            "x".repeat(100_000) + "\n",
        ] {
            let table = format!("{HEAD}{bad}{good}");
            assert_eq!(sockets(&table).len(), 1, "{bad:?}");
        }
        assert_eq!(sockets("").len(), 0);
        assert_eq!(sockets(good.trim_end()).len(), 1);
        let mut bytes = b"\xff\xfe\n".to_vec();
        bytes.extend(good.as_bytes());
        let mut count = 0;
        let mut each = |_| {
            count += 1;
            true
        };
        read(&*bytes, &mut each).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn links_of_sockets_are_read() {
        assert_eq!(inode_of("socket:[12]"), Some(12));
        for other in [
            "socket:[]x",
            "socket:[+1]",
            "socket:[1",
            "pipe:[1]",
            "/tmp/socket:[1]",
        ] {
            assert_eq!(inode_of(other), None, "{other}");
        }
    }

    /// The kernel prefers the most specific address, and sockets of IPv4 to those of IPv6.
    #[test]
    fn a_connection_goes_to_the_most_specific_sockets() {
        let all = listening(&[
            ("127.0.0.1:1", 1),
            ("0.0.0.0:1", 2),
            ("[::]:1", 3),
            ("0.0.0.0:2", 4),
            ("0.0.0.0:2", 5),
            ("[::]:3", 6),
        ]);
        for (address, receivers) in [
            ("127.0.0.1:1", &[1][..]),
            ("127.0.0.2:1", &[2]),
            ("[::1]:1", &[3]),
            ("127.0.0.1:2", &[4, 5]),
            ("[::1]:2", &[]),
            ("127.0.0.1:3", &[6]),
            ("127.0.0.1:4", &[]),
        ] {
            let found = all.receivers(address.parse().unwrap());
            assert_eq!(found, receivers, "{address}");
        }
    }

    #[test]
    fn each_socket_is_connected_to_where_it_listens() {
        for (address, targets) in [
            ("127.0.0.1:1", &["127.0.0.1:1"][..]),
            ("10.0.0.1:1", &["10.0.0.1:1"]),
            ("0.0.0.0:1", &["127.0.0.1:1"]),
            ("[::1]:1", &["[::1]:1"]),
            ("[::]:1", &["[::1]:1", "127.0.0.1:1"]),
            ("[fe80::1]:1", &[]),
        ] {
            let socket = listening(&[(address, 1)]).0[0];
            let found: Vec<_> = socket.targets().iter().map(ToString::to_string).collect();
            assert_eq!(found, targets, "{address}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_socket_or_none(line: String) {
            _ = parse(&line);
        }

        #[test]
        fn any_fields_are_a_socket_or_none(fields in prop::collection::vec("[0-9A-Fx:]{0,40}", 0..14)) {
            _ = parse(&fields.join(" "));
        }
    }
}
