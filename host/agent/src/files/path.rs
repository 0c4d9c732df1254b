//! Paths of requests, as far as they can be judged by their text.

/// Returns an error if a path cannot be one of this API. Paths are absolute.
pub(super) fn check(path: &str) -> Result<(), String> {
    if !path.starts_with('/') {
        return Err(format!("file path must be absolute: {path:?}"));
    }
    if path.contains('\0') {
        return Err(format!("file path must not contain NUL: {path:?}"));
    }
    Ok(())
}

/// Returns the names of a path, with `.`, `..` and empty ones resolved by name.
pub(super) fn names<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = Vec::new();
    for name in parts.into_iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name.to_owned()),
        }
    }
    names
}

/// Returns the absolute path of these names.
pub(super) fn joined(names: &[String]) -> String {
    format!("/{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_are_taken() {
        assert_eq!(check("/a/../b"), Ok(()));
        for path in ["", "a", "./a", "../a", "~", "~/a", "a/b"] {
            let text = check(path).unwrap_err();
            assert_eq!(text, format!("file path must be absolute: \"{path}\""));
        }
        assert!(check("/a\0b").unwrap_err().contains(r#""/a\0b""#));
    }

    #[test]
    fn names_are_resolved_by_name() {
        for (parts, expected) in [
            (&["/"][..], "/"),
            (&["/a//./b/"], "/a/b"),
            (&["/a", "../../..", "b/c"], "/b/c"),
            (&["", "a", ".", "b"], "/a/b"),
        ] {
            let names = names(parts.iter().copied());
            assert_eq!(joined(&names), expected, "{parts:?}");
        }
    }
}
