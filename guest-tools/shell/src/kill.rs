//! Whether a command tried to signal a process of another command, which the sandbox does not allow.

/// The programs that send signals by the number or the name of a process.
const PROGRAMS: &[&str] = &["kill", "pkill", "killall", "fuser"];

/// Returns whether a command sends signals, and its output says that it may not.
pub(crate) fn was_refused(command: &str, output: &str) -> bool {
    let mut words = command.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    words.any(|word| PROGRAMS.contains(&word)) && output.contains("Operation not permitted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_signals_that_did_not_arrive() {
        for (command, output) in [
            ("kill 42", "sh: 1: kill: Operation not permitted\n"),
            (
                "kill -9 $(cat pid)",
                "sh: 1: kill: Operation not permitted\n\n",
            ),
            (
                "pkill srv",
                "pkill: killing pid 42 failed: Operation not permitted\n",
            ),
            (
                "killall node",
                "node(42): Operation not permitted\nnode: no process killed\n",
            ),
            (
                "bash -c 'kill 42'",
                "bash: line 1: kill: (42) - Operation not permitted\n",
            ),
        ] {
            assert!(was_refused(command, output), "{output}");
        }
        for (command, output) in [
            ("kill 42", "sh: 1: kill: No such process\n"),
            (
                "chown root x",
                "chown: changing ownership of 'x': Operation not permitted\n",
            ),
            ("skill x", "kill: Operation not permitted"),
        ] {
            assert!(!was_refused(command, output), "{output}");
        }
    }
}
