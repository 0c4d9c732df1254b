//! Tests of refused system calls, and of allowed ones that programs need.

use nix::libc::{self, *};

use crate::fixture::{self, Fixture, User};

for_each_user! {
    calls_that_change_the_system_are_refused[program = "python3"];
    programs_fall_back_where_they_can[program = "python3"];
    input_for_a_terminal_is_refused[program = "python3"];
    odd_personalities_are_refused[program = "python3"];
    nested_sandboxes_are_allowed_if_the_policy_says_so[program = "python3"];
    users_are_mapped_in_nested_namespaces_but_not_by_root[program = "unshare"];
    without_landlock_nothing_is_traced[program = "python3"];
    no_file_gives_its_rights_to_other_users[program = "python3"];
}

/// Calls with invalid arguments, so that they have no effect even if they are allowed.
const REFUSED: &[(&str, i64, &str)] = &[
    ("mount", SYS_mount, "0, 1, 0, 0, 0"),
    ("umount2", SYS_umount2, "1, 0"),
    ("pivot_root", SYS_pivot_root, "1, 1"),
    ("chroot", SYS_chroot, "1"),
    ("setns", SYS_setns, "-1, 0"),
    ("move_mount", SYS_move_mount, "-1, 1, -1, 1, 0"),
    ("open_tree", SYS_open_tree, "-1, 1, 0"),
    ("fsopen", SYS_fsopen, "1, 0"),
    ("fsconfig", SYS_fsconfig, "-1, 0, 0, 0, 0"),
    ("fsmount", SYS_fsmount, "-1, 0, 0"),
    ("fspick", SYS_fspick, "-1, 1, 0"),
    ("mount_setattr", SYS_mount_setattr, "-1, 1, 0, 0, 0"),
    ("unshare user", SYS_unshare, "0x10000000"),
    ("unshare mount", SYS_unshare, "0x20000"),
    ("unshare time", SYS_unshare, "0x80"),
    ("unshare network", SYS_unshare, "0x40000000"),
    ("unshare with files", SYS_unshare, "0x40000400"),
    ("clone user", SYS_clone, "0x10000000 | 17, 0, 0, 0, 0"),
    ("sethostname", SYS_sethostname, "1, 1"),
    ("bpf", SYS_bpf, "99, 0, 0"),
    ("perf_event_open", SYS_perf_event_open, "1, 0, -1, -1, 0"),
    ("userfaultfd", SYS_userfaultfd, "1"),
    ("io_uring_setup", SYS_io_uring_setup, "1, 1"),
    ("io_uring_enter", SYS_io_uring_enter, "-1, 0, 0, 0, 0"),
    ("io_uring_register", SYS_io_uring_register, "-1, 0, 0, 0"),
    ("keyctl", SYS_keyctl, "99, 0, 0, 0, 0"),
    ("add_key", SYS_add_key, "1, 1, 0, 0, 0"),
    ("request_key", SYS_request_key, "1, 1, 0, 0"),
    ("kexec_load", SYS_kexec_load, "0, 99, 1, 0xffff"),
    ("init_module", SYS_init_module, "1, 1, 1"),
    ("finit_module", SYS_finit_module, "-1, 1, 0"),
    ("delete_module", SYS_delete_module, "1, 0"),
    ("reboot", SYS_reboot, "0, 0, 0, 0"),
    ("swapon", SYS_swapon, "1, 0"),
    ("acct", SYS_acct, "1"),
    ("settimeofday", SYS_settimeofday, "1, 0"),
    ("clock_settime", SYS_clock_settime, "0, 1"),
    ("adjtimex", SYS_adjtimex, "1"),
    ("quotactl", SYS_quotactl, "0, 1, 0, 0"),
    ("name_to_handle_at", SYS_name_to_handle_at, "-1, 1, 0, 0, 0"),
    ("open_by_handle_at", SYS_open_by_handle_at, "-1, 1, 0"),
    ("fanotify_init", SYS_fanotify_init, "0xffff, 0"),
    ("FS_IOC_SETFLAGS", SYS_ioctl, "-1, 0x40086602, 0"),
    ("FS_IOC_FSSETXATTR", SYS_ioctl, "-1, 0x401c5820, 0"),
    ("F_SETLEASE", SYS_fcntl, "-1, 1024, 0"),
    ("file_setattr", 469, "-1, 1, 0, 0, 0"),
    #[cfg(target_arch = "x86_64")]
    ("iopl", SYS_iopl, "0"),
    #[cfg(target_arch = "x86_64")]
    ("ioperm", SYS_ioperm, "0, 1, 0"),
];

/// Returns a script that makes each call, and prints its name and errno.
fn script() -> String {
    let lines = REFUSED.iter().map(|(name, number, arguments)| {
        format!("print('{name}', call({number}, {arguments}), flush=True)\n")
    });
    lines.collect()
}

fn calls_that_change_the_system_are_refused(user: User) {
    let fixture = Fixture::new(user);
    let output = fixture.python(&script(), true);
    let said = String::from_utf8_lossy(&output.stdout);
    let expected: String = REFUSED
        .iter()
        .map(|(name, ..)| format!("{name} {EPERM}\n"))
        .collect();
    assert_eq!(said, expected, "{output:?}");
    // Without the sandbox, the calls of root fail with other errors. The table tests the filter, not the kernel.
    if rustix::process::getuid().is_root() && user == User::Own {
        let others = REFUSED
            .iter()
            .filter(|(name, ..)| !name.starts_with("unshare") && !name.starts_with("clone"));
        for (name, number, arguments) in others {
            let output = fixture.python(&format!("print(call({number}, {arguments}))"), false);
            assert_ne!(fixture::errno(&output), EPERM, "{name}");
        }
    }
}

