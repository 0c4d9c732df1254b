//! Paths as models write them.
//!
//! Models write paths that only a shell, a browser or another system understands. Taken literally, such a path makes a directory whose
//! name is `~` or `file:`. Names are never changed otherwise: `"a "` and `"a"` are two files.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::context;

/// Returns the path that a model means. A `file:` URL becomes its path.
///
/// ```
/// use toolhost_sdk::paths;
///
/// assert_eq!(paths::understand("src/main.rs").unwrap(), "src/main.rs");
/// assert_eq!(paths::understand("file:///tmp/a%20b").unwrap(), "/tmp/a b");
/// assert!(paths::understand("~/notes").is_err());
/// assert_eq!(paths::understand("./~/notes").unwrap(), "./~/notes");
/// ```
///
/// # Errors
///
/// If the path is one of a shell or of Windows: what to write instead, for the model to read.
pub fn understand(path: &str) -> Result<Cow<'_, str>, String> {
    if let Some(url) = without_scheme(path) {
        return file_url(path, url);
    }
    let (first, _) = path.split_once('/').unwrap_or((path, ""));
    let problem = if first.starts_with('~') && is_home(path, first) {
        "\"~\" is not expanded here"
    } else if is_variable(first) {
        "variables are not expanded here"
    } else if is_windows(path) {
        return Err(format!(
            "{path} is a path of Windows; {}",
            advice(path.contains('\\'))
        ));
    } else {
        return Ok(path.into());
    };
    Err(format!("{path}: {problem}; {}", advice(false)))
}

fn advice(has_backslash: bool) -> String {
    let root = context::workspace_root();
    let slashes = if has_backslash {
        ", with / between names"
    } else {
        ""
    };
    format!(
        "use a path in {root}, absolute or relative to it{slashes} (or ./ in front, if the name is meant as it is)"
    )
}

/// Returns what follows `file:`, in letters of any case.
fn without_scheme(path: &str) -> Option<&str> {
    let (scheme, rest) = path.split_at_checked(5)?;
    scheme.eq_ignore_ascii_case("file:").then_some(rest)
}

fn file_url<'a>(path: &'a str, rest: &'a str) -> Result<Cow<'a, str>, String> {
    let local = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let decoded = percent_decode_str(local).decode_utf8().ok();
    match decoded.filter(|path| path.starts_with('/') && !is_windows(path.trim_start_matches('/')))
    {
        Some(decoded) => Ok(decoded),
        None => Err(format!(
            "{path} is no URL of a file here; {}",
            advice(false)
        )),
    }
}

/// Returns whether a shell would expand the first name: `~`, or `~user` with a path behind it. `~lock` alone is a name.
fn is_home(path: &str, first: &str) -> bool {
    let user = first.trim_start_matches('~');
    let is_user = user
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "_-+".contains(char));
    first == "~" || (is_user && path.len() > first.len())
}

/// Returns whether a name is nothing but a variable: `$HOME`, `${workspaceFolder}`, `%USERPROFILE%`.
fn is_variable(name: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let first = name.split('\\').next().unwrap_or_default();
    if let Some(name) = first.strip_prefix("$env:").or(first.strip_prefix("$Env:")) {
        return is_name(name);
    }
    if let Some(name) = first
        .strip_prefix("${")
        .and_then(|name| name.strip_suffix('}'))
    {
        return is_name(name);
    }
    if let Some(name) = first
        .strip_prefix('%')
        .and_then(|name| name.strip_suffix('%'))
    {
        return is_name(name);
    }
    // Routers of web frameworks have files such as `$id`.
    let upper = first.strip_prefix('$').filter(|name| is_name(name));
    upper.is_some_and(|name| !name.chars().any(|char| char.is_ascii_lowercase()))
}

/// Returns whether a path has a drive, or backslashes and no slash.
fn is_windows(path: &str) -> bool {
    let has_drive = match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    };
    has_drive || path.starts_with(r"\\") || (path.contains('\\') && !path.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_files_are_paths() {
        for (url, path) in [
            ("file:///w/a.txt", "/w/a.txt"),
            ("FILE:///w/a%20b%C3%A4", "/w/a b\u{E4}"),
            ("file://localhost/w", "/w"),
            ("file:/w/a", "/w/a"),
        ] {
            assert_eq!(understand(url).unwrap(), path);
        }
        for url in [
            "file://a.txt",
            "file://server/share",
            "file:///C:/x",
            "file:///%FF",
        ] {
            let text = understand(url).unwrap_err();
            assert!(
                text.starts_with(&format!("{url} is no URL of a file here")),
                "{text}"
            );
        }
    }

    #[test]
    fn names_are_what_they_are() {
        for path in [
            "a",
            " a ",
            "sp ",
            "./~/a",
            "./$HOME",
            "./C:/x",
            "~lock.a#",
            "~$doc.docx",
            "a~",
            "a/~/b",
            "$id.tsx",
            "$lib/a",
            "src/$HOME",
            "a:b",
            "c:",
            "./a\\b",
            "100%",
            "%a",
            "[id]/page.tsx",
            "files:a",
            "-",
            "\u{A0}",
        ] {
            assert_eq!(understand(path).unwrap(), path);
        }
    }

    #[test]
    fn paths_of_shells_and_of_windows_are_refused() {
        for path in [
            "~",
            "~/x",
            "~root/x",
            "$HOME",
            "$HOME/x",
            "${HOME}/x",
            "$PWD/a",
            "${workspaceFolder}/x",
            "%USERPROFILE%\\x",
            "$env:USERPROFILE\\x",
            "C:\\x\\y",
            "c:/x",
            "\\\\server\\share\\f",
            "src\\main.rs",
        ] {
            let text = understand(path).unwrap_err();
            assert!(
                text.starts_with(path) && text.contains("/workspace"),
                "{text}"
            );
        }
        assert_eq!(
            understand("~/x").unwrap_err(),
            "~/x: \"~\" is not expanded here; use a path in /workspace, absolute or relative to it (or ./ in front, if the name is \
             meant as it is)"
        );
        assert_eq!(
            understand("C:\\x").unwrap_err(),
            "C:\\x is a path of Windows; use a path in /workspace, absolute or relative to it, with / between names (or ./ in front, if \
             the name is meant as it is)"
        );
    }
}
