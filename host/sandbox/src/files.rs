//! The Landlock ruleset: which files, sockets and processes a command can reach.
//!
//! The host makes it ahead of need, as a descriptor that any number of commands take over.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::grants::{Grant, Rights};

/// The newest interface that this file was written for. What the kernel lacks of it is left out.
const NEWEST: ABI = ABI::V10;

/// Returns the ruleset, or `None` if the kernel has no Landlock.
///
/// A command gets the rights of `grants` and no others. If `offline`, it neither connects nor listens with TCP; kernels with
/// ABI 10 refuse UDP as well. Paths in file systems of `new` are those in namespaces of the command.
pub(crate) fn ruleset(
    grants: &[Grant],
    offline: bool,
    new: &[(PathBuf, OwnedFd)],
) -> Result<Option<OwnedFd>, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if offline {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let add = |ruleset, grant| add(ruleset, grant, new);
    let ruleset = grants.iter().try_fold(ruleset.create()?, add)?;
    Ok(ruleset.into())
}

/// Adds a rule. A path that is gone or has become a link is left out.
fn add(
    ruleset: RulesetCreated,
    grant: &Grant,
    new: &[(PathBuf, OwnedFd)],
) -> Result<RulesetCreated, RulesetError> {
    match open(&grant.path, new) {
        Some(path) => ruleset.add_rule(PathBeneath::new(path, access(grant.rights))),
        None => Ok(ruleset),
    }
}

/// Opens a path in which there was no link when the rule was made. A command may have put one there since.
fn open(path: &Path, new: &[(PathBuf, OwnedFd)]) -> Option<OwnedFd> {
    let within = new
        .iter()
        .find_map(|(root, at)| Some((path.strip_prefix(root).ok()?, at)));
    let (at, path) = match within {
        None => (CWD, path),
        Some((below, at)) if below.as_os_str().is_empty() => (at.as_fd(), Path::new(".")),
        Some((below, at)) => (at.as_fd(), below),
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

/// Returns the rights of the kernel. Of those, a file gets what files can have.
fn access(rights: Rights) -> BitFlags<AccessFs> {
    let read = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
    match rights {
        Rights::List => AccessFs::ReadDir.into(),
        Rights::Read => read,
        Rights::Device => {
            make_bitflags!(AccessFs::{ReadFile | WriteFile | ReadDir | Truncate | IoctlDev})
        }
        // No devices can be made: they would be another way to the disk.
        Rights::Write => {
            read | make_bitflags!(AccessFs::{
                WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock
                    | MakeFifo | MakeSym | Refer | IoctlDev | ResolveUnix
            })
        }
    }
}
