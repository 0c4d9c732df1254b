//! The plan of a sandbox: what a policy grants of the files that exist now. The view, the report and the sandbox are made
//! from it, because to look at the files takes most of the time.

use std::io;

use crate::grants::{Grants, Rights};
use crate::places::Places;
use crate::policy::{Mode, Policy};

/// A plan of a sandbox. Use it soon: it names the files that exist when it is made.
#[derive(Debug)]
pub struct Plan<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) places: &'a Places,
    pub(crate) grants: Grants,
}

impl<'a> Plan<'a> {
    /// Makes the plan for a policy.
    #[must_use]
    pub fn new(policy: &'a Policy, places: &'a Places) -> Self {
        let grants = match policy.mode {
            Mode::Off => Grants::default(),
            Mode::ReadOnly | Mode::Workspace => Grants::new(policy, places),
        };
        Self {
            policy,
            places,
            grants,
        }
    }

    /// Makes what a view of this plan needs in the home of the workspace: places for what it shows there, and layers.
    ///
    /// # Errors
    ///
    /// If a directory cannot be made.
    pub fn prepare_home(&self) -> io::Result<()> {
        let Some(home) = &self.places.home else {
            return Ok(());
        };
        for grant in &self.grants.granted {
            home.make_place(&grant.path)?;
            if grant.rights == Rights::Lent && self.policy.mode == Mode::Workspace {
                home.make_layer(&grant.path, &self.grants.never)?;
            }
        }
        Ok(())
    }
}
