//! Tests of the Landlock rules for policies.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A directory with `a/secret/key`, `a/open/file`, `a/token` and `b`.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for file in ["a/secret/key", "a/open/file", "a/token", "b/file"] {
        let file = tree.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    tree
}

fn rules(policy: &Policy, places: &Places, root: &Path) -> Vec<(String, Rights)> {
    let rules = LandlockRules::new(policy, places).rules.into_iter();
    let mut relative: Vec<_> = rules
        .map(|grant| {
            (
                grant
                    .path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
                grant.rights,
            )
        })
        .collect();
    relative.sort();
    relative
}

fn named(rules: &[(&str, Rights)]) -> Vec<(String, Rights)> {
    rules
        .iter()
        .map(|(path, rights)| ((*path).to_owned(), *rights))
        .collect()
}

#[test]
fn what_is_beside_a_hidden_path_is_granted() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    let places = Places {
        read: vec![root.clone()],
        never: vec![root.join("a/secret")],
        ..Places::default()
    };
    let expected = [
        ("a/open", Rights::Read),
        ("a/token", Rights::Read),
        ("b", Rights::Read),
    ];
    assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
}

#[test]
fn names_beside_a_hidden_file_can_be_listed() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    let places = Places {
        read: vec![root.join("a")],
        never: vec![root.join("a/token"), root.join("a/later")],
        ..Places::default()
    };
    let expected = [
        ("a", Rights::List),
        ("a/open", Rights::Read),
        ("a/secret", Rights::Read),
    ];
    assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
}

#[test]
fn links_to_hidden_paths_grant_nothing() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    symlink(root.join("a/secret"), root.join("b/link")).unwrap();
    symlink(root.join("a"), root.join("other")).unwrap();
    let places = Places {
        read: vec![
            root.join("b"),
            root.join("b/link"),
            root.join("other/secret"),
        ],
        // The hidden path is named through a link, too.
        never: vec![root.join("other/secret")],
        ..Places::default()
    };
    let all = LandlockRules::new(&Policy::default(), &places);
    assert_eq!(
        all.rules,
        [LandlockRule {
            path: root.join("b"),
            rights: Rights::Read
        }]
    );
    assert_eq!(
        all.refused,
        [root.join("b/link"), root.join("other/secret")]
    );
}

#[test]
fn a_link_that_a_command_can_make_grants_nothing() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    symlink(root.join("a"), root.join("b/data")).unwrap();
    let policy = Policy {
        read: vec![root.join("b/data")],
        ..Policy::default()
    };
    let places = Places {
        workspace: vec![root.join("b")],
        ..Places::default()
    };
    assert_eq!(
        rules(&policy, &places, &root),
        named(&[("b", Rights::Write)])
    );
}

#[test]
fn a_relative_path_grants_nothing() {
    let policy = Policy {
        read: vec!["src".into(), ".".into()],
        write: vec!["..".into()],
        ..Policy::default()
    };
    let all = LandlockRules::new(&policy, &Places::default());
    assert_eq!(all.rules, []);
    assert_eq!(all.refused.len(), 3);
}

#[test]
fn the_mode_decides_what_can_be_written() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    let places = Places {
        workspace: vec![root.join("a")],
        temporary: vec![root.join("b")],
        never: vec![root.join("a/secret")],
        ..Places::default()
    };
    let expected = [("a", Rights::Write), ("b", Rights::Write)];
    assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
    let exposed = LandlockRules::new(&Policy::default(), &places).exposed;
    assert_eq!(exposed, [(root.join("a/secret"), root.join("a"))]);
    let policy = Policy {
        mode: Mode::ReadOnly,
        ..Policy::default()
    };
    let expected = [
        ("a/open", Rights::Read),
        ("a/token", Rights::Read),
        ("b", Rights::Write),
    ];
    assert_eq!(rules(&policy, &places, &root), named(&expected));
    assert!(LandlockRules::new(&policy, &places).exposed.is_empty());
}

#[test]
fn only_a_workspace_may_be_below_a_hidden_path() {
    let tree = tree();
    let root = tree.path().canonicalize().unwrap();
    let mut places = Places {
        workspace: vec![root.join("a/open")],
        read: vec![root.join("a/secret")],
        never: vec![root.join("a")],
        ..Places::default()
    };
    assert_eq!(
        rules(&Policy::default(), &places, &root),
        named(&[("a/open", Rights::Write)])
    );
    places.workspace = vec![root.join("a")];
    let all = LandlockRules::new(&Policy::default(), &places);
    assert_eq!(all.rules, []);
    assert_eq!(all.refused, [root.join("a"), root.join("a/secret")]);
}
