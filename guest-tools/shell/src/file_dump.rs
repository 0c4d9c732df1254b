//! Whether a command prints a file to the model, for which there is a better tool.

use crate::background;

/// Returns whether a command prints files or lists which ones match, and does nothing else with what it prints.
pub(crate) fn is_file_dump(command: &str) -> bool {
    matches(command) && background::is_plain(command)
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
            "grep --include-all pattern",
            "rg x --include-all",
            "rg -l pattern",
        ] {
            assert!(is_file_dump(command), "{command}");
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
            "rg -l pattern | xargs sed -i s/a/b/",
        ] {
            assert!(!is_file_dump(command), "{command}");
        }
    }
}
