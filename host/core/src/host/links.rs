//! Signed links, by which a person who has no token sees a file or a port of a chat until they expire. A link is what it says, so that
//! none is kept.

mod port;
mod share;
mod shares;

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use toolhost_state::id::ChatId;

use super::Host;
pub use port::LINK;
pub use share::SHARE_TOOL;
use shares::Shares;

/// How many bytes of a link are its signature.
const SIGNATURE: usize = blake3::OUT_LEN;

/// The most characters of a link.
const MAX_CHARACTERS: usize = 8 << 10;

/// A signed link to a file or to a server of a chat, for its bearer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The chat.
    pub chat: ChatId,
    /// The file or the port.
    pub target: Target,
    /// The time from which on it shows nothing, in seconds since the Unix epoch.
    pub expires_at_unix: u64,
    /// The name of the principal for whom it was made, for the audit trail.
    pub by: String,
}

/// The file or the port that a link shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The file at this path of the workspace of the chat, as it is when somebody looks.
    File(String),
    /// The server of the chat at this TCP port.
    Port(u16),
}

/// A reason why a link shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// This host, and no host of its store, made it.
    #[error("this is no link of this server")]
    Foreign,
    /// Its time is over.
    #[error("the link has expired: ask for a new one")]
    Expired,
}

/// The addresses under which people reach the server of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicAddress {
    /// The scheme, host and port of the server, without `/` at the end, such as `https://tools.example.com`.
    pub origin: String,
    /// The origin of the servers of chats, whose host each server gets a label before; `None` if they are not shown. Such as
    /// `https://ports.example.com` or `http://localhost:7411`.
    pub ports: Option<String>,
}

/// The key that signs links, and the addresses that they begin with.
#[derive(Debug)]
pub(super) struct Links {
    key: [u8; 32],
    address: OnceLock<PublicAddress>,
    shares: Mutex<Shares>,
}

impl Links {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            address: OnceLock::new(),
            shares: Mutex::default(),
        }
    }

    #[expect(clippy::expect_used, reason = "its fields are texts and numbers")]
    fn sign(&self, link: &Link) -> String {
        let claim = serde_json::to_vec(link).expect("a link is JSON");
        let signature = blake3::keyed_hash(&self.key, &claim);
        URL_SAFE_NO_PAD.encode([signature.as_bytes(), claim.as_slice()].concat())
    }

    fn verify(&self, text: &str, now_unix: u64) -> Result<Link, LinkError> {
        if text.len() > MAX_CHARACTERS {
            return Err(LinkError::Foreign);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text);
        let bytes = bytes.map_err(|_| LinkError::Foreign)?;
        let (signature, claim) = bytes
            .split_first_chunk::<SIGNATURE>()
            .ok_or(LinkError::Foreign)?;
        // Hashes are compared in constant time.
        if blake3::keyed_hash(&self.key, claim) != *signature {
            return Err(LinkError::Foreign);
        }
        let link: Link = serde_json::from_slice(claim).map_err(|_| LinkError::Foreign)?;
        match link.expires_at_unix > now_unix {
            true => Ok(link),
            false => Err(LinkError::Expired),
        }
    }
}

impl Host {
    /// Sets the addresses under which people reach the server of this host. Only the first time has an effect.
    pub fn set_public_address(&self, address: PublicAddress) {
        _ = self.inner.links.address.set(address);
    }

    /// Returns the addresses under which people reach the server of this host; `None` if they reach none, so that links lead nowhere.
    pub fn public_address(&self) -> Option<&PublicAddress> {
        self.inner.links.address.get()
    }

    /// Returns the signed text of a link: letters, digits, `-` and `_`.
    pub fn sign(&self, link: &Link) -> String {
        self.inner.links.sign(link)
    }

    /// Returns the link that a signed text is at this time, in seconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// If it is none, or has expired.
    pub fn verify(&self, text: &str, now_unix: u64) -> Result<Link, LinkError> {
        self.inner.links.verify(text, now_unix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        Link {
            chat: "a".parse().unwrap(),
            target: Target::File("out/ä.png".into()),
            expires_at_unix: 100,
            by: "support".into(),
        }
    }

    #[test]
    fn a_link_is_what_was_signed_until_it_expires() {
        let links = Links::new([7; 32]);
        let text = links.sign(&link());
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(links.verify(&text, 99), Ok(link()));
        assert_eq!(links.verify(&text, 100), Err(LinkError::Expired));
    }

    #[test]
    fn each_port_of_each_chat_has_a_host_name() {
        let links = Links::new([7; 32]);
        let label = |chat: &str, port| {
            let (chat, target) = (chat.parse().unwrap(), Target::Port(port));
            let link = Link {
                chat,
                target,
                ..link()
            };
            links.label(&link).unwrap()
        };
        assert_eq!(links.label(&link()), None);
        let all = [label("a", 1), label("a", 2), label("b", 1), label("A", 1)];
        for (index, label) in all.iter().enumerate() {
            // RFC 1035, section 2.3.4.
            assert!(
                label.len() <= 63 && !all[..index].contains(label),
                "{all:?}"
            );
        }
    }

    #[test]
    fn nothing_else_is_a_link() {
        let links = Links::new([7; 32]);
        let text = links.sign(&link());
        assert_eq!(
            Links::new([8; 32]).verify(&text, 0),
            Err(LinkError::Foreign)
        );
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(links.verify(&other, 0), Err(LinkError::Foreign), "{at}");
        }
        for text in [
            "",
            "A",
            "ä",
            &"A".repeat(100),
            &"A".repeat(1 << 20),
            &text[1..],
        ] {
            assert_eq!(links.verify(text, 0), Err(LinkError::Foreign));
        }
    }
}
