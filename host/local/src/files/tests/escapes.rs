//! Everything that was thought of to reach a file outside.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn is_outside<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::OutsideWorkspace { .. }))
}

#[test]
fn paths_that_lead_out_are_refused() {
    let tree = Tree::new();
    tree.make("file", "inside");
    let root = tree.workspace().display().to_string();
    let outside = tree.outside("secret").display().to_string();
    tree.link("absolute", &outside);
    tree.link("relative", "../outside/secret");
    tree.link("directory", "../outside");
    tree.link("sub/up", "../..");
    tree.link("proc", "/proc/self/root");
    tree.link("chain", "absolute");
    tree.link("dangling", "/nowhere/at/all");
    let paths = [
        "..",
        "../outside/secret",
        "sub/../../outside/secret",
        "sub/../../workspace-not",
        "/",
        "/etc/passwd",
        "//etc//passwd",
        &outside,
        &format!("{root}/../outside/secret"),
        &format!("{root}x/file"),
        "absolute",
        "relative",
        "directory/secret",
        "sub/up/outside/secret",
        "proc/etc/passwd",
        "/proc/self/root/etc/passwd",
        &format!("/proc/self/root{root}/file"),
        "/proc/self/cwd/Cargo.toml",
        "chain",
        "dangling",
        "sub/up/outside/new",
    ];
    for path in paths {
        assert!(is_outside(&tree.files.read(path, 0, 10)), "{path}");
        assert!(is_outside(&tree.files.metadata(path)), "{path}");
        assert!(
            is_outside(&tree.files.read_directory(path, None, 10, &Work::default())),
            "{path}"
        );
        assert!(
            is_outside(&tree.files.skip_lines(path, 0, 1, &Work::default())),
            "{path}"
        );
        assert!(is_outside(&tree.files.resolve(path)), "{path}");
        assert!(is_outside(&tree.write(path, "overwritten")), "{path}");
    }
    assert_eq!(fs::read(tree.outside("secret")).unwrap(), b"secret");
    assert_eq!(names(&tree.base.path().join("outside")), ["secret"]);
    assert_eq!(names(tree.base.path()), ["outside", "workspace"]);
    let error = tree.read("/etc/passwd").unwrap_err().to_string();
    assert_eq!(
        error,
        format!("/etc/passwd is outside of the workspace {root}")
    );
}

#[test]
fn paths_that_stay_inside_are_followed() {
    let tree = Tree::new();
    tree.make("file", "inside");
    let root = tree.workspace().display().to_string();
    let name = tree.workspace().file_name().unwrap();
    tree.link("absolute", tree.path("file"));
    tree.link("sub/relative", "../file");
    tree.link("out-and-in", Path::new("..").join(name).join("file"));
    tree.link("here", ".");
    for path in [
        "file",
        "./file",
        "sub/../file",
        "sub//..//./file",
        "absolute",
        "sub/relative",
        "out-and-in",
        "here/here/here/file",
        &format!("{root}/file"),
        &format!("{root}/sub/../file"),
        &format!("{root}/../workspace/file"),
        &format!("//{root}//file"),
    ] {
        assert_eq!(tree.read(path).as_deref(), Ok("inside"), "{path}");
        assert_eq!(tree.files.resolve(path).unwrap(), tree.path("file"));
    }
    // The root may be named as the operator named it.
    let alias = tree.base.path().join("alias");
    symlink(tree.workspace(), &alias).unwrap();
    let files = Files::open(&Config::new(&alias), &Closed::default()).unwrap();
    let path = alias.join("file").display().to_string();
    assert_eq!(files.read(&path, 0, 10).unwrap().data, b"inside");
    assert_eq!(files.resolve(&path).unwrap(), tree.path("file"));
    tree.link("by-alias", alias.join("file"));
    assert_eq!(files.read("by-alias", 0, 10).unwrap().data, b"inside");
}

#[test]
fn further_roots_are_reached_by_absolute_paths_and_links() {
    let base = tempfile::tempdir().unwrap();
    let more = base.path().join("more");
    fs::create_dir(&more).unwrap();
    fs::write(more.join("file"), "more").unwrap();
    let tree = Tree::with(|config| config.roots.push(more.clone()));
    tree.link("link", more.join("file"));
    for path in ["link", &more.join("file").display().to_string()] {
        assert_eq!(tree.read(path).as_deref(), Ok("more"), "{path}");
    }
    assert!(is_outside(
        &tree.read(&base.path().join("x").display().to_string())
    ));
    let missing = Config {
        roots: vec![base.path().join("missing")],
        ..Config::new(base.path())
    };
    let error = Files::open(&missing, &Closed::default())
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("missing cannot be used"), "{error}");
}