fn programs_fall_back_where_they_can(user: User) {
    let fixture = Fixture::new(user);
    let mut calls = vec![("clone3", SYS_clone3, "0, 0")];
    // `getpid` of x32.
    if cfg!(target_arch = "x86_64") {
        calls.push(("x32", SYS_getpid | 0x4000_0000, ""));
    }
    for (name, number, arguments) in calls {
        let output = fixture.python(&format!("print(call({number}, {arguments}))"), true);
        assert_eq!(fixture::errno(&output), libc::ENOSYS, "{name}");
    }
    fixture.works(
        "python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'",
    );
}

fn input_for_a_terminal_is_refused(user: User) {
    let fixture = Fixture::new(user);
    let terminal = "
import pty, fcntl, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
text = ctypes.create_string_buffer(b'x')
address = ctypes.addressof(text)";
    // Setting bits that the kernel ignores must not bypass the filter.
    for request in ["0x5412", "0x100005412"] {
        let script = format!("{terminal}\nprint(call({SYS_ioctl}, slave, {request}, address))");
        fixture.errno(&script, EPERM);
    }
    let size = format!("{terminal}\nprint(len(os.get_terminal_size(slave)), os.isatty(slave))");
    let output = fixture.python(&size, true);
    assert_eq!(output.stdout, b"2 True\n", "{output:?}");
}

fn odd_personalities_are_refused(user: User) {
    let fixture = Fixture::new(user);
    // READ_IMPLIES_EXEC, MMAP_PAGE_ZERO with high bits.
    for odd in ["0x400000", "0x100100000"] {
        fixture.errno(&format!("print(call({SYS_personality}, {odd}))"), EPERM);
    }
    // The query of the current personality, and the personality for debuggers.
    for usual in ["0xffffffff", "0x40000"] {
        let output = fixture.python(&format!("print(call({SYS_personality}, {usual}))"), true);
        assert_eq!(fixture::errno(&output), 0);
    }
}

fn nested_sandboxes_are_allowed_if_the_policy_says_so(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.nested = true;
    let unshare = format!("call({SYS_unshare}, {CLONE_NEWUSER})");
    let mut script = "print(0)".to_owned();
    if fixture::has_user_namespaces() {
        script = format!("print({unshare})");
    }
    assert_eq!(fixture::errno(&fixture.python(&script, true)), 0);
    // Landlock refuses mounts in every namespace.
    let mount = format!(
        "{unshare}\ncall({SYS_unshare}, {CLONE_NEWNS})\nprint(call({SYS_mount}, b'tmpfs', b'/tmp', b'tmpfs', 0, 0))"
    );
    assert_eq!(fixture::errno(&fixture.python(&mount, true)), EPERM);
}

fn users_are_mapped_in_nested_namespaces_but_not_by_root(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.nested = true;
    let unshare = "unshare --user --map-root-user id -u";
    // The user of the tests prepares the policy.
    let by_root = rustix::process::getuid().is_root();
    match fixture::has_user_namespaces() {
        true if !by_root => assert_eq!(fixture.works(unshare), "0"),
        _ => fixture.fails(unshare, ""),
    }
    fixture.policy.nested = false;
    fixture.fails(unshare, "Operation not permitted");
}

fn without_landlock_nothing_is_traced(user: User) {
    let fixture = Fixture::new(user).without_landlock();
    let script = format!("print(call({SYS_ptrace}, {PTRACE_SEIZE}, victim, 0, 0))");
    fixture.errno(&script, EPERM);
    let script = format!("print(call({SYS_pidfd_getfd}, -1, 0, 0))");
    fixture.errno(&script, EPERM);
}

/// Who runs such a file outside of the sandbox would have the rights of the user of the commands.
fn no_file_gives_its_rights_to_other_users(user: User) {
    let fixture = Fixture::new(user);
    let calls = [
        format!("call({SYS_fchmod}, os.open('file', os.O_RDWR), 0o4755)"),
        format!("call({SYS_fchmod}, os.open('file', os.O_RDWR), 0o2755)"),
        format!("call({SYS_fchmodat}, -100, b'file', 0o4755)"),
        "call(452, -100, b'file', 0o4755, 0)".to_owned(),
        format!("call({SYS_mknodat}, -100, b'new', 0o104755, 0)"),
        format!("call({SYS_openat}, -100, b'new', os.O_CREAT | os.O_RDWR, 0o4755)"),
        format!("call({SYS_openat}, -100, b'.', os.O_TMPFILE | os.O_RDWR, 0o4755)"),
    ];
    for call in calls {
        fixture.errno(&format!("print({call})"), EPERM);
    }
    // A program that looks for `openat2` uses `openat` then.
    let call = format!("print(call({SYS_openat2}, -100, b'file', bytes(24), 24))");
    fixture.errno(&call, ENOSYS);
    fixture.works("chmod 755 file; umask 022; mkdir -m 1777 directory; touch new; cp -p new copy");
    assert_eq!(fixture.works("stat -c %a file directory"), "755\n1777");
}
