//! HTTP requests that plugins send: which destinations are allowed, and how a request is sent.
//!
//! An operator grants [`Pattern`]s. A request goes out only if one of them allows its scheme, host and port, and only to an
//! address that was looked up here and found public: the connection is made to that very address, so a name that resolves to
//! something else a moment later changes nothing. Nothing here follows a redirect. A guest that follows one sends another
//! request, which is judged like the first.
//!
//! Each request has a connection of its own, straight to its host: no proxy, nothing shared between calls.

mod account;
mod answers;
mod body;
mod connect;
mod error;
mod network;
mod observer;
mod pattern;
mod send;

pub use account::Quota;
pub use answers::{AnswerError, Answers};
pub use body::ResponseBody;
pub use error::{Limit, SendError};
pub use network::Network;
pub use observer::Observer;
pub use pattern::{Pattern, PatternError};
pub use send::{Connection, Sender, Session, Timeouts};
pub use toolhost_egress::{Destination, Host, HostError, Resolve, Resolver, Resolving, Scheme};
