//! Absolute globs: what they name below a directory.

/// Returns the glob, relative to a directory, that names what an absolute glob names in it; `None` if that names nothing there, or if a
/// pattern other than `**` stands for a part of the way to the directory.
pub(super) fn below(glob: &str, directory: &str) -> Option<String> {
    let parts = parts(glob);
    let mut rest = parts.as_slice();
    for name in directory.split('/').filter(|name| !name.is_empty()) {
        match rest {
            // It stands for this directory and for all below it.
            ["**", ..] => break,
            [part, behind @ ..] if *part == escaped(name) || *part == name => rest = behind,
            _ => return None,
        }
    }
    let end = if glob.ends_with('/') { "/" } else { "" };
    Some(match rest {
        [] => "**".to_owned(),
        ["**", ..] => format!("{}{end}", rest.join("/")),
        rest => format!("/{}{end}", rest.join("/")),
    })
}

/// Divides a glob at the slashes that are not in brackets, and resolves `.` and `..`.
fn parts(glob: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut is_escaped) = (0_usize, false);
    let divided = glob.split(|letter| {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '/' => return depth == 0,
            _ => {}
        }
        false
    });
    for part in divided {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts
}

/// Writes a path so that it is a glob of itself.
pub(super) fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for letter in path.chars() {
        if "*?[]{}\\!#".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_taken_below_a_directory() {
        for (glob, directory, expected) in [
            ("/w/k/calc/*.py", "/w/k", Some("/calc/*.py")),
            ("/w/**/*.py", "/w/k", Some("**/*.py")),
            ("/**", "/w/k", Some("**")),
            ("/w/k", "/w/k", Some("**")),
            ("/w/{k/a,l}/*.py", "/w", Some("/{k/a,l}/*.py")),
            ("/w/k/x/", "/w/k", Some("/x/")),
            (r"/w/a\*b/x", "/w/a*b", Some("/x")),
            ("/w/[a]/x", "/w/[a]", Some("/x")),
            ("/w/./x/../k/y", "/w/k", Some("/y")),
            ("/w/*/x", "/w/k", None),
            ("/w/l/x", "/w/k", None),
            ("/w", "/w/k", None),
        ] {
            let found = below(glob, directory);
            assert_eq!(found.as_deref(), expected, "{glob} in {directory}");
        }
        let itself = below(&escaped("/w/[a]{b}*"), "/w/[a]{b}*");
        assert_eq!(itself.as_deref(), Some("**"));
    }
}
