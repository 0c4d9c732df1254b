//! A replacement that fails half-way.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::files::tests::{Tree, write};

/// A file that cannot be replaced after others have been: they come back as they were.
#[test]
fn what_was_replaced_comes_back() {
    let tree = Tree::new();
    for name in ["a", "b"] {
        tree.make(name, "old");
    }
    fs::set_permissions(tree.path("a"), PermissionsExt::from_mode(0o640)).unwrap();
    let before = fs::metadata(tree.path("a")).unwrap();
    let prepare = |path: &str| {
        tree.files
            .prepare(write(path, "new", Precondition::Any))
            .unwrap()
    };
    let mut prepared = vec![prepare("a"), prepare("made/c"), prepare("b")];
    // A directory takes the place of the last one when everything has been checked.
    fs::remove_file(tree.path("b")).unwrap();
    fs::create_dir(tree.path("b")).unwrap();
    let (index, _) = replace::all(&mut prepared).unwrap_err();
    assert_eq!(index, 2);
    drop(prepared);
    let after = fs::metadata(tree.path("a")).unwrap();
    assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
    assert_eq!(tree.content("a"), b"old");
    assert_eq!(tree.names(), ["a", "b", "sub"]);
}
