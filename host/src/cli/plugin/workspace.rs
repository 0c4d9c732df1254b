//! The workspace of a command that runs a plugin for its author.

use anyhow::Context as _;
use tempfile::TempDir;

use super::Common;
use toolhost_core::Grants;
use toolhost_workspace::files::FilesGrant;

/// Returns the common options with a workspace, and the grants of a plugin in it: the workspace that is named, or else a temporary one,
/// whose files the plugin may write, and which ends with the last value.
pub(super) fn or_temporary(
    common: &Common,
    prefix: &str,
    grants: Grants,
) -> anyhow::Result<(Common, Grants, Option<TempDir>)> {
    let mut common = common.clone();
    if common.workspace.is_some() {
        return Ok((common, grants, None));
    }
    let made = tempfile::Builder::new().prefix(prefix).tempdir();
    let made = made.context("cannot make a temporary workspace")?;
    common.base.workspace = Some(made.path().to_owned());
    Ok((common, grants.with_files(FilesGrant::Write), Some(made)))
}
