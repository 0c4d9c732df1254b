//! The system calls that the filter refuses by their numbers alone.

use nix::libc::*;

/// `open_tree_attr` and `file_setattr`, which libc lacks.
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_FILE_SETATTR: i64 = 469;

/// `kexec_file_load`, which libc lacks for musl on AArch64.
const SYS_KEXEC_FILE_LOAD: i64 = if cfg!(target_arch = "x86_64") {
    320
} else {
    294
};

/// Calls that change the system, or that have been used to escape from sandboxes.
#[rustfmt::skip]
pub(super) const SYSTEM: &[i64] = &[
    // Replacing the kernel, and loading code into it.
    SYS_kexec_load, SYS_KEXEC_FILE_LOAD, SYS_reboot, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    // Operations that bypass a filter of system calls.
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // Keys of the user's session.
    SYS_keyctl, SYS_add_key, SYS_request_key,
    // The machine.
    SYS_swapon, SYS_swapoff, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_quotactl, SYS_quotactl_fd, SYS_vhangup,
    #[cfg(target_arch = "x86_64")] SYS_iopl,
    #[cfg(target_arch = "x86_64")] SYS_ioperm,
    // Files by handle instead of by path, and watching which files other processes open.
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_fanotify_init,
    // The flags and the project of a file.
    SYS_FILE_SETATTR,
];

/// Calls that programs need to make a sandbox of their own.
#[rustfmt::skip]
pub(super) const NAMESPACES: &[i64] = &[
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_sethostname, SYS_setdomainname,
    SYS_move_mount, SYS_mount_setattr, SYS_open_tree, SYS_OPEN_TREE_ATTR,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
];

/// `fchmodat2`, which libc lacks.
const SYS_FCHMODAT2: i64 = 452;

/// Calls that give a file a mode: the argument with the mode, and that with the flags of a call which does not always make a file.
#[rustfmt::skip]
pub(super) const MODES: &[(i64, u8, Option<u8>)] = &[
    (SYS_fchmod, 1, None),
    (SYS_fchmodat, 2, None),
    (SYS_FCHMODAT2, 2, None),
    (SYS_mknodat, 2, None),
    (SYS_openat, 3, Some(2)),
    #[cfg(target_arch = "x86_64")] (SYS_chmod, 1, None),
    #[cfg(target_arch = "x86_64")] (SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")] (SYS_mknod, 1, None),
    #[cfg(target_arch = "x86_64")] (SYS_open, 2, Some(1)),
];

/// The flags with which a call makes a file: one with a name, or one without.
pub(super) const CREATES: [i32; 2] = [O_CREAT, O_TMPFILE & !O_DIRECTORY];

/// Calls that inspect or change other processes.
#[rustfmt::skip]
pub(super) const TRACING: &[i64] = &[
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_pidfd_getfd, SYS_kcmp,
    SYS_move_pages, SYS_migrate_pages,
];
