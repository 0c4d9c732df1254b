//! The paths of the system.

use std::fs;
use std::path::{Path, PathBuf};

/// Paths that commands may read and execute.
///
/// `/run` and `/var` are not in the list, because they contain sockets and data of services. Some paths below `/run` are:
/// `/etc/resolv.conf` is often a link to a file there.
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

/// Directories with the programs and libraries of the system.
pub(super) const PROGRAMS: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/snap",
];

/// The directory of named semaphores and shared memory, which Python's multiprocessing uses.
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

/// Directories that commands may only list.
pub(super) const LIST: &[&str] = &["/dev"];

/// Paths that commands may never reach, even as root: secrets in readable directories, and interfaces of the kernel for root.
const NEVER: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
    // The configuration of the host, with the files of keys and tokens beside it.
    "/etc/toolhost",
    "/sys/firmware",
    "/sys/fs/bpf",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
    // Sockets of services that can act for a command.
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

/// Directories in which every file is a secret.
const NEVER_FILES_OF: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Returns the paths that commands may never reach.
pub(super) fn never() -> Vec<PathBuf> {
    let named = NEVER.iter().map(PathBuf::from);
    // The path with `*` exists nowhere, but while it is in the list, the directory is not granted as a whole. So files that are made
    // later stay hidden.
    let hidden = NEVER_FILES_OF.iter().flat_map(|directory| {
        let directory = Path::new(directory);
        let mut files = paths_in(directory, |_| true);
        files.push(directory.join("*"));
        files
    });
    let host_keys = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
    let keys = paths_in(Path::new("/etc/ssh"), host_keys);
    named.chain(hidden).chain(keys).collect()
}

/// Returns the paths in a directory whose name matches, or is not UTF-8.
fn paths_in(directory: &Path, matches: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| entry.file_name().to_str().is_none_or(&matches));
    matching.map(|entry| entry.path()).collect()
}
