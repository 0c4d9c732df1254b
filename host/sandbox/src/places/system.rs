//! The system's own places.

use std::fs;
use std::path::{Path, PathBuf};

/// What commands may read and execute.
///
/// `/run` and `/var` are not here, because sockets and data of services are below. A name server is often configured in a file
/// of `/run`, to which `/etc/resolv.conf` is a link.
pub(super) const READ: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/proc",
    "/sys",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/var/cache/fontconfig",
    "/var/lib/alternatives",
    "/var/lib/apt",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
];

/// The directory of named semaphores and shared memory, of which Python's multiprocessing is made.
pub(super) const TEMPORARY: &[&str] = &["/dev/shm"];

/// The devices that commands may use. Terminals are made through `/dev/ptmx` and appear in `/dev/pts`.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Where commands may list names.
pub(super) const LIST: &[&str] = &["/dev"];

/// What commands may not reach, even as root: secrets in readable directories, and what the kernel shows to root.
const NEVER: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
    // The host's own configuration, with the files of keys and tokens beside it.
    "/etc/toolhost",
    "/sys/firmware",
    "/sys/fs/bpf",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
    // Sockets of services that would act for a command.
    "/run/containerd",
    "/run/crio",
    "/run/dbus",
    "/run/docker",
    "/run/docker.sock",
    "/run/podman",
    "/run/systemd/private",
    "/run/user",
    "/var/run/docker.sock",
];

/// Directories whose files are secrets.
const NEVER_FILES_OF: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Returns what commands may never reach.
pub(super) fn never() -> Vec<PathBuf> {
    let named = NEVER.iter().map(PathBuf::from);
    // A name that no file has keeps the directory from being granted as a whole: files that appear later stay hidden.
    let hidden = NEVER_FILES_OF.iter().flat_map(|directory| {
        let directory = Path::new(directory);
        let mut files = names_in(directory, |_| true);
        files.push(directory.join("*"));
        files
    });
    let host_keys = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
    let keys = names_in(Path::new("/etc/ssh"), host_keys);
    named.chain(hidden).chain(keys).collect()
}

fn names_in(directory: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let meant = entries.filter(|entry| entry.file_name().to_str().is_none_or(&is_meant));
    meant.map(|entry| entry.path()).collect()
}
