//! Addresses: their classification, and which of them a request may reach.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that a request may reach. Each variant allows more than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowance {
    /// Public addresses.
    Public,
    /// Also addresses of this machine and of private networks.
    Private,
    /// Every address, because the operator wrote exactly this address.
    Itself,
}

/// The class of an address, by the machine that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// A machine on the internet.
    Public,
    /// This machine, or a machine in a private network.
    Private,
    /// An address to which no name may lead: link-local, multicast or reserved, or one that embeds an address that is not public.
    Never,
}

/// Addresses outside of the link-local range at which clouds serve credentials to any client: those of Azure, Alibaba and, for IPv6,
/// Amazon.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Returns the addresses of the network interfaces of this machine.
///
/// # Errors
///
/// If the system does not list them.
pub(crate) fn own_addresses() -> io::Result<Vec<IpAddr>> {
    let interfaces = nix::ifaddrs::getifaddrs()?;
    let addresses = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
    });
    Ok(addresses.collect())
}

impl Allowance {
    /// Returns whether the request may reach an address, given in its canonical form. `own` are the addresses of this machine. They count
    /// as private even if they are public, because a server there may trust connections from this machine.
    pub fn admits(self, address: IpAddr, own: &[IpAddr]) -> bool {
        match self {
            Self::Itself => true,
            Self::Private => reach(address, own) != Reach::Never,
            Self::Public => reach(address, own) == Reach::Public,
        }
    }
}

/// Classifies an address.
fn reach(address: IpAddr, own: &[IpAddr]) -> Reach {
    if METADATA.contains(&address) {
        return Reach::Never;
    }
    let reach = match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address, own),
    };
    match reach {
        Reach::Public if own.contains(&address) => Reach::Private,
        reach => reach,
    }
}

/// Classifies an IPv4 address by the registry of special-purpose addresses (RFC 6890 and its updates).
fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            Reach::Private
        }
        // This network; link-local; protocol assignments; documentation; 6to4 relays; benchmarks; multicast and reserved.
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [224..=255, ..] => Reach::Never,
        _ => Reach::Public,
    }
}

/// Classifies an IPv6 address. Only global unicast addresses (2000::/3) and translated ones can be public. An address that embeds an IPv4
/// address has the class of that one if it is public. Otherwise, the result is [`Reach::Never`], because the translator is unknown.
fn reach_v6(address: Ipv6Addr, own: &[IpAddr]) -> Reach {
    if address.is_loopback() {
        return Reach::Private;
    }
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        match reach(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), own) {
            Reach::Public => Reach::Public,
            Reach::Private | Reach::Never => Reach::Never,
        }
    };
    match address.segments() {
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // Teredo: the address of the server, and that of the client with all bits inverted.
        [0x2001, 0, high, low, _, _, client_high, client_low] => match embedded(high, low) {
            Reach::Public => embedded(!client_high, !client_low),
            other => other,
        },
        // Protocol assignments and benchmarks; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Never,
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2000..=0x3fff, ..] => Reach::Public,
        [0xfc00..=0xfdff, ..] => Reach::Private,
        _ => Reach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(text: &str) -> Reach {
        let address: IpAddr = text.parse().unwrap();
        reach(address.to_canonical(), &[])
    }

    #[test]
    fn each_kind_of_address_is_classified() {
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1",
            "2a00::1",
            "64:ff9b::101:101",
            "2002:101:101::",
            "2001:0:101:101::fefe:fefe",
            "::ffff:1.1.1.1",
            "2001:200::1",
            "2001:db7::1",
        ] {
            assert_eq!(classified(public), Reach::Public, "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "::1",
            "fc00::",
            "fdff::1",
            "::ffff:127.0.0.1",
            "::ffff:192.168.1.1",
        ] {
            assert_eq!(classified(private), Reach::Private, "{private}");
        }
        for never in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "192.0.0.0",
            "192.0.0.192",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "192.88.99.1",
            "198.18.0.0",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
            "168.63.129.16",
            "100.100.100.200",
            "::",
            "::2",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:0:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::a00:1",
            "64:ff9b:1::101:101",
            "64:ff9b:0:0:1::101:101",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:0:a00:1::fefe:fefe",
            "2001:0:101:101::80ff:fffe",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
            "2002:c0a8:101::1",
            "4000::1",
            "5f00::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fe00::1",
            "fd00:ec2::254",
        ] {
            assert_eq!(classified(never), Reach::Never, "{never}");
        }
    }

    #[test]
    fn each_allowance_admits_its_kinds_of_addresses() {
        let addresses = [
            "10.0.0.1",
            "1.1.1.1",
            "169.254.169.254",
            "::ffff:127.0.0.1",
            "2606:4700::1",
        ]
        .map(|text| text.parse::<IpAddr>().unwrap().to_canonical());
        let admitted = |allowance: Allowance| {
            let admitted = addresses.iter().filter(|one| allowance.admits(**one, &[]));
            admitted.map(IpAddr::to_string).collect::<Vec<_>>()
        };
        assert_eq!(admitted(Allowance::Public), ["1.1.1.1", "2606:4700::1"]);
        assert_eq!(
            admitted(Allowance::Private),
            ["10.0.0.1", "1.1.1.1", "127.0.0.1", "2606:4700::1"]
        );
        assert_eq!(admitted(Allowance::Itself).len(), 5);
    }

    #[test]
    fn own_addresses_are_not_public() {
        let own: Vec<IpAddr> = ["1.1.1.1", "2a00::1"]
            .map(|text| text.parse().unwrap())
            .into();
        for text in ["1.1.1.1", "::ffff:1.1.1.1", "2a00::1"] {
            let address = text.parse::<IpAddr>().unwrap().to_canonical();
            assert!(!Allowance::Public.admits(address, &own), "{text}");
            assert!(Allowance::Private.admits(address, &own), "{text}");
            assert!(Allowance::Itself.admits(address, &own), "{text}");
            assert!(Allowance::Public.admits(address, &[]), "{text}");
        }
        // A translator may lead back to this machine.
        for text in ["64:ff9b::101:101", "2002:101:101::"] {
            assert!(!Allowance::Private.admits(text.parse().unwrap(), &own));
        }
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert!(own_addresses().unwrap().contains(&loopback));
    }
}
