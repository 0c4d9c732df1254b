//! The temporary files that a killed host leaves behind, and their removal by the next host.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use toolhost_store::{LocalStore, Sqlite, Store};

use super::*;
use crate::files::temporaries::Temporaries;

/// A store, and the runtime that its callers wait in.
struct Setup {
    runtime: tokio::runtime::Runtime,
    store: Arc<Sqlite>,
}

impl Setup {
    fn new() -> Self {
        Self {
            runtime: tokio::runtime::Runtime::new().unwrap(),
            store: Arc::new(Sqlite::in_memory().unwrap()),
        }
    }

    /// Does what a host does at its start.
    fn open(&self) -> Temporaries {
        let opened = Temporaries::open(self.store.clone());
        self.runtime.block_on(opened).unwrap()
    }

    fn named(&self) -> Vec<PathBuf> {
        self.runtime.block_on(self.store.temporaries()).unwrap()
    }
}

#[test]
fn temporary_files_of_a_dead_host_are_removed() {
    let (tree, setup) = (Tree::new(), Setup::new());
    let (left, kept) = (tree.path(".a.tmp.0123"), tree.path("precious"));
    tree.make("precious", "");
    tree.make(".a.tmp.0123", "half");
    fs::write(tree.outside(".a.tmp.0123"), "not ours").unwrap();
    symlink(tree.outside(""), tree.path("through")).unwrap();
    fs::create_dir(tree.path(".dir.tmp.1")).unwrap();
    let killed = setup.open();
    for path in [
        &left,
        &kept,
        &tree.path("through/.a.tmp.0123"),
        &tree.path("gone/.b.tmp.1"),
        &tree.path(".b.tmp.1"),
        &tree.path(".dir.tmp.1"),
    ] {
        assert!(killed.add(path));
    }
    drop(killed);
    let next = setup.open();
    assert!(!left.exists());
    assert!(kept.exists(), "not the name of a temporary file");
    assert!(tree.outside(".a.tmp.0123").exists(), "behind a link");
    // A file that cannot be removed keeps its name, for a host that can.
    next.add(&tree.path(".c.tmp.1"));
    let mut named = setup.named();
    named.sort();
    assert_eq!(named, [tree.path(".c.tmp.1"), tree.path(".dir.tmp.1")]);
}

#[test]
fn a_name_goes_with_the_next_one() {
    let setup = Setup::new();
    let tree = Tree::keeping(setup.open());
    for round in 0..3 {
        let before = setup.store.counts().commits;
        tree.write("file", "x").unwrap();
        assert_eq!(setup.store.counts().commits, before + 1, "{round}");
        tree.write("/etc/x", "x").unwrap_err();
        assert_eq!(setup.named().len(), 1);
    }
    assert_eq!(tree.names(), ["file", "sub"]);
}
