//! The process at the other end of a Unix socket.

use std::fs;

/// The names of the processes that every command of a host runs below, as containment gives them.
const ABOVE_COMMANDS: [&str; 2] = ["toolhost-super", "toolhost-spawn"];

/// The most steps from a process up to the first.
const MOST_STEPS: usize = 1024;

/// Returns whether a process runs, and is no command of this host or another one: a command that calls tools without a token would
/// act in any chat.
pub(super) fn is_no_command(pid: i32) -> bool {
    let mut pid = pid;
    for _ in 0..MOST_STEPS {
        let Some((name, parent)) = status(pid) else {
            return false;
        };
        if ABOVE_COMMANDS.contains(&name.as_str()) {
            return false;
        }
        // The first process of a namespace has no parent.
        if parent == 0 {
            return true;
        }
        pid = parent;
    }
    false
}

/// Returns the name and the parent of a process.
fn status(pid: i32) -> Option<(String, i32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may contain anything, so it ends at the last parenthesis.
    let (name, rest) = stat.rsplit_once(") ")?;
    let (_, name) = name.split_once(" (")?;
    let parent = rest.split(' ').nth(1)?.parse().ok()?;
    Some((name.to_owned(), parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_told_from_one_that_does_not() {
        let own = std::process::id().cast_signed();
        assert!(is_no_command(own));
        for pid in [0, -1, i32::MAX] {
            assert!(!is_no_command(pid), "{pid}");
        }
        let (_, parent) = status(own).unwrap();
        assert_eq!(parent, std::os::unix::process::parent_id().cast_signed());
    }
}
