//! The capabilities of commands that run as root: those that Docker leaves to a container, without those for devices and raw
//! sockets.

use rustix::io::{Errno, Result};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// The capabilities that root keeps: those to manage files and to become another user.
///
/// Dropped are, among others: `SYS_ADMIN` and `SYS_RAWIO`, which give access to the memory of the kernel; `DAC_READ_SEARCH`, which opens
/// files by handle; `SYS_PTRACE`, `BPF`, `MKNOD` and `NET_RAW`; `SYS_RESOURCE`, which raises limits; and `SETFCAP`, which would leave
/// capabilities on files for other users.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Drops all other capabilities of this process, and of every program that it executes. An ordinary user has none to drop.
pub(crate) fn drop_others() -> Result<()> {
    let own = capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        // The kernel numbers capabilities without gaps, so the first error marks the end.
        for number in 0..u64::BITS {
            let capability = CapabilitySet::from_bits_retain(1 << number);
            if KEPT.contains(capability) {
                continue;
            }
            match remove_capability_from_bounding_set(capability) {
                Err(Errno::INVAL) => break,
                result => result?,
            }
        }
    }
    match clear_ambient_capability_set() {
        // A kernel without ambient capabilities has none to clear.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error),
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: own.effective & KEPT,
            permitted: own.permitted & KEPT,
            inheritable: own.inheritable & KEPT,
        },
    )
}
