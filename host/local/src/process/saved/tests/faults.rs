//! Disks that hang, that are full, and on which another program changed files.

use std::os::unix::fs::symlink;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_hung_disk_holds_no_append_up_for_good() {
    let fixture = Fixture::new(SaveLimits::default());
    let chat = fixture.store.chat();
    let [full, late] = std::array::from_fn(|_| chat.output());
    let release = fixture.store.hang();
    full.append(pattern(IN_FLIGHT).into()).await;
    assert_eq!(full.status(), Saved::Complete);

    late.append(pattern(1000).into()).await;
    assert!(matches!(late.status(), Saved::Failed(text) if text.contains("1 s")));
    assert_eq!(late.accepted(), 0);
    late.settled(u64::MAX).await;

    // From here on the thread works, and the clock must not run ahead of it.
    tokio::time::resume();
    drop(release);
    assert_eq!(all(&full).await, pattern(IN_FLIGHT));
    assert_eq!(all(&filled(&chat, 10).await).await, pattern(10));
    late.append(pattern(1).into()).await;
    assert_eq!(all(&late).await, b"", "it has stopped for good");
    fixture.store.writer.flush();
    assert_eq!(fixture.store.room.available_permits(), IN_FLIGHT);
    assert_eq!(fixture.held(), IN_FLIGHT as u64 + 10);
}

/// A file system of 64 KiB, unmounted when it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
        assert!(run("mount", &options, directory.path()), "it needs mount");
        Self(directory)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["--lazy"], self.0.path());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test mounts a file system; this is no command of a chat"
)]
fn run(program: &str, options: &[&str], path: &Path) -> bool {
    let mut command = std::process::Command::new(program);
    let output = command.args(options).arg(path).output();
    output.is_ok_and(|output| output.status.success())
}

#[toolhost_needs::needs(mount)]
#[tokio::test]
async fn a_full_disk_ends_the_saving_and_keeps_the_written_bytes() {
    let disk = SmallDisk::mount();
    let named = open(disk.0.path(), SaveLimits::default());
    let anonymous = Outputs::Temporary(disk.0.path().to_owned());
    let anonymous = OutputStore::new(&anonymous, SaveLimits::default()).unwrap();
    let data = pattern(200_000);
    for store in [named, anonymous] {
        let chat = store.chat();
        let output = chat.output();
        for chunk in data.chunks(10_000) {
            output.append(Bytes::copy_from_slice(chunk)).await;
        }
        let saved = all(&output).await;
        assert!(matches!(output.status(), Saved::Failed(text) if text.contains("No space left")));
        assert!(!saved.is_empty() && data.starts_with(&saved));
        store.writer.flush();
        assert_eq!(store.ledger().total(), saved.len() as u64);
        assert_eq!(store.room.available_permits(), IN_FLIGHT);
        assert_eq!(output.accepted(), saved.len() as u64);
        let other = chat.output();
        other.append(pattern(5000).into()).await;
        other.settled(5000).await;
        assert!(matches!(other.status(), Saved::Failed(_)));
        output.close();
        output.remove();
        store.writer.flush();
        assert_eq!(all(&filled(&chat, 5000).await).await, pattern(5000));
        chat.remove().unwrap();
    }
}

#[tokio::test]
async fn links_are_neither_written_nor_read_through() {
    let fixture = Fixture::new(SaveLimits::default());
    let target = fixture.base.path().join("target");
    std::fs::write(&target, "secret").unwrap();
    let chat = fixture.store.chat();
    let output = filled(&chat, 10).await;
    fixture.store.writer.flush();

    let planted = chat.output();
    symlink(&target, fixture.path(&planted)).unwrap();
    planted.append(pattern(10).into()).await;
    planted.settled(10).await;
    assert!(matches!(planted.status(), Saved::Failed(_)));
    assert_eq!(planted.read(0, 10).await.unwrap(), b"");
    let name = planted.location().file;
    assert!(chat.reopen(&name, None).is_err());

    std::fs::remove_file(fixture.path(&output)).unwrap();
    assert!(output.read(0, 10).await.is_err());
    symlink(&target, fixture.path(&output)).unwrap();
    assert!(output.read(0, 10).await.is_err());

    let elsewhere = fixture.store.chat();
    let link = fixture.directory().join(&elsewhere.name);
    symlink(fixture.base.path(), link).unwrap();
    let output = elsewhere.output();
    output.append(pattern(10).into()).await;
    output.settled(10).await;
    let Saved::Failed(text) = output.status() else {
        panic!("written through a link");
    };
    assert!(!text.contains('/'), "a path is told: {text}");
    assert!(elsewhere.remove().is_err());
    chat.remove().unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"secret");
}
