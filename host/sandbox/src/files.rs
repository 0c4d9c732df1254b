//! The Landlock ruleset, which limits the files, sockets and processes that a command can reach.
//!
//! The host makes the ruleset in advance, as a descriptor that any number of commands can apply.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::grants::{Grant, Rights};
use crate::prepare_error::PrepareError;
use crate::reach::is_out_of_reach;

/// The newest Landlock interface that this module uses. Rights that the kernel does not know are left out.
const NEWEST: ABI = ABI::V10;

/// Returns the ruleset, or `None` if the kernel has no Landlock.
///
/// A command gets the rights of `rules` and no others. If `offline`, it can neither connect nor listen with TCP; kernels with ABI 10
/// refuse UDP as well. `root` is the root of the commands, if it is not that of this process.
pub(crate) fn ruleset(
    rules: &[Grant],
    offline: bool,
    root: Option<BorrowedFd<'_>>,
) -> Result<Option<OwnedFd>, PrepareError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if offline {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let add = |ruleset, grant| add(ruleset, grant, root);
    let ruleset = rules.iter().try_fold(ruleset.create()?, add)?;
    Ok(ruleset.into())
}

/// Adds a rule, unless the path was removed, contains a link now, or is closed to this user.
fn add(
    ruleset: RulesetCreated,
    grant: &Grant,
    root: Option<BorrowedFd<'_>>,
) -> Result<RulesetCreated, PrepareError> {
    match open(&grant.path, root) {
        Ok(Some(path)) => Ok(ruleset.add_rule(PathBeneath::new(path, access(grant.rights)))?),
        Ok(None) => Ok(ruleset),
        Err(error) => Err(PrepareError::unread(&grant.path, error)),
    }
}

/// Opens a path; `None` if it is not there, or this user may not open it. Refuses links: the path had none when the rule was made, but a
/// command may have made one since.
///
/// Any other error must not be skipped: a rule that is missing for want of descriptors would leave a sandbox in which nothing runs.
fn open(path: &Path, root: Option<BorrowedFd<'_>>) -> io::Result<Option<OwnedFd>> {
    let (at, path) = match (root, path.strip_prefix("/")) {
        (Some(root), Ok(below)) if below.as_os_str().is_empty() => (root, Path::new(".")),
        (Some(root), Ok(below)) => (root, below),
        _ => (CWD, path),
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(path) => Ok(Some(path)),
        Err(error) => match io::Error::from(error) {
            error if is_out_of_reach(&error) => Ok(None),
            error => Err(error),
        },
    }
}

/// Fails if this program may not use openat2(2), with which the paths of rules are opened.
///
/// # Errors
///
/// The error of the kernel: `ENOSYS` before Linux 5.6, and that of a filter of system calls.
pub fn may_use_openat2() -> io::Result<()> {
    open(Path::new("/"), None).map(drop)
}

/// Returns the Landlock rights. On a file, the landlock crate drops the rights that only directories can have.
fn access(rights: Rights) -> BitFlags<AccessFs> {
    let read = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
    match rights {
        Rights::List => AccessFs::ReadDir.into(),
        Rights::Read | Rights::Lent => read,
        Rights::Device => {
            make_bitflags!(AccessFs::{ReadFile | WriteFile | ReadDir | Truncate | IoctlDev})
        }
        // A rule needs a right that each kernel knows. No program can open a socket to write.
        Rights::Socket => make_bitflags!(AccessFs::{WriteFile | ResolveUnix}),
        // The rights to make devices are missing, because a device would give access to the raw disk.
        Rights::Write => {
            read | make_bitflags!(AccessFs::{
                WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock
                    | MakeFifo | MakeSym | Refer | IoctlDev | ResolveUnix
            })
        }
    }
}
