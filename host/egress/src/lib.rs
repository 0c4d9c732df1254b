//! Egress control: the hosts and addresses that plugins and commands may reach, and the proxy of commands.
//!
//! The first part checks destinations, for the HTTP requests of plugins and for the proxy. [`Host`] and [`HostPattern`] name hosts.
//! [`find`] resolves a name and returns the addresses that may be reached, and [`connect`] connects to one of exactly these addresses.
//!
//! The second part is the proxy, for commands whose network is a list of hosts. Such commands run in a network namespace without
//! a route. A [`Proxy`] with the [`Rules`] of the list accepts connections there, and clients find it by its [`variables`].

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
