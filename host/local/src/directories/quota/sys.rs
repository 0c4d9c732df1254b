//! The system calls of project quotas.
#![allow(
    unsafe_code,
    reason = "`quotactl_fd` and the requests for the project of a file have no safe interface"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{self, c_int};
use rustix::ioctl::{Getter, Setter, ioctl, opcode};
use toolhost_workspace::Quota;

/// `struct fsxattr`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attributes {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    shared_extent_size: u32,
    padding: [u8; 8],
}

/// `FS_IOC_FSGETXATTR` and `FS_IOC_FSSETXATTR`.
type Get = Getter<{ opcode::read::<Attributes>(b'X', 31) }, Attributes>;
type Set = Setter<{ opcode::write::<Attributes>(b'X', 32) }, Attributes>;

/// `FS_XFLAG_PROJINHERIT`: what is made in this directory belongs to its project.
const INHERITS: u32 = 0x200;

/// `PRJQUOTA`.
const PROJECTS: c_int = 2;

/// `Q_XGETQSTATV`, and the flag `FS_QUOTA_PDQ_ENFD` in its result.
const GET_STATE: c_int = 0x5808;
const ENFORCED: u16 = 0x20;

/// The unit of limits, in bytes.
const BLOCK: u64 = 1024;

/// The project of a directory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Project {
    /// Its id; 0 for a directory without a project.
    pub(super) id: u32,
    /// Whether the entries of the directory belong to the project.
    pub(super) is_inherited: bool,
}

/// Returns the project of a directory.
pub(super) fn project(directory: &File) -> io::Result<Project> {
    match attributes(directory) {
        // The file system has no such attributes.
        Err(Errno::ENOTTY | Errno::EOPNOTSUPP) => Ok(Project::default()),
        found => {
            let found = found?;
            Ok(Project {
                id: found.project,
                is_inherited: found.flags & INHERITS != 0,
            })
        }
    }
}

/// Moves an empty directory, and all that will be made below it, to a project.
pub(super) fn set_project(directory: &File, id: u32) -> io::Result<()> {
    let mut attributes = attributes(directory)?;
    attributes.flags |= INHERITS;
    attributes.project = id;
    // SAFETY: the kernel reads such a structure from the argument of this request.
    unsafe { ioctl(directory, Set::new(attributes)) }?;
    Ok(())
}

fn attributes(directory: &File) -> Result<Attributes, Errno> {
    // SAFETY: the kernel writes such a structure to the argument of this request.
    let found = unsafe { ioctl(directory, Get::new()) };
    found.map_err(|error| Errno::from_raw(error.raw_os_error()))
}

/// Returns whether the file system of this directory enforces limits of projects. It fails if the file system has none.
pub(super) fn is_enforced(directory: &File) -> io::Result<bool> {
    // The structure that the kernel fills has 160 bytes. The first is its version, and the third and the fourth are flags.
    let mut state = [0_u8; 256];
    state[0] = 1;
    // SAFETY: the kernel writes less than these bytes.
    unsafe { control(directory, GET_STATE, 0, &raw mut state) }?;
    Ok(u16::from_ne_bytes([state[2], state[3]]) & ENFORCED != 0)
}

/// Returns whether a project has files or limits on the file system of this directory.
pub(super) fn is_used(directory: &File, id: u32) -> io::Result<bool> {
    let mut found = limits(&Quota::default());
    // SAFETY: the kernel writes such a structure.
    match unsafe { control(directory, libc::Q_GETQUOTA, id, &raw mut found) } {
        Err(Errno::ENOENT | Errno::ESRCH) => Ok(false),
        result => {
            result?;
            let numbers = [
                found.dqb_curinodes,
                found.dqb_bhardlimit,
                found.dqb_ihardlimit,
            ];
            Ok(numbers != [0; 3])
        }
    }
}

/// Sets the limits of a project on the file system of this directory. A limit that the quota leaves out is removed.
pub(super) fn set_limits(directory: &File, id: u32, quota: &Quota) -> io::Result<()> {
    let mut limits = limits(quota);
    // SAFETY: the kernel reads such a structure.
    unsafe { control(directory, libc::Q_SETQUOTA, id, &raw mut limits) }?;
    Ok(())
}

/// Returns the limits of a quota. The kernel takes 0 for no limit, and refuses numbers from 2^63 on.
fn limits(quota: &Quota) -> libc::dqblk {
    let limit = |number: u64, unit: u64| (number.min(i64::MAX.unsigned_abs()) / unit).max(1);
    // SAFETY: the structure may be all zeroes.
    let mut limits: libc::dqblk = unsafe { std::mem::zeroed() };
    limits.dqb_bhardlimit = quota.bytes.map_or(0, |bytes| limit(bytes, BLOCK));
    limits.dqb_ihardlimit = quota.files.map_or(0, |files| limit(files, 1));
    limits.dqb_valid = libc::QIF_LIMITS;
    limits
}

/// Calls `quotactl_fd` for projects.
///
/// # Safety
///
/// `address` points to what the kernel reads or writes for this command.
unsafe fn control<T>(
    directory: &File,
    command: c_int,
    id: u32,
    address: *mut T,
) -> Result<(), Errno> {
    let command = libc::QCMD(command, PROJECTS);
    // SAFETY: as the caller says. The other arguments are numbers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            directory.as_raw_fd(),
            command,
            id,
            address,
        )
    };
    Errno::result(result).map(drop)
}
