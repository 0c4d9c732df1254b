//! The limit of failed logins of each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::problem::Problem;

/// The most failed logins of one address within [`PERIOD`].
const FAILURES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// The most addresses that are counted apart. All others share one count.
const ADDRESSES: usize = 4096;

/// The failed logins of the last minute.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Each address with its count and the beginning of its period; `None`: the clients of Unix sockets, and addresses that found
    /// no room.
    failed: HashMap<Option<IpAddr>, (u32, Instant)>,
}

impl Attempts {
    /// Refuses a login if its address has failed too often.
    pub(super) fn check(&self, peer: Option<IpAddr>, now: Instant) -> Result<(), Problem> {
        let Some((count, since)) = self.failed.get(&self.place(peer)) else {
            return Ok(());
        };
        let left = PERIOD.saturating_sub(now.saturating_duration_since(*since));
        if *count < FAILURES || left.is_zero() {
            return Ok(());
        }
        let detail = format!("{FAILURES} logins have failed within a minute: try again later");
        Err(Problem::busy(detail).retry_after(left.as_secs() + 1))
    }

    /// Counts a failed login.
    pub(super) fn failed(&mut self, peer: Option<IpAddr>, now: Instant) {
        if self.failed.len() >= ADDRESSES {
            let is_recent = |since: Instant| now.saturating_duration_since(since) < PERIOD;
            self.failed.retain(|_, (_, since)| is_recent(*since));
        }
        let place = self.place(peer);
        let (count, since) = self.failed.entry(place).or_insert((0, now));
        if now.saturating_duration_since(*since) >= PERIOD {
            (*count, *since) = (0, now);
        }
        *count = count.saturating_add(1);
    }

    /// Returns the key under which an address is counted.
    fn place(&self, peer: Option<IpAddr>) -> Option<IpAddr> {
        let peer = peer.map(network);
        let has_room = self.failed.len() < ADDRESSES || self.failed.contains_key(&peer);
        peer.filter(|_| has_room)
    }
}

/// Returns the address without the part that a client chooses itself: a client of IPv6 has a network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_that_fails_often_waits_and_others_do_not() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        for _ in 0..FAILURES {
            attempts.check(one, now).unwrap();
            attempts.failed(one, now);
        }
        let refused = attempts.check(one, now + PERIOD / 2).unwrap_err();
        assert_eq!((refused.code(), refused.seconds()), ("busy", Some(31)));
        attempts.check(other, now).unwrap();
        attempts.check(None, now).unwrap();
        let later = now + PERIOD;
        attempts.check(one, later).unwrap();
        attempts.failed(one, later);
        attempts.check(one, later).unwrap();
    }

    #[test]
    fn one_network_is_one_client_and_the_memory_is_bounded() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for host in 0..FAILURES {
            attempts.failed(address(&format!("2001:db8::{host:x}")), now);
        }
        assert!(attempts.check(address("2001:db8::ffff"), now).is_err());
        assert!(attempts.check(address("2001:db8:0:1::1"), now).is_ok());
        for number in 0..10_000_u32 {
            attempts.failed(Some(std::net::Ipv4Addr::from_bits(number).into()), now);
        }
        assert!(attempts.failed.len() <= ADDRESSES + 1);
        assert!(attempts.check(address("198.51.100.7"), now).is_err());
        let later = now + PERIOD;
        attempts.failed(address("198.51.100.7"), later);
        assert_eq!(attempts.failed.len(), 1);
    }
}
