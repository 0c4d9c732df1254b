//! Whether a command tried to signal a process of another command, which the sandbox does not allow.

use toolhost_sdk::processes::Info;

/// The programs that send signals by the number or the name of a process.
const PROGRAMS: &[&str] = &["kill", "pkill", "killall", "fuser"];

/// Returns whether a command sends signals, and its output says that it may not.
pub(crate) fn was_refused(command: &str, output: &str) -> bool {
    let mut words = command.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    words.any(|word| PROGRAMS.contains(&word)) && output.contains("Operation not permitted")
}

/// Returns the live processes, those first that a command that sends signals most likely means: by the words of both commands.
pub(crate) fn meant(command: &str, mut live: Vec<Info>) -> Vec<Info> {
    let is_part = |char: char| char.is_alphanumeric() || "_-./".contains(char);
    let words = command.split(|char| !is_part(char));
    let words = words.map(|word| word.trim_matches(['-', '.', '/']));
    let words = words.filter(|word| word.len() > 2 && !PROGRAMS.contains(word));
    let words: Vec<_> = words.collect();
    let names = |info: &Info| words.iter().any(|word| info.command.contains(word));
    live.sort_by_key(|info| !names(info));
    live
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
