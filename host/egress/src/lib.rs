//! What may leave this machine: which hosts and addresses plugins and commands reach, and the proxy of commands.
//!
//! Plugins' HTTP uses the first part: [`Host`] and [`HostPattern`] name hosts, [`find`] resolves a name and keeps the addresses that
//! may be reached, and [`connect`] goes to these very addresses.
//!
//! The second part is for commands whose network is a list of hosts. They run in a network namespace without a route. A [`Proxy`] with
//! the [`Rules`] of the list serves a listener there, and [`variables`] tell clients of it.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod address;
mod destination;
mod hosts;
mod origin;
mod proxy;
mod reach;
mod resolve;
mod rules;
mod variables;

pub use address::Allowance;
pub use destination::{Destination, Host, HostError, Scheme, split};
pub use hosts::{HostPattern, HostPatternError};
pub use origin::origin_form;
pub use proxy::{EgressError, Limits, Observer, Proxy};
pub use reach::{ReachError, connect, find};
pub use resolve::{Resolve, Resolver, Resolving};
pub use rules::{RuleError, Rules, Target};
pub use variables::variables;
