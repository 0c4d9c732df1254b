//! The lexer compared with shells, none of which ever runs a command of these tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Defines a function that has the command as its body, and prints the function as bash understood it.
///
/// What closes the function too early and goes on would run. So the command has to fit into an `if` in a function first,
/// and then into a function: no text can close one of these without being an error in the other. There are no programs,
/// and there is no place where a redirection could create a file. A subshell is there for errors in substitutions, at which
/// bash exits.
const SCRIPT: &str = r#"
PATH=/dev/null
cd /proc || cd /
printf '%s\0' "$BASH_VERSION"
while IFS= read -r -d '' command; do
  (
    eval "f() {
if false; then :
$command
fi
}" && eval "f() {
:
$command
}" && declare -f f
  )
  printf '\0'
done
"#;

/// A bash that is asked about many commands.
#[derive(Debug)]
pub(super) struct Bash {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Bash {
    /// Starts bash 5.2 or 5.3, which a test says with `needs(bash)`: what older ones print is different.
    #[expect(clippy::disallowed_methods, reason = "a test asks a shell")]
    pub(super) fn start() -> Self {
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", SCRIPT])
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it needs bash");
        let mut bash = Self {
            questions: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
        };
        let version = bash.answer();
        assert!(
            version.starts_with("5.2") || version.starts_with("5.3"),
            "it needs bash 5.2 or 5.3, and this is {version}"
        );
        bash
    }

    /// Returns a command in the canonical form of bash; `None` if bash reports a syntax error.
    pub(super) fn canonical(&mut self, command: &str) -> Option<String> {
        let questions = self.questions.as_mut().expect("bash listens");
        questions.write_all(command.as_bytes()).expect("bash reads");
        questions.write_all(b"\0").expect("bash reads");
        let text = self.answer();
        let body = text
            .strip_prefix("f () \n{ \n    :;\n")
            .or(text.strip_prefix("f () \n{ \n    :\n"))?;
        // Blanks at the ends of lines, and blank lines, depend on what stands where.
        let lines = body
            .strip_suffix("}\n")?
            .split('\n')
            .map(|line| line.trim_end_matches([' ', '\t']));
        Some(
            lines
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }

    fn answer(&mut self) -> String {
        let mut answer = Vec::new();
        self.answers
            .read_until(0, &mut answer)
            .expect("bash answers");
        assert_eq!(answer.pop(), Some(0), "bash ended");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Bash {
    fn drop(&mut self) {
        // It ends where its input does.
        self.questions = None;
        let _ = self.child.wait();
    }
}

/// Returns whether `sh` accepts a command, if there is such a shell.
#[expect(clippy::disallowed_methods, reason = "a test asks a shell")]
pub(super) fn sh_accepts(command: &str) -> Option<bool> {
    // It might begin like an option.
    let command = format!("\n{command}");
    let status = Command::new("sh")
        .args(["-n", "-c", &command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    Some(status.ok()?.success())
}
