//! The wish of a plugin or a call to narrow its policy.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::network::Network;

/// A wish to narrow a policy. A field that is `None` changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Narrower {
    /// The mode. If the mode of the policy is stricter, that one counts.
    pub mode: Option<Mode>,
    /// The hosts to reach. Hosts that the policy does not allow stay out of reach.
    pub network: Option<Network>,
}

impl Narrower {
    /// Returns the wish for only what both wishes allow.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let network = match (&self.network, &other.network) {
            (Some(one), Some(other)) => Some(one.narrow(other)),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        };
        let modes = [self.mode, other.mode].into_iter().flatten();
        Self {
            mode: modes.min(),
            network,
        }
    }

    /// Returns whether the wish changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
