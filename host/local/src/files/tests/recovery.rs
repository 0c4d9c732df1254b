//! The temporary files that a killed host leaves behind, and their removal by the next host.

use std::os::unix::fs::symlink;

use super::*;
use crate::files::journal::Journal;
use toolhost_state::state_dir::StateDir;

fn state(base: &Path) -> StateDir {
    StateDir::open(&base.join("state")).unwrap()
}

#[test]
fn temporary_files_of_a_dead_host_are_removed() {
    let tree = Tree::new();
    let base = tempfile::tempdir().unwrap();
    let (left, kept) = (tree.path(".a.tmp.0123"), tree.path("precious"));
    let elsewhere = tree.path("through/.a.tmp.0123");
    tree.make("precious", "");
    tree.make(".a.tmp.0123", "half");
    fs::write(tree.outside(".a.tmp.0123"), "not ours").unwrap();
    symlink(tree.outside(""), tree.path("through")).unwrap();
    let state = state(base.path());
    let living = Journal::open(&state).unwrap();
    living.add(&left).unwrap();
    let second = Journal::open(&state).unwrap();
    assert!(left.exists(), "its host lives");
    // A host that is killed closes its files, and does nothing else.
    for path in [
        &kept,
        &elsewhere,
        &tree.path("gone/.b.tmp.1"),
        &tree.path(".b.tmp.1"),
    ] {
        living.add(path).unwrap();
    }
    drop(living);
    let third = Journal::open(&state).unwrap();
    assert!(!left.exists());
    assert!(kept.exists(), "not the name of a temporary file");
    assert!(tree.outside(".a.tmp.0123").exists(), "behind a link");
    let journals = || names(&base.path().join("state/files")).len();
    assert_eq!(journals(), 2, "those of the living");
    drop((second, third));
    assert_eq!(journals(), 0);
}

#[test]
fn a_journal_is_empty_when_there_is_nothing_to_remember() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("state/files");
    let tree = Tree::with(|config| config.temporaries = Temporaries::Kept(state(base.path())));
    for round in 0..3 {
        tree.write("file", "x").unwrap();
        tree.write("/etc/x", "x").unwrap_err();
        let journals = names(&directory);
        assert_eq!(journals.len(), 1, "{round}");
        let size = fs::metadata(directory.join(&journals[0])).unwrap().len();
        assert_eq!(size, 0);
    }
    // A line that was cut off by the end of its host is no harm.
    let torn = directory.join("torn.journal");
    fs::write(&torn, "/a/.b.tmp.1\0/a/.c.t").unwrap();
    fs::set_permissions(&torn, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    Journal::open(&state(base.path())).unwrap();
    assert!(!torn.exists());
}

/// Names whose files cannot be removed neither fill the disk nor are lost.
#[test]
fn a_journal_with_names_that_stay() {
    let tree = Tree::new();
    let base = tempfile::tempdir().unwrap();
    let state = state(base.path());
    let journal = Journal::open(&state).unwrap();
    tree.make(".kept.tmp.1", "");
    journal.add(&tree.path(".kept.tmp.1")).unwrap();
    let directory = base.path().join("state/files");
    let size = || {
        let names = names(&directory);
        assert_eq!(names.len(), 1);
        fs::metadata(directory.join(&names[0])).unwrap().len()
    };
    for round in 0..10_000 {
        let path = tree.path(&format!(".other.tmp.{round}"));
        journal.add(&path).unwrap();
        journal.remove(&path);
        assert!(size() < 70_000);
    }
    drop(journal);
    assert!(size() > 0);
    Journal::open(&state).unwrap();
    assert!(!tree.path(".kept.tmp.1").exists());
    // A journal that no host wrote does not keep a host from starting.
    let large = fs::File::create(directory.join("large.journal")).unwrap();
    large.set_len(1 << 30).unwrap();
    Journal::open(&state).unwrap();
}
