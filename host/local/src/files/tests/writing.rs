//! Files that are replaced: whole, all or none, and only if they should be.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Barrier;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn files_are_made_with_their_directories_and_replaced() {
    let tree = Tree::new();
    let written = tree.write("new/deep/file", "one").unwrap();
    assert_eq!(written, tree.files.metadata("new/deep/file").unwrap());
    assert_eq!(mode(&tree.path("new/deep")), 0o755);
    tree.write("new/deep/file", "two").unwrap();
    assert_eq!(tree.content("new/deep/file"), b"two");
    assert_eq!(names(&tree.path("new/deep")), ["file"]);
    assert_eq!(tree.write("sub", "x"), Err(Error::NotAFile));
    assert_eq!(
        tree.write("new/deep/file/x", "x"),
        Err(Error::NotADirectory)
    );
    tree.write("empty", "").unwrap();
    assert_eq!(tree.content("empty"), b"");
}

#[test]
fn the_mode_is_kept() {
    let tree = Tree::new();
    for bits in [0o755, 0o600, 0o444, 0o666, 0o4711] {
        tree.make("file", "x");
        fs::set_permissions(tree.path("file"), PermissionsExt::from_mode(bits)).unwrap();
        match tree.write("file", "y") {
            Ok(_) => assert_eq!(mode(&tree.path("file")), bits & 0o1777),
            // Only root may.
            Err(error) => assert_eq!(
                (bits, error),
                (0o444, Error::Denied("permission denied".into()))
            ),
        }
        fs::remove_file(tree.path("file")).unwrap();
    }
}

#[test]
fn links_stay_and_their_targets_are_replaced() {
    let tree = Tree::new();
    tree.make("file", "old");
    tree.link("link", "file");
    tree.link("sub/absolute", tree.path("file"));
    tree.link("dangling", "sub/new");
    for (path, content) in [("link", "one"), ("sub/absolute", "two")] {
        tree.write(path, content).unwrap();
        assert_eq!(tree.content("file"), content.as_bytes());
        assert!(tree.path(path).is_symlink());
    }
    tree.write("dangling", "new").unwrap();
    assert!(tree.path("dangling").is_symlink());
    assert_eq!(tree.content("sub/new"), b"new");
}

#[test]
fn preconditions() {
    let tree = Tree::new();
    let version = |text: &str| Precondition::Version(text.into());
    let stale = Err(Error::Changed("file changed since it was read".into()));
    let first = tree
        .write_if("file", "one", Precondition::Absent)
        .unwrap()
        .version;
    let taken = tree.write_if("file", "two", Precondition::Absent);
    assert_eq!(taken, Err(Error::Changed("file exists".into())));
    let second = tree
        .write_if("file", "two", version(&first))
        .unwrap()
        .version;
    assert_eq!(tree.write_if("file", "three", version(&first)), stale);
    assert_eq!(tree.content("file"), b"two");
    fs::remove_file(tree.path("file")).unwrap();
    assert_eq!(tree.write_if("file", "three", version(&second)), stale);
    assert_eq!(tree.write_if("a/b/file", "three", version(&second)), stale);
    assert_eq!(
        tree.names(),
        ["sub"],
        "directories that were made are gone as well"
    );
}

#[test]
fn all_are_written_or_none() {
    let tree = Tree::new();
    for name in ["a", "b"] {
        tree.make(name, "old");
    }
    let inode = |name: &str| fs::metadata(tree.path(name)).unwrap().ino();
    let before = (inode("a"), inode("b"));
    let all = |last: Write| {
        tree.files.write_all(vec![
            write("a", "new", Precondition::Any),
            write("b", "new", Precondition::Any),
            write("made/c", "new", Precondition::Absent),
            last,
        ])
    };
    let refused: [(Write, Error); 4] = [
        (write("sub", "x", Precondition::Any), Error::NotAFile),
        (
            write("d", "x", Precondition::Version("?".into())),
            Error::Changed("file changed since it was read".into()),
        ),
        (
            write("sub/../a", "x", Precondition::Any),
            Error::Invalid("the same file is to be written twice".into()),
        ),
        (write("a/x", "x", Precondition::Any), Error::NotADirectory),
    ];
    for (last, error) in refused {
        assert_eq!(all(last), Err((3, error)));
        assert_eq!((inode("a"), inode("b")), before);
        assert_eq!(tree.names(), ["a", "b", "sub"]);
    }
    let written = all(write("d", "new", Precondition::Any)).unwrap();
    let paths: Vec<_> = written.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, ["a", "b", "made/c", "d"].map(|name| tree.path(name)));
    assert_eq!(tree.names(), ["a", "b", "d", "made", "sub"]);
    let too_many = (0..=MAX_WRITES).map(|n| write(&format!("f{n}"), "", Precondition::Any));
    let (index, _) = tree.files.write_all(too_many.collect()).unwrap_err();
    assert_eq!(index, MAX_WRITES);
    assert_eq!(tree.files.write_all(vec![]), Ok(vec![]));
}

/// Many writers that each read, add one and write with the version that they read: none is lost.
#[test]
fn no_update_is_lost() {
    const WRITERS: usize = 8;
    const EACH: usize = 50;
    let tree = Tree::new();
    tree.make("counter", "0");
    // Every second one is another host.
    let other = Files::open(&Config::new(tree.workspace()), &Closed::default()).unwrap();
    let start = Barrier::new(WRITERS);
    let refused = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let files = if writer % 2 == 0 { &tree.files } else { &other };
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let (mut done, mut refused) = (0, 0);
                    while done < EACH {
                        let chunk = files.read("counter", 0, 100).unwrap();
                        let count: usize = String::from_utf8(chunk.data).unwrap().parse().unwrap();
                        let when = Precondition::Version(chunk.version);
                        let write = write("counter", &(count + 1).to_string(), when);
                        match files.write_all(vec![write]) {
                            Ok(_) => done += 1,
                            Err((0, Error::Changed(_))) => refused += 1,
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                    refused
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(tree.read("counter").unwrap(), (WRITERS * EACH).to_string());
    assert!(refused > 0);
    assert_eq!(tree.names(), ["counter", "sub"]);
}

/// A directory stays locked by another program, which may not be a host at all.
#[test]
fn a_lock_that_stays_keeps_no_host_from_writing() {
    let tree = Tree::new();
    let directory = fs::File::open(tree.path("")).unwrap();
    let lock = nix::fcntl::Flock::lock(directory, nix::fcntl::FlockArg::LockExclusive).unwrap();
    tree.write("file", "x").unwrap();
    assert_eq!(tree.content("file"), b"x");
    drop(lock);
}

/// Readers see the one content or the other, however often a file is replaced.
#[test]
fn no_reader_sees_half_a_file() {
    let tree = Tree::new();
    let contents = ["a".repeat(300_000), "b".repeat(200_000)];
    tree.make("file", &contents[0]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..100 {
                tree.write("file", &contents[round % 2]).unwrap();
            }
        });
        while !writer.is_finished() {
            let read = tree.read("file").unwrap();
            assert!(contents.contains(&read));
        }
    });
}
