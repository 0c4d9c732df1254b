//! The directories on the way to a file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::identity_at;

/// How many links the kernel follows in one path. From path_resolution(7).
const LINKS: usize = 40;

/// Returns whether a file, or a link on the way to it, is in a directory or below it: a program that may change the directory can put
/// another file at that path. The last names of the path may be missing.
pub fn leads_through(directory: &Path, path: &Path) -> bool {
    let Some(directory) = identity_at(directory) else {
        return false;
    };
    let is_below = |path: &Path| {
        path.ancestors()
            .any(|above| identity_at(above) == Some(directory))
    };
    let mut left = names(&std::path::absolute(path).unwrap_or_else(|_| path.into()));
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let entry = real.join(name);
        match entry.read_link() {
            Ok(target) if links < LINKS => {
                if is_below(&real) {
                    return true;
                }
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for name in names(&target).into_iter().rev() {
                    left.push_front(name);
                }
            }
            _ => real = entry,
        }
    }
    is_below(&real)
}

fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_on_the_way_count() {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        create_dir_all(at("inside/below")).unwrap();
        create_dir_all(at("outside")).unwrap();
        write(at("inside/below/file"), "").unwrap();
        write(at("outside/file"), "").unwrap();
        symlink("../outside", at("inside/way")).unwrap();
        symlink(at("outside/file"), at("inside/absolute")).unwrap();
        symlink("../inside/below/../absolute", at("outside/second")).unwrap();
        symlink("inside", at("other")).unwrap();
        symlink("loop", at("outside/loop")).unwrap();
        symlink("gone", at("outside/dangling")).unwrap();
        for (path, expected) in [
            ("inside", true),
            ("inside/below/file", true),
            ("inside/missing/file", true),
            ("inside/way/file", true),
            ("inside/absolute", true),
            ("outside/second", true),
            ("outside/../inside/x", true),
            ("other/below", true),
            ("outside/file", false),
            ("inside/../outside/file", false),
            ("inside/way/../outside/file", true),
            ("outside/loop", false),
            ("outside/dangling", false),
            ("missing", false),
            ("", false),
        ] {
            let found = leads_through(&at("inside"), &at(path));
            assert_eq!(found, expected, "{path}");
        }
        assert!(leads_through(&at("other"), &at("inside/below")));
        assert!(!leads_through(&at("missing"), &at("missing")));
    }
}
