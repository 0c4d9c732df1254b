//! A replacement that fails half-way.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::files::Precondition;
use crate::files::tests::{Tree, write};

/// A file that cannot be replaced after others have been: they come back as they were.
#[test]
fn a_replaced_file_comes_back() {
    let tree = Tree::new();
    for name in ["a", "b"] {
        tree.make(name, "old");
    }
    fs::set_permissions(tree.path("a"), PermissionsExt::from_mode(0o640)).unwrap();
    let before = fs::metadata(tree.path("a")).unwrap();
    let mut directories = Directories::default();
    let mut prepare = |path: &str| {
        let write = write(path, "new", Precondition::Any);
        tree.files
            .prepare(write, false, None, &mut directories)
            .unwrap()
    };
    let mut prepared = vec![
        prepare("a"),
        prepare("made/deep/c"),
        prepare("made/deep/d"),
        prepare("b"),
    ];
    // A directory takes the place of the last one when everything has been checked.
    fs::remove_file(tree.path("b")).unwrap();
    fs::create_dir(tree.path("b")).unwrap();
    let (index, _) = replace::all(&mut prepared, &mut []).unwrap_err();
    assert_eq!(index, 3);
    drop(prepared);
    drop(directories);
    let after = fs::metadata(tree.path("a")).unwrap();
    assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
    assert_eq!(tree.content("a"), b"old");
    assert_eq!(tree.names(), ["a", "b", "sub"]);
}

/// A file that cannot be removed after others have been replaced and removed: they come back as they were.
#[test]
fn a_removed_file_comes_back() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.make(name, name);
    }
    let before = fs::metadata(tree.path("b")).unwrap();
    let mut directories = Directories::default();
    let mut prepared = vec![
        tree.files
            .prepare(
                write("a", "new", Precondition::Any),
                false,
                None,
                &mut directories,
            )
            .unwrap(),
    ];
    let mut remove = |path: &str| {
        let removal = Removal {
            path: path.into(),
            version: None,
            moved_to: None,
        };
        tree.files
            .prepare_removal(removal, &mut directories)
            .unwrap()
    };
    let mut removed = vec![remove("b"), remove("c")];
    fs::remove_file(tree.path("c")).unwrap();
    let failed = replace::all(&mut prepared, &mut removed).unwrap_err();
    assert_eq!(failed, (2, Error::NotFound));
    drop((prepared, removed, directories));
    let after = fs::metadata(tree.path("b")).unwrap();
    assert_eq!(after.ino(), before.ino());
    assert_eq!(
        (tree.content("a"), tree.content("b")),
        (b"a".into(), b"b".into())
    );
    assert_eq!(tree.names(), ["a", "b", "sub"]);
}

/// As many files as there may be, and as many directories above them, take few descriptors.
#[test]
fn descriptors_are_shared() {
    let tree = Tree::new();
    let paths = (0..MAX_WRITES).map(|file| write(&format!("made/{file}"), "", Precondition::Any));
    let mut directories = Directories::default();
    let prepare = |write| {
        tree.files
            .prepare(write, false, None, &mut directories)
            .unwrap()
    };
    let prepared: Vec<_> = paths.map(prepare).collect();
    assert_eq!(
        (prepared.len(), directories.iter().count()),
        (MAX_WRITES, 2)
    );
    drop((prepared, directories));
    assert_eq!(tree.names(), ["sub"]);
    let deep = |directories: usize| "d/".repeat(directories) + "file";
    let refused = tree
        .files
        .write_all(vec![write(&deep(65), "x", Precondition::Any)]);
    assert!(matches!(refused, Err((0, Error::Invalid(_)))));
    tree.files
        .write_all(vec![write(&deep(64), "x", Precondition::Any)])
        .unwrap();
}

/// Where a file has an access control list, the bits of the group in its mode are not those of the group.
#[toolhost_needs::needs(acl)]
#[test]
fn an_access_control_list_is_kept() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const NAME: &str = "system.posix_acl_access";
    let tree = Tree::new();
    tree.make("file", "old");
    let entry = |tag: u16, rights: u16, id: u32| {
        [
            &tag.to_le_bytes()[..],
            &rights.to_le_bytes(),
            &id.to_le_bytes(),
        ]
        .concat()
    };
    // The owner and one user may, the group and others may not.
    let list = [
        2_u32.to_le_bytes().to_vec(),
        entry(1, 6, u32::MAX),
        entry(2, 6, 65_534),
        entry(4, 0, u32::MAX),
        entry(0x10, 6, u32::MAX),
        entry(0x20, 0, u32::MAX),
    ]
    .concat();
    let path = tree.path("file");
    setxattr(&path, NAME, &list, XattrFlags::empty()).unwrap();
    let read = || {
        let mut kept = vec![0; 100];
        let length = getxattr(&path, NAME, &mut kept[..]).unwrap();
        kept.truncate(length);
        kept
    };
    let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
    assert_eq!((read(), mode()), (list.clone(), 0o660));
    tree.files
        .write_all(vec![write("file", "new", Precondition::Any)])
        .unwrap();
    assert_eq!((read(), mode()), (list, 0o660));
    assert_eq!(tree.content("file"), b"new");
}
