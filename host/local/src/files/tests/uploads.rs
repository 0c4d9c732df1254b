//! Files that come in parts, and files that are removed.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use toolhost_workspace::files::CpuAccount;

use super::*;

impl Tree {
    fn begin(&self, id: &str, path: &str) -> Result<bool, Error> {
        self.files.begin_upload(id, path, Precondition::Any)
    }

    fn remove(&self, path: &str, recursive: bool) -> Result<(), Error> {
        self.remove_if(path, recursive, &Precondition::Any)
    }

    fn remove_if(&self, path: &str, recursive: bool, when: &Precondition) -> Result<(), Error> {
        let account = CpuAccount::default();
        let run = |work: &Work| self.files.remove(path, recursive, when, work);
        Work::run(&account, tokio_util::sync::CancellationToken::new(), run).flatten()
    }
}

#[test]
fn parts_become_a_file() {
    let tree = Tree::new();
    tree.make("old", "old");
    fs::set_permissions(tree.path("old"), PermissionsExt::from_mode(0o640)).unwrap();
    for path in ["old", "made/deep/new"] {
        assert_eq!(tree.begin("1", path), Ok(true));
        assert_eq!(tree.begin("1", path), Ok(false), "a repeat");
        let append = |offset, data: &str| tree.files.append_upload("1", offset, data.as_bytes());
        append(0, "one").unwrap();
        append(0, "one").unwrap();
        append(3, " two").unwrap();
        assert!(matches!(append(9, "x"), Err(Error::Invalid(_))), "a gap");
        let written = tree.files.commit_upload("1", 7).unwrap();
        assert_eq!((written.size, written.version), (7, tree.version(path)));
        assert_eq!(tree.content(path), b"one two");
        assert!(append(7, "x").is_err(), "it has ended");
    }
    let mode = fs::metadata(tree.path("old")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "as with a write");
    assert_eq!(names(&tree.path("made/deep")), ["new"]);
}

#[test]
fn an_upload_that_ends_early_leaves_nothing() {
    let tree = Tree::new();
    tree.make("kept", "old");
    let begin = || {
        tree.begin("1", "kept").unwrap();
        tree.begin("2", "made/deep/new").unwrap();
        for id in ["1", "2"] {
            tree.files.append_upload(id, 0, b"half").unwrap();
        }
        assert!(tree.path("made/deep").exists());
    };
    let ends: [&dyn Fn(&str); 3] = [
        &|id| tree.files.drop_upload(id),
        &|id| assert!(tree.files.commit_upload(id, 9).is_err()),
        &|id| {
            assert!(!tree.files.sweep_upload(id, Duration::from_hours(1)));
            assert!(tree.files.sweep_upload(id, Duration::ZERO));
        },
    ];
    for end in ends {
        begin();
        end("1");
        end("2");
        assert_eq!(tree.names(), ["kept", "sub"]);
        assert_eq!(tree.content("kept"), b"old");
    }
    assert!(tree.files.sweep_upload("1", Duration::ZERO), "it is gone");
}

#[test]
fn preconditions_hold_at_both_ends() {
    let tree = Tree::new();
    tree.make("file", "old");
    let version = tree.version("file");
    let begin = |id: &str, path: &str, when| tree.files.begin_upload(id, path, when);
    let changed = |result: Result<bool, Error>| matches!(result, Err(Error::Changed(_)));
    assert!(changed(begin("1", "file", Precondition::Absent)));
    assert!(changed(begin(
        "1",
        "file",
        Precondition::Version("c0".into())
    )));
    begin("1", "file", Precondition::Version(version)).unwrap();
    begin("2", "new", Precondition::Absent).unwrap();
    tree.make("file", "other");
    tree.make("new", "other");
    for id in ["1", "2"] {
        let late = tree.files.commit_upload(id, 0);
        assert!(matches!(late, Err(Error::Changed(_))), "{late:?}");
    }
    assert_eq!(
        (tree.content("file"), tree.content("new")),
        (b"other".to_vec(), b"other".to_vec())
    );
    assert_eq!(tree.names(), ["file", "new", "sub"]);
}

#[test]
fn uploads_are_bounded() {
    let tree = Tree::new();
    for id in ["", &"x".repeat(65)] {
        assert!(matches!(tree.begin(id, "a"), Err(Error::Invalid(_))));
    }
    let ids: Vec<_> = (0..128).map(|id| id.to_string()).collect();
    for id in &ids {
        tree.begin(id, id).unwrap();
    }
    assert!(matches!(tree.begin("one more", "a"), Err(Error::Busy(_))));
    let large = tree.files.append_upload("0", 0, &vec![0; MAX_PART + 1]);
    assert_eq!(large, Err(Error::TooLarge(MAX_PART as u64)));
    for id in &ids {
        tree.files.drop_upload(id);
    }
    assert_eq!(tree.begin("one more", "a"), Ok(true));
    for path in ["../outside/x", "sub", "sub/"] {
        assert!(tree.begin("bad", path).is_err(), "{path}");
    }
    // Nothing is left of those that failed.
    tree.files.drop_upload("one more");
    assert_eq!(tree.names(), ["sub"]);
}

#[test]
fn what_is_removed_is_within_the_workspace() {
    let tree = Tree::new();
    tree.make("file", "x");
    tree.make("sub/below", "x");
    tree.link("out", tree.outside(""));
    tree.link("sub/out", tree.outside(""));
    for path in [
        "",
        ".",
        "..",
        "sub/..",
        "/",
        "../outside/secret",
        "out/secret",
    ] {
        assert!(tree.remove(path, true).is_err(), "{path}");
    }
    assert_eq!(tree.remove("none", false), Err(Error::NotFound));
    assert_eq!(tree.remove("file/", false), Err(Error::NotADirectory));
    assert_eq!(tree.remove("file/x", false), Err(Error::NotADirectory));
    assert_eq!(tree.remove("sub", false), Err(Error::NotEmpty));
    let version = tree.version("file");
    let other = Precondition::Version("c0".into());
    assert!(matches!(
        tree.remove_if("file", false, &other),
        Err(Error::Changed(_))
    ));
    tree.remove_if("file", false, &Precondition::Version(version))
        .unwrap();
    tree.remove("out", true).unwrap();
    tree.remove("sub/", true).unwrap();
    assert!(tree.names().is_empty());
    assert!(tree.outside("secret").exists());
    let deep = "d/".repeat(300);
    fs::create_dir_all(tree.path(&deep)).unwrap();
    assert!(matches!(tree.remove("d", true), Err(Error::Invalid(_))));
    assert!(tree.path("d").exists());
}
