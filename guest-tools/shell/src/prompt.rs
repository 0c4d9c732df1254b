//! Whether an output ends with a question to somebody who is not there.

/// The longest line that can be a prompt, in bytes.
const MAX: usize = 300;

/// How prompts end, and what they ask for.
const ENDS: [&str; 6] = ["?", ":", "]", ")", ">", "..."];
const QUESTIONS: [&str; 5] = ["password", "passphrase", "[y/n", "(y/n", "yes/no"];

/// What Python says of a script that asks.
const PYTHON: &str = "EOFError: EOF when reading a line";

/// Returns whether the text ends with a line that is not complete and looks like a question.
pub(crate) fn is_prompt(output: &str) -> bool {
    let line = output.rsplit('\n').next().unwrap_or_default();
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.len() > MAX || !ENDS.iter().any(|end| trimmed.ends_with(end)) {
        return false;
    }
    let lower = trimmed.to_lowercase();
    let asks = QUESTIONS.iter().any(|question| lower.contains(question))
        || lower.starts_with("press ")
        // As the end of a word, so not in an address.
        || lower.ends_with('?')
        || lower.contains("? ");
    // Who asks leaves a blank for the answer.
    asks || line.ends_with([' ', '\t'])
        && trimmed.ends_with([':', '>'])
        && !trimmed.starts_with('[')
}

/// Returns whether one of the last lines of the output of a command that went well looks like a question, with a blank for the answer.
pub(crate) fn has_asked(output: &str) -> bool {
    const LOOKED_AT: usize = 5;
    let mut lines = output.rsplit('\n').take(LOOKED_AT);
    is_prompt(output) || lines.any(|line| line.ends_with(' ') && is_prompt(line))
}

/// Returns whether the output of a command that failed says that the command asked for input and found none.
pub(crate) fn found_no_input(output: &str) -> bool {
    let line = output.rsplit('\n').next().unwrap_or_default();
    let trimmed = line.trim_end();
    let asks = line.len() > trimmed.len() && ENDS.iter().any(|end| trimmed.ends_with(end));
    let last = output.trim_end().rsplit('\n').next().unwrap_or_default();
    is_prompt(output) || asks && line.len() <= MAX || last == PYTHON
}

/// Returns whether the output says that a program found no terminal, in the words of editors, pagers and monitors.
pub(crate) fn found_no_terminal(output: &str) -> bool {
    const TEXTS: [&str; 8] = [
        "Output is not to a terminal",
        "Input is not from a terminal",
        "tandard input is not a t",
        "stdin is not a t",
        "not a tty",
        "failed tty get",
        "Error opening terminal",
        "open terminal failed",
    ];
    TEXTS.iter().any(|text| output.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_ended_for_want_of_input() {
        for output in [
            "Press ^C at any time to quit.\npackage name: (work) ",
            "Enter file in which to save the key (/home/ada/.ssh/id_rsa): ",
            "Continue? ",
            "Name: Traceback (most recent call last):\n  File \"<stdin>\", line 1\nEOFError: EOF when reading a line\n",
        ] {
            assert!(found_no_input(output), "{output}");
        }
        for output in [
            "",
            "error: x",
            "no: such file\n",
            "failed (1)",
            "EOFError: x\n",
        ] {
            assert!(!found_no_input(output), "{output}");
        }
    }

    #[test]
    fn knows_what_wants_a_terminal() {
        for output in [
            "Vim: Warning: Output is not to a terminal\n",
            "Standard input is not a terminal\n",
            "top: failed tty get\n",
            "Error opening terminal: unknown.\n",
            "open terminal failed: not a terminal\n",
            "the input device is not a TTY\nstdin is not a tty\n",
        ] {
            assert!(found_no_terminal(output), "{output}");
        }
        assert!(!found_no_terminal("a terminal is not needed\n"));
    }

    #[test]
    fn knows_prompts() {
        for output in [
            "Need to install the following packages:\nvite\nOk to proceed? (y) ",
            "Password:",
            "[sudo] password for ada: ",
            "Enter passphrase for key '/home/ada/.ssh/id_ed25519': ",
            "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
            "Overwrite? [y/N] ",
            "mysql> ",
            "Name: ",
            "Press any key to continue...",
        ] {
            assert!(is_prompt(output), "{output}");
        }
    }

    #[test]
    fn knows_what_is_none() {
        for output in [
            "",
            "done\n",
            "Password:\n",
            "  Compiling foo",
            "Downloading: 45%",
            "listening on http://[::1]:8080/",
            "error: x",
            "[####  ]",
            "[====>   ] ",
            "Installing express ...",
            "compress (input)",
            "Fetching https://h/a.tgz?x=1 ...",
            "\n  \t",
        ] {
            assert!(!is_prompt(output), "{output}");
        }
    }
}
