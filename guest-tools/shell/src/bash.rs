//! Commands for bash that a POSIX shell ran.

/// What dash says of something that only bash has, after the place in the command.
const ERRORS: &[&str] = &[
    "Bad substitution",
    "Syntax error: \"(\" unexpected",
    "Syntax error: redirection unexpected",
    "Syntax error: Bad for loop variable",
    "[[: not found",
    "source: not found",
    "declare: not found",
    "typeset: not found",
    "shopt: not found",
    "pushd: not found",
    "popd: not found",
    "let: not found",
    "mapfile: not found",
    "readarray: not found",
    "disown: not found",
    "coproc: not found",
    "set: Illegal option -o pipefail",
    "export: Illegal option -f",
    "read: Illegal option -a",
    "wait: Illegal option -n",
    "printf: %q: invalid directive",
    "printf: Illegal option -v",
    "local: -a: bad variable name",
    "local: -A: bad variable name",
    "==: unexpected operator",
];

/// The signals of bash alone.
const TRAPS: &[&str] = &["ERR: bad trap", "DEBUG: bad trap", "RETURN: bad trap"];

/// Returns whether the output says that the shell does not know something that bash has.
pub(crate) fn is_missed(command: &str, output: &str) -> bool {
    output.lines().any(is_error) || braces(command).any(|braces| output.contains(braces))
}

fn is_error(line: &str) -> bool {
    // `sh: 1: ` before an error, or `sh: 1: eval: `.
    let mut parts = line.splitn(3, ": ");
    let (shell, number, error) = (parts.next(), parts.next(), parts.next());
    let error = error.map(|error| error.strip_prefix("eval: ").unwrap_or(error));
    let is_place = shell == Some("sh")
        && number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let operator =
        |error: &str| error.starts_with("test: ") && error.ends_with(": unexpected operator");
    let sum = |error: &str| error.starts_with("arithmetic expression: ") && error.contains("**");
    is_place && error.is_some_and(|error| ERRORS.contains(&error) || operator(error) || sum(error))
        || line
            .strip_prefix("trap: ")
            .is_some_and(|trap| TRAPS.contains(&trap))
}

/// Returns the ranges in braces of a command, such as `{1..3}`, which sh leaves as they are.
fn braces(command: &str) -> impl Iterator<Item = &str> {
    command.match_indices('{').filter_map(|(start, _)| {
        let rest = command.get(start..)?;
        let range = rest.get(..=rest.find('}')?)?;
        let (first, last) = range.get(1..range.len() - 1)?.split_once("..")?;
        let is_end = |end: &str| {
            !end.is_empty()
                && end.len() < 9
                && end
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        };
        (is_end(first) && is_end(last)).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_bash_has_is_known() {
        for (command, output) in [
            (
                "set -euo pipefail; ls",
                "sh: 1: set: Illegal option -o pipefail\n",
            ),
            ("if [[ a == a ]]; then :; fi", "x\nsh: 1: [[: not found\n"),
            ("pgrep x; source f", "sh: 1: eval: source: not found\n"),
            (
                "diff <(echo a) b",
                "sh: 2: Syntax error: \"(\" unexpected\n",
            ),
            ("echo ${x//a/b}", "sh: 1: Bad substitution\n"),
            (
                "cat <<< hi",
                "sh: 1: Syntax error: redirection unexpected\n",
            ),
            ("touch f{1..3}; ls", "f{1..3}\n"),
            ("echo {a..e}", "{a..e}\n"),
            ("test a == a", "sh: 1: test: a: unexpected operator\n"),
            (
                "echo $((2**3))",
                "sh: 1: arithmetic expression: expecting primary: \"2**3\"\n",
            ),
            ("trap x ERR", "trap: ERR: bad trap\n"),
        ] {
            assert!(is_missed(command, output), "{output}");
        }
    }

    #[test]
    fn other_errors_are_left_alone() {
        for (command, output) in [
            ("foo", "sh: 1: foo: not found\n"),
            ("cat a.sh", "script: 1: source: not found\n"),
            ("echo {1..3}", "1 2 3\n"),
            ("echo '{a,b}'", "{a,b}\n"),
            ("awk '{print}'", "{print}\n"),
            ("ls", "Bad substitution\n"),
            ("echo ${x}", "\n"),
        ] {
            assert!(!is_missed(command, output), "{output}");
        }
    }
}
