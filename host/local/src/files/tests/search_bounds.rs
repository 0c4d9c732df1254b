//! Searches never lead out of the roots, nor to what is closed, and end in time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolhost_workspace::files::{Filter, Scope};

use super::search::{ALL, scope, text, written};
use super::*;

#[test]
fn nothing_outside_is_found() {
    let tree = Tree::new();
    tree.make("inside", "secret");
    tree.link("file", tree.outside("secret"));
    tree.link("directory", tree.outside(""));
    let found = tree.search_for(&text("secret"), ALL);
    assert_eq!(written(&found), ["inside:1:secret"]);
    let listed = tree.find(&scope("."), &Filter::default());
    let names: Vec<_> = listed
        .files
        .iter()
        .map(|file| file.path.to_str().unwrap())
        .collect();
    assert_eq!(names, ["directory", "file", "inside", "sub"]);
    for outside in ["file", "directory", "../outside"] {
        let searched = tree
            .files
            .search(&scope(outside), &text("secret"), ALL, &Work::default());
        assert!(
            matches!(searched, Err(Error::OutsideWorkspace { .. })),
            "{outside}"
        );
    }
    let missing = tree
        .files
        .find(&scope("none"), &Filter::default(), ALL, &Work::default());
    assert_eq!(missing, Err(Error::NotFound));
}

/// A directory that changes places with a link to one outside, all the time.
#[test]
fn a_link_that_appears_leads_nowhere() {
    let tree = Tree::new();
    tree.make_all(&[("sub/x/file", "inside"), ("sub/y", "")]);
    fs::create_dir(tree.outside("x")).unwrap();
    fs::write(tree.outside("x/file"), "secret").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(tree.path("sub"), tree.path("moved")).unwrap();
                tree.link("sub", tree.outside(""));
                fs::remove_file(tree.path("sub")).unwrap();
                fs::rename(tree.path("moved"), tree.path("sub")).unwrap();
            }
        });
        let mut found = Vec::new();
        for _ in 0..300 {
            let search = tree
                .files
                .search(&scope("."), &text("secret"), ALL, &Work::default());
            found.push(search.map(|found| found.total_files));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(found.iter().all(|found| *found == Ok(0)), "{found:?}");
    });
}

#[test]
fn what_is_closed_is_not_there() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().canonicalize().unwrap();
    for (directory, file) in [(".ssh", "id"), ("dots/aws", "key"), ("open", "file")] {
        fs::create_dir_all(home.join(directory)).unwrap();
        fs::write(home.join(directory).join(file), "secret").unwrap();
    }
    fs::write(home.join(".netrc"), "secret").unwrap();
    fs::hard_link(home.join(".netrc"), home.join("open/link")).unwrap();
    std::os::unix::fs::symlink("dots/aws", home.join(".aws")).unwrap();
    let closed = Closed::new([".ssh", ".aws", ".netrc"].map(|name| home.join(name)));
    let files = Files::open(&Config::new(&home), &closed).unwrap();
    let all = Scope {
        hidden: true,
        ignored: true,
        ..scope(".")
    };
    let found = files
        .search(&all, &text("secret"), ALL, &Work::default())
        .unwrap();
    assert_eq!(written(&found), ["open/file:1:secret"]);
    assert_eq!(found.unreadable, 0);
    let found = files
        .find(&all, &Filter::default(), ALL, &Work::default())
        .unwrap();
    let names: Vec<_> = found
        .files
        .iter()
        .map(|file| file.path.to_str().unwrap())
        .collect();
    assert_eq!(names, ["dots", "open", "open/file"]);
}

#[test]
fn a_search_ends_when_nobody_waits_or_its_time_is_over() {
    let tree = Tree::new();
    for number in 0..200 {
        tree.make(&format!("sub/{number}"), "x\n".repeat(1000));
    }
    let account = CpuAccount::limited(Duration::from_micros(300));
    let search = |work: &Work| tree.files.search(&scope("."), &text("x"), ALL, work);
    let found = Work::run(&account, CancellationToken::new(), search);
    assert!(matches!(found, Ok(Err(Error::Failed(_)))), "{found:?}");
    let account = CpuAccount::default();
    let found = Work::run(&account, CancellationToken::new(), search);
    assert_eq!(found.unwrap().unwrap().total_matches, 200_000);
    assert!(account.used() > Duration::from_micros(300));
}
