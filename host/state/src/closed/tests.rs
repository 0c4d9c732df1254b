//! Tests of the list of closed paths, on real files.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

/// A home with `.ssh/id`, a file, and a link `linked` to another directory.
fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().canonicalize().unwrap();
    fs::create_dir(path.join(".ssh")).unwrap();
    fs::create_dir(path.join("target")).unwrap();
    fs::write(path.join(".ssh/id"), "").unwrap();
    fs::write(path.join("file"), "").unwrap();
    symlink("target", path.join("linked")).unwrap();
    (home, path)
}

fn of(path: &Path) -> Identity {
    identity_at(path).unwrap()
}

#[test]
fn a_file_is_closed_by_name_and_by_identity() {
    let (_home, home) = home();
    let closed = Closed::new([".ssh", "later/key", "linked"].map(|name| home.join(name)));
    for name in [".ssh", ".ssh/id", "later/key", "linked/x", "target/x"] {
        assert!(closed.covers(&home.join(name)), "{name}");
    }
    for name in ["", "file", "later", "later/other", ".ssh2"] {
        assert!(!closed.covers(&home.join(name)), "{name}");
    }
    // Another name of the directory, and of the one that it is in.
    let elsewhere = Path::new("/elsewhere");
    let has_file = |name: &str| {
        let found = home.join(name).metadata().unwrap();
        closed.has_file(identity(&found), found.created().ok())
    };
    assert!(has_file(".ssh") && has_file("target"));
    assert!(!has_file("file") && !has_file(".ssh/id"));
    // Another file that has got the number.
    let other = Some(SystemTime::UNIX_EPOCH);
    let made = home.metadata().unwrap().created();
    assert_eq!(
        closed.has_file(of(&home.join(".ssh")), other),
        made.is_err()
    );
    for name in [".ssh", ".SSH", "linked", "target"] {
        assert!(closed.has_name(of(&home), &elsewhere.join(name)), "{name}");
    }
    assert!(!closed.has_name(of(&home), &elsewhere.join("file")));
    assert!(!closed.has_name(of(&home.join("target")), &elsewhere.join(".ssh")));
    let there: Vec<_> = closed.that_exist().collect();
    assert_eq!(there, [home.join(".ssh"), home.join("target")]);
}

#[test]
fn a_workspace_in_a_closed_directory_is_open_to_itself() {
    let (_home, home) = home();
    let closed = Closed::new([home.join("linked"), home.join(".ssh")]);
    let around = closed.around(&home.join("target/work"));
    assert!(!around.covers(&home.join("target/work/file")));
    assert!(around.covers(&home.join(".ssh/id")));
}

#[test]
fn no_directory_with_a_closed_path_is_given_as_a_whole() {
    let (_home, home) = home();
    let closed = Closed::new([home.join(".ssh"), home.join("target/later")]);
    let overlap = |name: &str| closed.overlap(&home.join(name)).map(Path::to_path_buf);
    assert_eq!(overlap(""), Some(home.join(".ssh")));
    assert_eq!(overlap(".ssh"), Some(home.join(".ssh")));
    assert_eq!(overlap(".ssh/below"), Some(home.join(".ssh")));
    assert_eq!(overlap("linked"), Some(home.join("target/later")));
    assert_eq!(overlap("other"), None);
}

#[test]
fn files_of_the_host_are_known_by_hard_links() {
    let (_home, home) = home();
    let closed = Closed::default().with_own([home.join(".ssh")]);
    fs::hard_link(home.join(".ssh/id"), home.join("link")).unwrap();
    assert!(closed.has_link_to(of(&home.join("link"))).unwrap());
    assert!(!closed.has_link_to(of(&home.join("file"))).unwrap());
    assert!(closed.covers(&home.join(".ssh/id")));
    // The directory stays known.
    assert_eq!(closed.and([home.join("file")]).list.own.len(), 1);
}

fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec!["a", "b", "a.b", "a-", "A"]);
    prop::collection::vec(name, 0..4).prop_map(|names| {
        // Nothing is there, so that names alone decide.
        let names = names.into_iter().map(Path::new);
        [Path::new("/nowhere")].into_iter().chain(names).collect()
    })
}

proptest! {
    #[test]
    fn a_path_is_closed_exactly_if_it_is_or_lies_below_a_listed_one(
        listed in prop::collection::vec(path(), 0..8),
        asked in path(),
    ) {
        let closed = Closed::new(listed.clone());
        let covered = listed.iter().any(|listed| asked.starts_with(listed));
        prop_assert_eq!(closed.covers(&asked), covered);
        prop_assert_eq!(closed.has(&asked), listed.contains(&asked));
        let below = listed.iter().any(|listed| listed.starts_with(&asked) && *listed != asked);
        prop_assert_eq!(closed.below(&asked).next().is_some(), below);
        prop_assert_eq!(closed.overlap(&asked).is_some(), covered || below);
        prop_assert_eq!(closed.and(listed.clone()), closed.clone());
    }
}
