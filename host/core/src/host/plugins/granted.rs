//! The part of a workspace that a plugin was granted.

use std::path::PathBuf;
use std::sync::Arc;

use toolhost_workspace::{Workspace, files};

/// The part of a workspace that a plugin was granted.
#[derive(Clone, Debug)]
pub(in crate::host) struct Granted {
    /// That part of the default workspace.
    pub(in crate::host) of_default: Arc<dyn Workspace>,
    /// The directories whose files it was granted, relative to the workspace or absolute; `None`: all of the workspace.
    pub(in crate::host) roots: Option<Arc<[PathBuf]>>,
}

impl Granted {
    /// Returns that part of another workspace.
    ///
    /// # Errors
    ///
    /// If the workspace lacks one of the directories.
    pub(in crate::host) async fn part_of(
        &self,
        workspace: Arc<dyn Workspace>,
    ) -> Result<Arc<dyn Workspace>, files::Error> {
        match &self.roots {
            Some(roots) => workspace.restricted(roots).await,
            None => Ok(workspace),
        }
    }
}
