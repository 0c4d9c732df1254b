//! The programs of this machine, and the rights of this user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|status| status.uid() == 0)
}

/// Returns whether this process may mount file systems. Root in a container mostly may not.
pub(crate) fn can_mount() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    is_root() && capabilities.is_some_and(|mask| mask & CAP_SYS_ADMIN != 0) && has_program("mount")
}

/// Makes a file system of the kind `$0` with the options `$1` in a file, and mounts it. XFS needs 300 MiB.
const MOUNT_WITH_QUOTAS: &str = "\
    d=$(mktemp -d) && cd \"$d\" && trap 'rm -f image; rmdir place \"$d\"' EXIT && truncate -s 320M image && mkdir place \
    && mkfs.$0 -q $1 image && mount -o loop,prjquota image place && umount place";

/// Returns whether this process can mount `ext4` or `xfs` with quotas of projects, which many kernels lack.
#[expect(clippy::disallowed_methods, reason = "only a mount can tell")]
pub(crate) fn has_quotas(kind: &str) -> bool {
    if !can_mount() {
        return false;
    }
    let options = match kind {
        "ext4" => "-O quota,project -E quotatype=prjquota",
        _ => "",
    };
    let tried = std::process::Command::new("sh")
        .args(["-c", MOUNT_WITH_QUOTAS, kind, options])
        .stderr(std::process::Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// Returns whether this process can make network namespaces, and connect them.
#[expect(clippy::disallowed_methods, reason = "only a try can tell")]
pub(crate) fn can_make_networks() -> bool {
    const TRY: &str = "ip netns add $0 && ip link add $0b type bridge && ip link add $0v type veth peer name eth0 netns $0; \
         made=$?; ip link del $0b; ip netns del $0; exit $made";
    if !can_mount() {
        return false;
    }
    let name = format!("t{}", std::process::id());
    let tried = std::process::Command::new("sh")
        .args(["-c", TRY, &name])
        .stderr(std::process::Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// Returns whether this user can make all namespaces that the sandbox of commands has, with a `/proc` of their own.
#[expect(
    clippy::disallowed_methods,
    reason = "only a process of its own can try"
)]
pub(crate) fn has_namespaces() -> bool {
    let arguments = "--user --map-root-user --mount --pid --ipc --net --fork --mount-proc true";
    let tried = std::process::Command::new("unshare")
        .args(arguments.split(' '))
        .stderr(std::process::Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// Returns whether there is an executable file of this name in `PATH`.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| {
        let file = fs::metadata(directory.join(name));
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

/// Returns whether there is a server of PostgreSQL, which Debian keeps out of `PATH`.
pub(crate) fn has_postgres() -> bool {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions = versions.flatten().map(|version| version.path());
    versions.any(|version| version.join("bin/postgres").exists()) || has_program("postgres")
}

/// Returns whether there is a bash that prints functions as the tests of the lexer expect it.
#[expect(clippy::disallowed_methods, reason = "a test asks a shell")]
pub(crate) fn has_bash() -> bool {
    let script = "printf %s \"$BASH_VERSION\"";
    let output = std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-c", script])
        .output();
    output.is_ok_and(|output| {
        ["5.2", "5.3"]
            .iter()
            .any(|version| output.stdout.starts_with(version.as_bytes()))
    })
}

/// Returns whether files can have access control lists in the directory of temporary files.
pub(crate) fn has_access_control_lists() -> bool {
    let path = std::env::temp_dir().join(format!("toolhost-needs-{}", std::process::id()));
    let made = fs::File::create_new(&path);
    let read = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut [0_u8; 100][..]);
    _ = fs::remove_file(&path);
    // A new file has no list, which is not the same as no lists.
    made.is_ok() && read == Err(rustix::io::Errno::NODATA)
}

/// Returns where `tests/clients/prepare` installs.
pub(crate) fn clients() -> PathBuf {
    directory("TOOLHOST_CLIENTS", "target/clients")
}

/// Returns where `examples/plugins/build` leaves components.
pub(crate) fn languages() -> PathBuf {
    directory("TOOLHOST_LANGUAGES", "target/languages")
}

fn directory(variable: &str, default: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from)
}

/// Returns whether a host would give its commands cgroups: see `process::contain::cgroup`, which says why not.
pub(crate) fn has_cgroup() -> bool {
    let Some(own) = own_cgroup() else {
        return false;
    };
    let is_root_of_view = own
        .parent()
        .is_none_or(|parent| !parent.join("cgroup.procs").exists());
    if is_root() && !is_root_of_view && !is_delegated(&own) {
        return false;
    }
    let probe = own.join(format!("toolhost-needs-{}", std::process::id()));
    let made = fs::create_dir(&probe).is_ok();
    let kills = probe.join("cgroup.kill").exists();
    _ = fs::remove_dir(&probe);
    made && kills
}

/// Returns the directory of the cgroup of this process.
fn own_cgroup() -> Option<PathBuf> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        filesystem
            .starts_with("cgroup2 ")
            .then(|| Path::new(point).join(below))
    })
}

fn is_delegated(cgroup: &Path) -> bool {
    ["trusted.delegate", "user.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(cgroup, *name, &mut value[..]).is_ok_and(|_| value.starts_with(b"1"))
    })
}
