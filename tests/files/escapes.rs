//! Everything that was thought of to reach a file outside, through the tools. The domain's own tests try more.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A workspace beside something that is not to be reached.
struct Beside {
    setup: Setup,
    outside: tempfile::TempDir,
}

impl Beside {
    async fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let setup = Setup::new().await;
        setup.make("file", "inside\n");
        Self { setup, outside }
    }

    fn assert_untouched(&self) {
        assert_eq!(names(self.outside.path()), ["secret"]);
        let secret = std::fs::read(self.outside.path().join("secret"));
        assert_eq!(secret.unwrap(), b"secret");
    }
}

#[tokio::test]
async fn no_tool_leaves_the_workspace() {
    let beside = Beside::new().await;
    let setup = &beside.setup;
    let root = setup.root().display().to_string();
    let outside = beside.outside.path().display().to_string();
    let up = "../".repeat(20) + outside.trim_start_matches('/');
    setup.link("absolute", format!("{outside}/secret"));
    setup.link("relative", format!("{up}/secret"));
    setup.link("directory", &outside);
    setup.link("root", "/proc/self/root");
    setup.link("dangling", format!("{outside}/new"));
    for path in [
        "..",
        "/",
        &format!("{up}/secret"),
        &format!("{outside}/secret"),
        &format!("{root}/../secret"),
        &format!("{root}x"),
        "absolute",
        "relative",
        "directory/secret",
        "directory/new",
        "dangling",
        &format!("root{outside}/secret"),
        &format!("/proc/self/root{outside}/secret"),
        "/proc/self/environ",
    ] {
        let expected = format!("{path} is outside of the workspace; use paths in {root}");
        let read = setup.read(path).await.unwrap_err();
        assert_eq!(read, format!("{expected}, and execute for other files"));
        assert_eq!(setup.write(path, "x").await.unwrap_err(), expected);
        let refused = setup.edit(path, "secret", "x").await.unwrap_err();
        assert_eq!(
            refused,
            format!("open {path}: outside of the workspace; use paths in {root}")
        );
    }
    beside.assert_untouched();
    setup.host.shutdown().await;
}

#[tokio::test]
async fn names_that_cannot_be() {
    let setup = Setup::new().await;
    setup.make("file", "x\n");
    setup.link("loop", "loop");
    let fifo = setup.root().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let long = "n".repeat(256);
    for (path, text) in [
        ("fi\0le", "a path cannot contain NUL: fi\0le"),
        (&long, &format!("file name too long: {long}")),
        ("loop", "too many symbolic links: loop"),
        ("file/", "not a directory: file/"),
        ("file/x", "not a directory: file/x"),
        ("fifo", "not a file: fifo"),
    ] {
        assert_eq!(setup.read(path).await.unwrap_err(), text);
        assert_eq!(setup.write(path, "x").await.unwrap_err(), text);
    }
    let longest = "n".repeat(255);
    setup.write(&longest, "long\n").await.unwrap();
    assert_eq!(setup.read(&longest).await.unwrap()["content"], "1\tlong");
    let deep = "d/".repeat(64) + "file";
    setup.write(&deep, "deep\n").await.unwrap();
    assert_eq!(setup.read(&deep).await.unwrap()["content"], "1\tdeep");
    setup.host.shutdown().await;
}

/// Somebody swaps directories and files for links that lead out while tools read, write and edit.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_leads_nowhere() {
    /// As many at least; more until both ends were seen, however the threads take turns.
    const OPERATIONS: usize = 400;
    let beside = Beside::new().await;
    let setup = &beside.setup;
    let root = setup.root();
    std::fs::create_dir(root.join("real")).unwrap();
    setup.make("real/secret", "inside");
    setup.link("away", beside.outside.path());
    let done = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    let swap = || {
        let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
        let here = nix::fcntl::AT_FDCWD;
        while !done.load(Ordering::Relaxed) {
            nix::fcntl::renameat2(here, &root.join("real"), here, &root.join("away"), flags)
                .unwrap();
        }
    };
    tokio_scoped(swap, async {
        for round in 0.. {
            if round >= OPERATIONS && inside > 0 && refused > 0 {
                break;
            }
            let result = match round % 4 {
                0 | 1 => setup.read("real/secret").await,
                2 => setup.write("real/secret", "inside").await,
                _ => setup.edit("real/secret", "inside", "inside").await,
            };
            match result {
                Ok(reply) => {
                    inside += 1;
                    let content = reply["content"].as_str().unwrap_or("inside");
                    assert!(content.contains("inside"), "{reply}");
                }
                Err(text) => refused += usize::from(text.contains("outside of the workspace")),
            }
        }
        done.store(true, Ordering::Relaxed);
    })
    .await;
    beside.assert_untouched();
    setup.host.shutdown().await;
}

/// Runs something on a thread of its own for as long as a future runs.
async fn tokio_scoped(beside: impl FnOnce() + Send, run: impl Future<Output = ()>) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            scope.spawn(beside);
            handle.block_on(run);
        });
    });
}
