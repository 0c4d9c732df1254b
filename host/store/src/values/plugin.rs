//! Decisions of one host about a plugin, which the other hosts of its store follow.

use std::time::Duration;

/// An operator's choice to turn a plugin on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The name of the plugin.
    pub plugin: String,
    /// Whether the configuration turns the plugin on. The choice stands at the hosts whose configuration says the same.
    pub configured: bool,
    /// Whether the operator turned it on.
    pub enabled: bool,
    /// The principal of the operator.
    pub principal: String,
}

/// The quarantine of a plugin that trapped too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The name of the plugin.
    pub plugin: String,
    /// The SHA-256 of its component, in hexadecimal digits. Other versions are not concerned.
    pub sha256: String,
    /// How long its calls are refused.
    pub lasts: Duration,
}
