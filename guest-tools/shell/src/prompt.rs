//! Whether an output ends with a question to somebody who is not there.

/// The longest line that can be a prompt, in bytes.
const MAX: usize = 300;

/// How prompts end, and what they ask for.
const ENDS: [&str; 6] = ["?", ":", "]", ")", ">", "..."];
const QUESTIONS: [&str; 5] = ["password", "passphrase", "[y/n", "(y/n", "yes/no"];

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

#[cfg(test)]
mod tests {
    use super::*;

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
