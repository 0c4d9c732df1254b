//! The address of a server of a chat: a host name of its own, and the signed link.

use std::time::Duration;

use toolhost_call::sharing::PortLink;
use toolhost_state::id::ChatId;
use toolhost_state::unix_time;

use super::{Link, Links, Target};
use crate::Host;

/// The part of the query of an address that has the signed link to a server, and the name of the cookie in which a browser keeps it.
pub const LINK: &str = "toolhost-link";

/// How long a person can use the link to a server.
const LIFETIME: Duration = Duration::from_hours(12);

/// How many digits of the hash of a chat are in a label.
const HASH: usize = 32;

impl Host {
    /// Returns the first label of the host name under which the server of a link is shown. No other chat and no other port has it, so that
    /// browsers keep their pages apart; and no other chat can guess it, since browsers send cookies to all ports of a name. `None` for a file.
    pub fn label(&self, link: &Link) -> Option<String> {
        self.inner.links.label(link)
    }
}

impl Links {
    pub(super) fn label(&self, link: &Link) -> Option<String> {
        let Target::Port(port) = link.target else {
            return None;
        };
        // A link is signed as JSON, which begins with `{`, so no signature is a label.
        let chat = format!("label {}", link.chat);
        let chat = blake3::keyed_hash(&self.key, chat.as_bytes()).to_hex();
        Some(format!("p{port}-{}", &chat[..HASH]))
    }

    /// Returns the address at which a person opens the server at a port; `None` if the servers of chats are not shown.
    pub(super) fn to_port(&self, chat: &ChatId, port: u16, principal: &str) -> Option<PortLink> {
        let ports = self.address.get()?.ports.as_deref()?;
        let (scheme, domain) = ports.split_once("://")?;
        let link = Link {
            chat: chat.clone(),
            target: Target::Port(port),
            expires_at_unix: unix_time::now_ms() / 1000 + LIFETIME.as_secs(),
            by: principal.to_owned(),
        };
        let (label, signed) = (self.label(&link)?, self.sign(&link));
        Some(PortLink {
            url: format!("{scheme}://{label}.{domain}/?{LINK}={signed}"),
            expires_at_unix: link.expires_at_unix,
        })
    }
}
