//! Whether a command is only to change the shell for the next one.

use toolhost_sdk::processes::Shell;

use crate::background;

/// Returns whether a command does nothing but change the directory or the variables of its shell, which ends with it.
pub(crate) fn is_all(command: &str, shell: Shell) -> bool {
    if !background::is_plain(command, shell) {
        return false;
    }
    let mut commands = command
        .split("&&")
        .flat_map(|part| part.split([';', '\n']))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .peekable();
    commands.peek().is_some()
        && commands.all(|one| {
            let name = one.split_ascii_whitespace().next().unwrap_or_default();
            matches!(
                name,
                "cd" | "export" | "alias" | "unset" | "umask" | "ulimit" | "." | "source"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_changes_only_the_shell() {
        for command in [
            "cd src",
            "cd /x/y && export A=1",
            "export A=\"b c\"",
            ". venv/bin/activate",
            "cd a; cd b\n",
        ] {
            assert!(is_all(command, Shell::Sh), "{command}");
        }
        for command in [
            "",
            ";",
            "cd src && ls",
            "pwd",
            "cdx",
            "export -p | sort",
            "A=1 make",
        ] {
            assert!(!is_all(command, Shell::Bash), "{command}");
        }
    }
}
