//! The address of a server of a chat: a host name of its own, and the signed link.

use std::time::Duration;

use toolhost_call::sharing::PortLink;
use toolhost_state::id::ChatId;
use toolhost_state::unix_time;

use super::{Link, Links, Target};

/// The part of the query of an address that has the signed link to a server, and the name of the cookie in which a browser keeps it.
pub const LINK: &str = "toolhost-link";

/// How long a person can use the link to a server.
const LIFETIME: Duration = Duration::from_hours(12);

/// How many digits of the hash of a chat are in a label.
const HASH: usize = 32;

impl Link {
    /// Returns the first label of the host name under which a server is shown. No other chat and no other port has it, so that browsers keep
    /// their pages apart. `None` for a file.
    pub fn label(&self) -> Option<String> {
        let Target::Port(port) = self.target else {
            return None;
        };
        let chat = blake3::hash(self.chat.as_str().as_bytes()).to_hex();
        Some(format!("p{port}-{}", &chat[..HASH]))
    }
}

impl Links {
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
        let (label, signed) = (link.label()?, self.sign(&link));
        Some(PortLink {
            url: format!("{scheme}://{label}.{domain}/?{LINK}={signed}"),
            expires_at_unix: link.expires_at_unix,
        })
    }
}
