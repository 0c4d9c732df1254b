//! SOCKS5 (RFC 1928), without authentication: the command `CONNECT`, for names and addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::SOCKS5;
use super::Shared;
use super::error::Reply;
use super::tunnel::relay;
use crate::destination::{Host, HostError};
use crate::rules::Target;

const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// A request of a client: its text for errors, and its target.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    text: String,
    target: Result<Target, HostError>,
}

/// Serves a connection of SOCKS5.
pub(super) async fn serve(shared: &Shared, mut client: TcpStream) -> io::Result<()> {
    let request = timeout(shared.limits.handshake, handshake(&mut client)).await??;
    let dialled = match request {
        Ok(request) => {
            let dialled = shared.dial(&request.text, request.target).await;
            dialled.map_err(|unreached| unreached.why.reply())
        }
        Err(reply) => Err(reply),
    };
    let reply = dialled
        .as_ref()
        .map_or_else(|reply| *reply, |_| Reply::Succeeded);
    // The reply contains no real address, because a command cannot use the address from which the proxy connected.
    let message = [SOCKS5, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0];
    client.write_all(&message).await?;
    match dialled {
        Ok(server) => relay(client, server, shared.limits.half_closed).await,
        Err(_) => client.shutdown().await,
    }
}

/// Negotiates a method and reads the request. The inner error is the reply to a request that is refused.
async fn handshake(client: &mut TcpStream) -> io::Result<Result<Request, Reply>> {
    let has_method = read_greeting(client).await?;
    let method = if has_method {
        NO_AUTHENTICATION
    } else {
        NO_METHOD
    };
    client.write_all(&[SOCKS5, method]).await?;
    if !has_method {
        return Err(io::Error::other(
            "the SOCKS5 client requires authentication",
        ));
    }
    read_request(client).await
}

/// Reads the greeting, and returns whether the client offers to connect without authentication.
async fn read_greeting<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<bool> {
    let (_version, count) = (version(reader).await?, reader.read_u8().await?);
    let mut methods = vec![0; usize::from(count)];
    reader.read_exact(&mut methods).await?;
    Ok(methods.contains(&NO_AUTHENTICATION))
}

async fn read_request<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Result<Request, Reply>> {
    version(reader).await?;
    let command = reader.read_u8().await?;
    let _reserved = reader.read_u8().await?;
    let (text, host) = match reader.read_u8().await? {
        1 => address(Ipv4Addr::from(reader.read_u32().await?).into()),
        3 => name(reader).await?,
        4 => address(Ipv6Addr::from(reader.read_u128().await?).into()),
        _ => return Ok(Err(Reply::AddressNotSupported)),
    };
    let port = reader.read_u16().await?;
    if command != CONNECT {
        return Ok(Err(Reply::CommandNotSupported));
    }
    let target = match (host, port) {
        (_, 0) => Err(HostError::Port("0".into())),
        (host, port) => host.map(|host| Target { host, port }),
    };
    let text = format!("{text}:{port}");
    Ok(Ok(Request { text, target }))
}

async fn version<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<()> {
    match reader.read_u8().await? {
        SOCKS5 => Ok(()),
        _ => Err(io::Error::other("the client does not speak SOCKS5")),
    }
}

fn address(address: IpAddr) -> (String, Result<Host, HostError>) {
    let host = Host::Ip(address.to_canonical());
    (host.to_string(), Ok(host))
}

/// Reads a name. Some clients send an IPv6 address as a name, without brackets.
async fn name<R: AsyncRead + Unpin>(
    reader: &mut R,
) -> io::Result<(String, Result<Host, HostError>)> {
    let mut name = vec![0; usize::from(reader.read_u8().await?)];
    reader.read_exact(&mut name).await?;
    let name = String::from_utf8_lossy(&name).into_owned();
    Ok(match name.parse::<Ipv6Addr>() {
        Ok(ip) => address(ip.into()),
        Err(_) => {
            let host = Host::parse(&name);
            (name, host)
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Result<Request, Reply>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(read_request(&mut &*bytes))
    }

    fn target(bytes: &[u8]) -> Option<String> {
        let request = read(bytes).unwrap().unwrap();
        request.target.ok().map(|target| target.to_string())
    }

    #[test]
    fn names_and_addresses_are_read() {
        for (bytes, expected) in [
            (
                &b"\x05\x01\x00\x01\x0a\x00\x00\x05\x15\x38"[..],
                Some("10.0.0.5:5432"),
            ),
            (
                b"\x05\x01\x00\x03\x0bEXAMPLE.com\x00\x50",
                Some("example.com:80"),
            ),
            (b"\x05\x01\x00\x03\x0810.0.0.5\x00\x50", Some("10.0.0.5:80")),
            (b"\x05\x01\x00\x03\x03::1\x00\x50", Some("[::1]:80")),
            (
                b"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x00\x00\x05\x00\x50",
                Some("10.0.0.5:80"),
            ),
            (b"\x05\x01\x00\x03\x05127.1\x00\x50", None),
            (b"\x05\x01\x00\x03\x03a\0b\x00\x50", None),
            (b"\x05\x01\x00\x03\x00\x00\x50", None),
            (b"\x05\x01\x00\x03\x01a\x00\x00", None),
            (b"\x05\x01\x00\x03\x02\xff\xfe\x00\x50", None),
        ] {
            assert_eq!(target(bytes).as_deref(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn other_commands_and_addresses_are_answered_with_their_codes() {
        for (bytes, reply) in [
            (
                &b"\x05\x02\x00\x01\x0a\x00\x00\x05\x15\x38"[..],
                Reply::CommandNotSupported,
            ),
            (b"\x05\x03\x00\x03\x01a\x00\x50", Reply::CommandNotSupported),
            (b"\x05\x01\x00\x02", Reply::AddressNotSupported),
        ] {
            assert_eq!(read(bytes).unwrap().unwrap_err(), reply, "{bytes:?}");
        }
        assert!(read(b"\x04\x01\x00\x01").is_err());
        assert!(read(b"\x05\x01\x00\x03\xffshort").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            _ = read(&bytes);
            let prefixed = [&b"\x05\x01\x00\x03"[..], &bytes].concat();
            if let Ok(Ok(Request { target: Ok(target), .. })) = read(&prefixed) {
                prop_assert!(target.to_string().is_ascii());
            }
        }
    }
}
