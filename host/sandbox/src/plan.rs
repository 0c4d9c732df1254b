//! The plan of a sandbox: what a policy grants of the files that exist now. The view, the report and the sandbox are made
//! from it, because to look at the files takes most of the time.

use std::io;
use std::path::Path;

use crate::grants::{Grants, Rights};
use crate::home::LayerPlace;
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

    /// Makes what a view of this plan needs in the home of the workspace: places for what it shows there, and directories for what commands
    /// write over what is lent.
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
        }
        for lent in self.lent() {
            home.make_own(lent)?;
        }
        Ok(())
    }

    /// Returns the place of the mounts over layers that an earlier host made in a directory. `None` if they show what this plan closes.
    #[must_use]
    pub fn earlier_layers(&self, work: &Path) -> Option<LayerPlace> {
        LayerPlace::of_earlier(work, self.lent(), &self.grants.never)
    }

    /// Returns the directories that are lent to commands which write over them.
    pub(crate) fn lent(&self) -> impl Iterator<Item = &Path> {
        let writes = self.policy.mode == Mode::Workspace;
        let granted = self.grants.granted.iter();
        let lent = granted.filter(move |grant| writes && grant.rights == Rights::Lent);
        lent.map(|grant| grant.path.as_path())
            .filter(|path| path.is_dir())
    }
}