#[test]
fn directories_of_the_host_cannot_be_entered() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("cache.key"), "key").unwrap();
    let closed = Closed::default().with_own([state]);
    let files = Files::open(&Config::new(base.path()), &closed).unwrap();
    symlink("state", base.path().join("link")).unwrap();
    let is_closed = |files: &Files| {
        for path in ["state/cache.key", "link/cache.key", "state", "state/new"] {
            let denied = matches!(files.read(path, 0, 10), Err(Error::Denied(_)));
            assert!(denied, "{path}");
            let write = write(path, "x", Precondition::Any);
            let written = files.write_all(vec![write]);
            assert!(matches!(written, Err((0, Error::Denied(_)))), "{path}");
        }
    };
    is_closed(&files);
    // By its path, and by its identity.
    fs::rename(base.path().join("state"), base.path().join("old")).unwrap();
    fs::create_dir(base.path().join("state")).unwrap();
    is_closed(&files);
    let moved = files.read("old/cache.key", 0, 10);
    assert!(matches!(moved, Err(Error::Denied(_))));
    let around = Closed::new([base.path()]);
    let error = Files::open(&Config::new(base.path().join("old")), &around).unwrap_err();
    assert!(matches!(error, OpenError::Closed(_)), "{error}");
    // The environment of this process, which its threads show as well.
    let all = Files::open(&Config::new("/"), &Closed::default()).unwrap();
    for path in [
        "proc/self/environ",
        &format!("proc/{}/environ", std::process::id()),
        &format!("proc/{}/status", nix::unistd::gettid()),
    ] {
        let environment = all.read(path, 0, 10);
        assert!(matches!(environment, Err(Error::Denied(_))), "{path}");
    }
    assert_eq!(
        all.read("proc/sys/kernel/ostype", 0, 5).unwrap().data,
        b"Linux"
    );
}

#[test]
fn a_hard_link_shows_no_file_of_the_host() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    fs::create_dir_all(state.join("below")).unwrap();
    fs::write(state.join("journal"), "reply").unwrap();
    fs::write(state.join("below/output"), "output").unwrap();
    fs::write(base.path().join("file"), "text").unwrap();
    let closed = Closed::default().with_own([state.clone()]);
    let files = Files::open(&Config::new(base.path()), &closed).unwrap();
    let link = |from: &Path, to: &str| fs::hard_link(from, base.path().join(to)).unwrap();
    link(&base.path().join("file"), "other");
    assert_eq!(files.read("other", 0, 10).unwrap().data, b"text");
    link(&state.join("journal"), "journal");
    link(&state.join("below/output"), "output");
    // The directory that is hidden stays so when it is moved.
    fs::rename(&state, base.path().join("moved")).unwrap();
    for name in ["journal", "output"] {
        let denied = |error: Error| matches!(error, Error::Denied(_));
        assert!(files.read(name, 0, 10).is_err_and(denied), "{name}");
        assert!(files.metadata(name).is_err_and(denied), "{name}");
        let written = files.write_all(vec![write(name, "x", Precondition::Any)]);
        assert!(matches!(written, Err((0, Error::Denied(_)))), "{name}");
    }
}

#[test]
fn names_that_cannot_be() {
    let tree = Tree::new();
    tree.make("file", "x");
    tree.link("loop", "loop");
    tree.link("a", "b");
    tree.link("b", "a");
    let (long, longest) = ("n".repeat(256), "n".repeat(255));
    let deep = "d/".repeat(60) + "file";
    for (path, text) in [
        ("", "the path is empty"),
        ("fi\0le", "a path cannot contain NUL"),
        (&long, "file name too long"),
        (&"x/".repeat(3_000), "file name too long"),
        ("loop", "too many symbolic links"),
        ("a", "too many symbolic links"),
        ("file/", "not a directory"),
        ("file/.", "not a directory"),
        ("file/..", "not a directory"),
        ("file/x", "not a directory"),
        ("missing/../file", "no such file or directory"),
        ("missing/", "no such file or directory"),
    ] {
        let shown = path.escape_debug().to_string();
        assert_eq!(tree.read(path).unwrap_err().to_string(), text, "{shown}");
        assert_eq!(
            tree.write(path, "y").unwrap_err().to_string(),
            text,
            "{shown}"
        );
    }
    assert_eq!(tree.read(&longest), Err(Error::NotFound));
    tree.write(&longest, "long").unwrap();
    assert_eq!(tree.read(&longest).as_deref(), Ok("long"));
    tree.write(&deep, "deep").unwrap();
    assert_eq!(tree.read(&deep).as_deref(), Ok("deep"));
    let up = "d/".repeat(60) + &"../".repeat(59) + "../file";
    assert_eq!(tree.read(&up).as_deref(), Ok("x"));
    let long = "d/".repeat(60) + &"../d/".repeat(700) + &"../".repeat(60) + "file";
    let error = tree.read(&long).unwrap_err().to_string();
    assert_eq!(error, "the path leads through too many directories");
    tree.link("directory", "file/");
    assert_eq!(tree.read("directory"), Err(Error::NotADirectory));
    assert_eq!(tree.content("file"), b"x");
}

