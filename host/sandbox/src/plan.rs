//! The plan of a sandbox: the rules that follow from a policy and the files that exist now. The view, the report and the sandbox are made
//! from it, because to look at the files takes most of the time.

use crate::landlock_rules::LandlockRules;
use crate::places::Places;
use crate::policy::{Mode, Policy};

/// A plan of a sandbox. Use it soon: it names the files that exist when it is made.
#[derive(Debug)]
pub struct Plan<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) places: &'a Places,
    pub(crate) rules: LandlockRules,
}

impl<'a> Plan<'a> {
    /// Makes the plan for a policy.
    #[must_use]
    pub fn new(policy: &'a Policy, places: &'a Places) -> Self {
        let rules = match policy.mode {
            Mode::Off => LandlockRules::default(),
            Mode::ReadOnly | Mode::Workspace => LandlockRules::new(policy, places),
        };
        Self {
            policy,
            places,
            rules,
        }
    }
}
