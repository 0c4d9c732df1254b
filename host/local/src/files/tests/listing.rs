//! Directories, page by page.

use super::*;

fn entry(name: &str, kind: Kind) -> Entry {
    Entry {
        name: name.into(),
        kind,
    }
}

#[test]
fn entries_come_in_order_and_in_pages() {
    let tree = Tree::new();
    tree.make("b", "");
    tree.make("a.txt", "");
    tree.make(".hidden", "");
    tree.link("link", "nowhere");
    let (all, more) = tree
        .files
        .read_directory(".", None, 10, &Work::default())
        .unwrap();
    let expected = [
        entry(".hidden", Kind::File),
        entry("a.txt", Kind::File),
        entry("b", Kind::File),
        entry("link", Kind::Symlink),
        entry("sub", Kind::Directory),
    ];
    assert_eq!((all.as_slice(), more), (expected.as_slice(), false));
    let mut paged = Vec::new();
    loop {
        let after: Option<&Entry> = paged.last();
        let after = after.map(|entry| entry.name.clone());
        let page = tree
            .files
            .read_directory(".", after.as_deref(), 2, &Work::default());
        let (page, more) = page.unwrap();
        assert!(page.len() <= 2);
        paged.extend(page);
        if !more {
            break;
        }
    }
    assert_eq!(paged, expected);
    assert_eq!(
        tree.files
            .read_directory(".", None, 0, &Work::default())
            .unwrap(),
        (vec![], true)
    );
    assert_eq!(
        tree.files
            .read_directory("sub", None, 0, &Work::default())
            .unwrap(),
        (vec![], false)
    );
    assert_eq!(
        tree.files.read_directory("b", None, 1, &Work::default()),
        Err(Error::NotADirectory)
    );
    assert_eq!(
        tree.files.read_directory("c", None, 1, &Work::default()),
        Err(Error::NotFound)
    );
}

#[test]
fn names_that_are_no_text_are_shown_and_end_no_paging() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new();
    let name = std::ffi::OsStr::from_bytes(b"sub/\xff");
    fs::write(tree.workspace().join(name), "").unwrap();
    let (page, _) = tree
        .files
        .read_directory("sub", None, 1, &Work::default())
        .unwrap();
    assert_eq!(page[0].name, "\u{fffd}");
    let next = tree
        .files
        .read_directory("sub", Some("\u{fffd}"), 1, &Work::default())
        .unwrap();
    assert_eq!(next, (vec![], false));
}
