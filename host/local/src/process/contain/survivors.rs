//! The processes that outlive a shell: their command lines, and the members of a process group, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::proc;
use crate::process::Survivor;

/// The longest command line that is shown, in bytes.
const MAX_COMMAND_LINE: usize = 256;

/// Returns a survivor: the process id as commands of its chat see it, and its command line. `None` if the process has ended.
pub(super) fn survivor(pid: i32) -> Option<Survivor> {
    let survivor = Survivor {
        pid: proc::number_within(pid).unwrap_or(pid).unsigned_abs(),
        command: command_line(pid),
    };
    // Looked at last: a process that has just ended has no command line.
    proc::is_alive(pid).then_some(survivor)
}

/// All process groups with living members, at one moment.
struct Scan {
    at: Instant,
    groups: HashMap<i32, Vec<i32>>,
}

/// Returns the living members of a group whose leader was started by this host and is gone or about to be.
///
/// A group of this id with a living leader is another one, to which the id was given anew: it has no members here.
pub(super) fn members(group: i32) -> Vec<i32> {
    of_group(&Scan::now(), group)
}

/// Returns whether such a group has living members. Looks again only if the last look is older than this, so that waits for
/// many groups share one look at all processes.
pub(super) fn has_members(group: i32, max_age: Duration) -> bool {
    static LAST: Mutex<Option<Scan>> = Mutex::new(None);
    let mut last = LAST.lock();
    let fresh = last.take().filter(|scan| scan.at.elapsed() <= max_age);
    let scan = last.insert(fresh.unwrap_or_else(Scan::now));
    !of_group(scan, group).is_empty()
}

fn of_group(scan: &Scan, group: i32) -> Vec<i32> {
    let members = scan.groups.get(&group).map_or(&[][..], Vec::as_slice);
    if members.contains(&group) {
        Vec::new()
    } else {
        members.to_vec()
    }
}

impl Scan {
    fn now() -> Self {
        let at = Instant::now();
        let mut groups = HashMap::<i32, Vec<i32>>::new();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            if let Some(status) = proc::status(pid).filter(|status| status.lives) {
                groups.entry(status.group).or_default().push(pid);
            }
        }
        Self { at, groups }
    }
}

fn command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = if line.is_empty() {
        fs::read(format!("/proc/{pid}/comm")).unwrap_or_default()
    } else {
        line
    };
    printable(&line)
}

/// Arguments are separated by NUL. The command chooses them, so control characters are replaced.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\0', '\n']).replace('\0', " ");
    let mut text: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.len() > MAX_COMMAND_LINE {
        text.truncate(text.floor_char_boundary(MAX_COMMAND_LINE - '…'.len_utf8()));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_harmless_and_short() {
        assert_eq!(printable(b"sleep\x0060\0"), "sleep 60");
        assert_eq!(printable(b"a\x1b[2Jb\n"), "a\u{fffd}[2Jb");
        let long = printable("ä".repeat(500).as_bytes());
        assert!(long.len() <= MAX_COMMAND_LINE && long.ends_with('…'));
    }
}
