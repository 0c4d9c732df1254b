//! Paths without links and `..`: the real paths of many paths, each looked up once, and paths by their names alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` in a path by its names alone. Where a name is a link, the result can be another file.
pub fn by_names(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Real paths: absolute ones without links. It keeps what it has looked up, so use it only for a moment.
#[derive(Debug, Default)]
pub struct RealPaths {
    known: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

impl RealPaths {
    /// Returns the real path of a path, as [`Path::canonicalize`] does, or `None` if nothing is there.
    pub fn of(&self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let real = self.look_up(path);
        let mut known = self.known.borrow_mut();
        known.insert(path.to_path_buf(), real.clone());
        real
    }

    /// Resolves the links in the part of a path that exists.
    pub fn of_existing_part(&self, path: &Path) -> PathBuf {
        for above in path.ancestors() {
            if let (Some(real), Ok(rest)) = (self.of(above), path.strip_prefix(above)) {
                // Joining an empty path would add a trailing slash.
                return if rest.as_os_str().is_empty() {
                    real
                } else {
                    real.join(rest)
                };
            }
        }
        path.to_path_buf()
    }

    fn look_up(&self, path: &Path) -> Option<PathBuf> {
        let parts = path.parent().zip(path.file_name());
        let Some((parent, name)) = parts.filter(|_| path.is_absolute()) else {
            return path.canonicalize().ok();
        };
        let entry = self.of(parent)?.join(name);
        match fs::read_link(&entry) {
            Ok(_) => entry.canonicalize().ok(),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Some(entry),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn real_paths_are_those_of_the_standard_library() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        symlink("a/b", root.join("link")).unwrap();
        symlink("link", root.join("second")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("gone", root.join("dangling")).unwrap();
        let real = RealPaths::default();
        let names = [
            "",
            "a",
            "a/b",
            "a/b/../file",
            "a/b/..",
            "a/./b",
            "a/file",
            "a/file/x",
            "link",
            "link/../file",
            "link/none",
            "second",
            "second/..",
            "loop",
            "loop/x",
            "dangling",
            "none/x",
        ];
        // The second time, the answers come from memory.
        for name in names.into_iter().chain(names) {
            let path = root.join(name);
            assert_eq!(real.of(&path), path.canonicalize().ok(), "{name}");
        }
        for path in ["/", "", ".", "no such file"].map(Path::new) {
            assert_eq!(real.of(path), path.canonicalize().ok(), "{path:?}");
        }
    }

    #[test]
    fn the_part_that_exists_is_resolved() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        fs::create_dir(root.join("a")).unwrap();
        symlink("a", root.join("link")).unwrap();
        let real = RealPaths::default();
        let of = |name: &str| real.of_existing_part(&root.join(name));
        assert_eq!(of("link/x/y"), root.join("a/x/y"));
        assert_eq!(of("link"), root.join("a"));
        assert_eq!(of("none"), root.join("none"));
    }
}
