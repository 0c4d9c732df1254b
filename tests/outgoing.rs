//! Grants of plugins through WASI: requests, variables and directories. And no sockets.

/// The guests through a host.
mod guests;

/// Directories that are granted to a plugin.
mod directories;

/// Limits, time-outs, and what is left when a call ends.
mod bounds;

/// Where requests go, with scripted names on real connections.
mod destinations;

/// Over TLS.
mod tls;

pub(crate) mod support;
