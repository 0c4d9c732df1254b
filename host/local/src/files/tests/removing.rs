//! Files that are removed and moved, together with others that are written.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use toolhost_workspace::files::Removal;

fn removal(path: &str) -> Removal {
    Removal {
        path: path.into(),
        version: None,
        moved_to: None,
    }
}

#[test]
fn files_are_written_and_removed_together() {
    let tree = Tree::new();
    tree.make("old", "text");
    tree.make("gone", "x");
    fs::set_permissions(tree.path("old"), PermissionsExt::from_mode(0o755)).unwrap();
    let moved = Removal {
        version: Some(tree.version("old")),
        moved_to: Some(0),
        ..removal("old")
    };
    let writes = vec![write("made/new", "text", Precondition::Absent)];
    let written = tree
        .files
        .change_all(writes, vec![moved, removal("gone")])
        .unwrap();
    assert_eq!(written, [tree.files.metadata("made/new").unwrap()]);
    assert_eq!(tree.names(), ["made", "sub"]);
    assert_eq!(names(&tree.path("made")), ["new"]);
    let mode = fs::metadata(tree.path("made/new")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn nothing_changes_if_one_cannot() {
    let tree = Tree::new();
    tree.make("a", "a");
    tree.make("b", "b");
    tree.link("link", "a");
    let stale = Removal {
        version: Some("other".into()),
        ..removal("b")
    };
    let changed = Error::Changed("file changed since it was read".into());
    let twice = |text: &str| Error::Invalid(text.into());
    for (removals, expected) in [
        (vec![stale], (1, changed)),
        (vec![removal("b"), removal("missing")], (2, Error::NotFound)),
        (vec![removal("sub")], (1, Error::NotAFile)),
        (
            vec![removal("b"), removal("./b")],
            (2, twice("the same file is to be removed twice")),
        ),
        (
            vec![removal("a")],
            (0, twice("the same file is to be written and removed")),
        ),
    ] {
        let writes = vec![write("a", "new", Precondition::Any)];
        assert_eq!(tree.files.change_all(writes, removals), Err(expected));
        assert_eq!(tree.content("a"), b"a");
        assert_eq!(tree.names(), ["a", "b", "link", "sub"]);
    }
    let outside = tree.files.change_all(vec![], vec![removal("../x")]);
    assert!(matches!(outside, Err((0, Error::OutsideWorkspace { .. }))));
    let many = (0..=MAX_WRITES).map(|_| removal("a")).collect();
    assert!(matches!(
        tree.files.change_all(vec![], many),
        Err((MAX_WRITES, Error::Invalid(_)))
    ));
}

#[test]
fn a_link_is_removed_and_its_target_stays() {
    let tree = Tree::new();
    tree.make("file", "x");
    tree.link("link", "file");
    tree.link("dangling", "nowhere");
    tree.link("outside", "/etc/hostname");
    let of_link = |version: String| Removal {
        version: Some(version),
        ..removal("link")
    };
    let stale = tree.files.change_all(vec![], vec![of_link("x".into())]);
    assert!(matches!(stale, Err((0, Error::Changed(_)))));
    let removals = vec![
        of_link(tree.version("file")),
        removal("dangling"),
        removal("outside"),
    ];
    tree.files.change_all(vec![], removals).unwrap();
    assert_eq!(tree.names(), ["file", "sub"]);
    // A directory behind a link is no file, and the link is no directory.
    tree.link("to-sub", "sub");
    let slash = tree.files.change_all(vec![], vec![removal("to-sub/")]);
    assert_eq!(slash, Err((0, Error::NotADirectory)));
}

#[test]
fn a_read_only_file_stays() {
    let tree = Tree::new();
    tree.make("file", "x");
    fs::set_permissions(tree.path("file"), PermissionsExt::from_mode(0o444)).unwrap();
    match tree.files.change_all(vec![], vec![removal("file")]) {
        // Only root may.
        Ok(_) => assert_eq!(tree.names(), ["sub"]),
        Err(error) => assert_eq!(error, (0, Error::Denied("permission denied".into()))),
    }
}