/// Opening a pipe would wait for its other end, and opening a device may have an effect.
#[test]
fn only_regular_files_are_opened() {
    let tree = Tree::with(|config| config.roots.push("/dev".into()));
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&tree.path("fifo"), mode).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("socket")).unwrap();
    tree.link("link", "fifo");
    for path in [
        "fifo",
        "socket",
        "link",
        "/dev/null",
        "/dev/zero",
        "/dev/tty",
        "sub",
    ] {
        assert_eq!(tree.read(path), Err(Error::NotAFile), "{path}");
        assert_eq!(tree.write(path, "x"), Err(Error::NotAFile), "{path}");
        assert_eq!(
            tree.files.skip_lines(path, 0, 1, &Work::default()),
            Err(Error::NotAFile),
            "{path}"
        );
    }
    assert_eq!(tree.files.metadata("fifo").unwrap().kind, Kind::Other);
}

/// Hard links cannot be told apart: reading follows them, and the other name keeps its content.
#[test]
fn another_name_of_a_file_outside_keeps_its_content() {
    let tree = Tree::new();
    fs::hard_link(tree.outside("secret"), tree.path("name")).unwrap();
    assert_eq!(tree.read("name").as_deref(), Ok("secret"));
    tree.write("name", "new").unwrap();
    assert_eq!(fs::read(tree.outside("secret")).unwrap(), b"secret");
    assert_eq!(tree.content("name"), b"new");
}

/// Another thread swaps a directory, and a file, for links that lead out, as fast as possible.
#[test]
fn a_race_leads_nowhere() {
    /// As many at least; more until both ends were seen, however the threads take turns.
    const ROUNDS: usize = 2_000;
    let tree = Tree::new();
    let outside = tree.base.path().join("outside");
    fs::write(tree.outside("file"), "outside").unwrap();
    fs::create_dir(tree.path("real")).unwrap();
    tree.make("real/file", "inside");
    tree.link("to-outside", &outside);
    tree.link("to-secret", tree.outside("file"));
    tree.make("plain", "inside");
    let (done, swaps) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = |one: &str, other: &str| {
                let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
                let here = nix::fcntl::AT_FDCWD;
                nix::fcntl::renameat2(here, &tree.path(one), here, &tree.path(other), flags)
            };
            while !done.load(Ordering::Relaxed) {
                exchange("real", "to-outside").unwrap();
                // The other one is replaced by writes, too: then there is nothing to swap for a moment.
                _ = exchange("plain", "to-secret");
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut seen = [0; 2];
        for round in 0.. {
            if round >= ROUNDS && seen[0] > 0 && seen[1] > 0 {
                break;
            }
            for path in ["real/file", "plain"] {
                match tree.read(path) {
                    Ok(text) => {
                        assert!(text.starts_with("inside"), "{text}");
                        seen[0] += 1;
                    }
                    Err(Error::OutsideWorkspace { .. }) => seen[1] += 1,
                    Err(Error::NotFound | Error::NotAFile | Error::Failed(_)) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            let path = ["real/file", "real/new", "plain", "real/made/new"][round % 4];
            if let Err(error) = tree.write(path, "inside again") {
                assert!(
                    !matches!(error, Error::Denied(_) | Error::TooLarge(_)),
                    "{error:?}"
                );
            }
            assert!(
                tree.files
                    .read_directory("real", None, 100, &Work::default())
                    .map_or(true, |(entries, _)| {
                        entries.iter().all(|entry| entry.name != "secret")
                    })
            );
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(swaps.into_inner() > 0);
    assert_eq!(fs::read(tree.outside("secret")).unwrap(), b"secret");
    assert_eq!(fs::read(tree.outside("file")).unwrap(), b"outside");
    assert_eq!(names(&outside), ["file", "secret"]);
}

/// The workspace is the directory that has its path, also when that was removed and made anew.
#[test]
fn a_workspace_that_was_made_anew() {
    let tree = Tree::new();
    tree.make("file", "old");
    let (workspace, aside) = (tree.path(""), tree.base.path().join("aside"));
    fs::rename(&workspace, &aside).unwrap();
    assert!(matches!(tree.read("file"), Err(Error::Unavailable(_))));
    symlink(tree.outside(""), tree.base.path().join("workspace")).unwrap();
    assert!(matches!(tree.read("secret"), Err(Error::Unavailable(_))));
    fs::remove_file(tree.base.path().join("workspace")).unwrap();
    fs::create_dir(&workspace).unwrap();
    assert_eq!(tree.read("file"), Err(Error::NotFound));
    tree.write("file", "new").unwrap();
    assert_eq!(fs::read(workspace.join("file")).unwrap(), b"new");
    assert_eq!(fs::read(aside.join("file")).unwrap(), b"old");
}
