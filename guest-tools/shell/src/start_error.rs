//! Advice for a model whose command does not start.

use toolhost_sdk::processes::Error;

/// Returns why nothing was started, and what to do about it.
pub(crate) fn describe(error: &Error) -> String {
    let advice = match error {
        Error::Workdir(_) => {
            "pass a workdir that exists, or leave it out for the workspace directory"
        }
        Error::Limit(_) => {
            "end a process with process_signal, or wait until one has ended; process_list shows them"
        }
        Error::Denied(_) => "only whoever runs this host can allow it",
        Error::Unavailable(_) => "nothing was run; try again later",
        Error::UnknownOutcome(_) => {
            "it may be running: look at process_list before you run it again"
        }
        Error::Failed(text) if names_a_missing_shell(text) => {
            "commands need a POSIX shell named sh on the PATH of the workspace; on Windows, Git Bash has one \
             (https://git-scm.com/downloads/win)"
        }
        Error::NotFound | Error::Invalid(_) | Error::Failed(_) => return error.to_string(),
    };
    format!("{error}; {advice}")
}

/// The text is that of Go's `os/exec`, which agents answer with; our own host names `sh` as well.
fn names_a_missing_shell(text: &str) -> bool {
    text.contains("\"sh\": executable file not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_to_do() {
        for (error, expected) in [
            (
                Error::Workdir("workdir \"/nope\" does not exist".into()),
                "leave it out",
            ),
            (
                Error::Limit("32 processes are running".into()),
                "process_signal",
            ),
            (
                Error::UnknownOutcome("the agent stopped answering".into()),
                "process_list",
            ),
            (Error::Unavailable("connection refused".into()), "try again"),
            (Error::Denied("processes are not granted".into()), "allow"),
        ] {
            let text = describe(&error);
            assert!(
                text.starts_with(&error.to_string()) && text.contains(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn explains_a_missing_shell_and_nothing_else() {
        let missing = describe(&Error::Failed(
            r#"exec: "sh": executable file not found in $PATH"#.into(),
        ));
        assert!(
            missing.contains("Git Bash") && missing.contains("https://"),
            "{missing}"
        );
        assert_eq!(
            describe(&Error::Failed("connection lost".into())),
            "connection lost"
        );
    }
}
