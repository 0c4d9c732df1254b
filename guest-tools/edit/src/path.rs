//! Paths by their text: which of them mean the same file, unless links are in the way.

/// Resolves `.`, `..` and empty names by name. Relative paths begin at `base`; `None` if there is none.
#[must_use]
pub fn clean(path: &str, base: Option<&str>) -> Option<String> {
    let base = if path.starts_with('/') { "" } else { base? };
    let mut names = Vec::new();
    for name in base.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    Some(format!("/{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_by_name() {
        let cases = [
            ("/a/b", "/a/b"),
            ("/a//./b/", "/a/b"),
            ("/a/../../b", "/b"),
            ("x/../y", "/base/y"),
            ("./p", "/base/p"),
            ("../p", "/p"),
            ("", "/base"),
            ("/", "/"),
        ];
        for (path, expected) in cases {
            assert_eq!(clean(path, Some("/base")).unwrap(), expected, "{path}");
        }
        assert_eq!(clean("p", None), None);
        assert_eq!(clean("/p", None).unwrap(), "/p");
    }
}
