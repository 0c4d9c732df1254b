//! A wish for less than a policy allows.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::network::Network;

/// A wish for less than a policy allows. What is `None` changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Narrower {
    /// The mode, unless the policy has a stricter one.
    pub mode: Option<Mode>,
    /// The hosts to reach, as far as the policy allows them.
    pub network: Option<Network>,
}

impl Narrower {
    /// Returns the wish for what both allow.
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

    /// Returns whether this changes no policy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
