//! Whether a command prints a file to the model, for which there is a better tool.

use toolhost_sdk::processes::Shell;

use crate::background;

/// Returns whether a command prints files of the workspace at `root` or lists which ones match, and does nothing else with what it
/// prints.
pub(crate) fn is_file_dump(command: &str, shell: Shell, root: &str) -> bool {
    matches(command) && background::is_plain(command, shell) && !is_elsewhere(command, root)
}

/// Returns whether a command names a path that is outside of the workspace, where read_file reads nothing.
fn is_elsewhere(command: &str, root: &str) -> bool {
    let mut words = command.split_ascii_whitespace().skip(1);
    words.any(|word| {
        let path = word.trim_start_matches(['"', '\'']);
        let is_below = path
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '"', '\'']));
        path.starts_with(['/', '~', '$']) && !is_below || path.starts_with("..")
    })
}

/// The three forms of the reference: `cat …`, `rg|grep … --include-all`, and `rg|grep -l …`.
fn matches(command: &str) -> bool {
    let Some((name, arguments)) = command.split_once(|c: char| c.is_ascii_whitespace()) else {
        return false;
    };
    let arguments = arguments.trim_ascii_start();
    match name {
        "cat" => true,
        "rg" | "grep" => {
            let lists = arguments
                .strip_prefix("-l")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace()));
            let first_line = arguments.lines().next().unwrap_or_default();
            lists || first_line.contains("--include-all")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_file_dumps() {
        for command in [
            "cat foo.txt",
            "cat  a b",
            "cat /w/a",
            "cat '/w/a b'",
            "grep --include-all pattern",
            "rg x --include-all",
            "rg -l pattern",
        ] {
            assert!(is_file_dump(command, Shell::Sh, "/w"), "{command}");
        }
    }

    #[test]
    fn leaves_other_commands_alone() {
        for command in [
            "concatenate foo",
            "cat",
            " cat foo",
            "grep -r pattern",
            "grep -lr pattern",
            "cat x | wc -l",
            "cat x > y",
            "cat <<EOF\nx\nEOF",
            "cat /etc/hostname",
            "cat \"$HOME/x\"",
            "cat ~/.bashrc",
            "cat ../x",
            "cat /work/x",
            "rg -l pattern | xargs sed -i s/a/b/",
        ] {
            assert!(!is_file_dump(command, Shell::Bash, "/w"), "{command}");
        }
    }
}
