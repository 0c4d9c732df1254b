//! The memory that this process may use, of the machine or of its container.

use std::fs;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};

/// Returns the least of the machine's memory, the limits of this process's cgroups, and its own limit of address space, in
/// bytes. `None`: the system names none of them.
pub(super) fn memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(total);
    let own = getrlimit(Resource::RLIMIT_AS).map(|(soft, _)| soft).ok();
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = cgroups
        .lines()
        .flat_map(|line| files(Path::new("/sys/fs/cgroup"), line))
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    machine.into_iter().chain(own).chain(limits).min()
}

/// Returns the total of `/proc/meminfo` in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the files with the limits of a cgroup and of its ancestors, for a line of `/proc/self/cgroup`. A container sees its
/// own cgroup at the mount itself, and the line does not matter there.
fn files(mount: &Path, line: &str) -> Vec<std::path::PathBuf> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next(), parts.next(), parts.next());
    let (mount, file) = match controllers {
        Some("") => (mount.to_owned(), "memory.max"),
        Some(named) if named.split(',').any(|name| name == "memory") => {
            (mount.join("memory"), "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let path = Path::new(path.unwrap_or_default().trim_start_matches('/'));
    // The last of the ancestors is empty: the mount.
    let above = path.ancestors();
    above.map(|above| mount.join(above).join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_there_is() {
        assert_eq!(total("MemTotal:  16 kB\nMemFree: 1 kB\n"), Some(16_384));
        assert_eq!(total(""), None);
        assert!(memory().is_some_and(|bytes| bytes >= 1 << 20));
    }

    #[test]
    fn every_cgroup_up_to_the_mount_is_looked_at() {
        let shown = |line: &str| {
            let files = files(Path::new("/m"), line);
            let shown = files.iter().map(|file| file.display().to_string());
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown("0::/a/b"),
            "/m/a/b/memory.max /m/a/memory.max /m/memory.max"
        );
        assert_eq!(shown("0::/"), "/m/memory.max");
        assert_eq!(
            shown("5:cpu,memory:/a"),
            "/m/memory/a/memory.limit_in_bytes /m/memory/memory.limit_in_bytes"
        );
        assert_eq!(shown("4:cpu:/a"), "");
    }
}
