//! The store as a whole, on real files.

mod faults;
mod limits;
mod recovery;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::handover::IN_FLIGHT;
use super::*;
use crate::process::Saved;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{OutputFile, Outputs};

/// A store in a temporary state directory.
struct Fixture {
    store: Arc<OutputStore>,
    base: tempfile::TempDir,
}

impl Fixture {
    fn new(limits: SaveLimits) -> Self {
        let base = tempfile::tempdir().unwrap();
        let store = open(base.path(), limits);
        Self { store, base }
    }

    /// The file of an output.
    fn path(&self, output: &SavedOutput) -> PathBuf {
        let OutputFile {
            directory: chat,
            file,
        } = output.location();
        self.directory().join(chat).join(file)
    }

    /// The directory of all chats.
    fn directory(&self) -> PathBuf {
        self.base.path().join("state/output")
    }

    fn held(&self) -> u64 {
        self.store.ledger().total()
    }
}

fn open(base: &Path, limits: SaveLimits) -> Arc<OutputStore> {
    let state = StateDir::open(&base.join("state")).unwrap();
    let outputs = Arc::new(state.subdirectory("output").unwrap());
    OutputStore::new(&Outputs::Kept(outputs), limits).unwrap()
}

/// Limits in bytes: of a process, of a chat, and in all.
fn limits(per_process: u64, per_chat: u64, total: u64) -> SaveLimits {
    SaveLimits {
        per_process,
        per_chat,
        total,
    }
}

/// Bytes that differ by where they are.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31 % 251) as u8).collect()
}

/// An output of `len` bytes, written and closed.
async fn filled(chat: &Arc<ChatOutputs>, len: usize) -> Arc<SavedOutput> {
    let output = chat.output();
    output.append(pattern(len).into()).await;
    output.settled(u64::MAX).await;
    output.close();
    output
}

async fn all(output: &Arc<SavedOutput>) -> Vec<u8> {
    output.settled(u64::MAX).await;
    output.read(0, usize::MAX).await.unwrap()
}

#[tokio::test]
async fn saves_everything_in_private_files_from_the_first_byte_on() {
    let fixture = Fixture::new(SaveLimits::default());
    let chat = fixture.store.chat();
    let output = chat.output();
    output.append(Bytes::new()).await;
    fixture.store.writer.flush();
    assert_eq!(output.status(), Saved::Complete);
    assert_eq!(output.read(0, 10).await.unwrap(), b"");
    assert_eq!(
        std::fs::read_dir(fixture.directory()).unwrap().count(),
        0,
        "nothing on disk before the first byte"
    );
    let data = pattern(700_000);
    for chunk in data.chunks(65_536) {
        output.append(Bytes::copy_from_slice(chunk)).await;
    }
    assert_eq!(all(&output).await, data);
    assert_eq!((output.accepted(), output.written()), (700_000, 700_000));
    assert_eq!(output.read(699_990, 100).await.unwrap(), data[699_990..]);
    assert_eq!(output.read(5, 3).await.unwrap(), data[5..8]);
    assert_eq!(output.read(u64::MAX, 3).await.unwrap(), b"");
    assert_eq!(mode(&fixture.path(&output)), 0o600);
    assert_eq!(mode(fixture.path(&output).parent().unwrap()), 0o700);
    assert_eq!(fixture.held(), 700_000);
    output.close();
    fixture.store.writer.flush();
    assert!(output.state().file.is_none(), "no descriptor when closed");
    output.append(Bytes::from_static(b"late")).await;
    assert_eq!(all(&output).await, data);
    assert_eq!(output.status(), Saved::Complete);
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn temporary_outputs_leave_nothing_and_hold_no_descriptor() {
    let base = tempfile::tempdir().unwrap();
    let place = Outputs::Temporary(base.path().to_owned());
    let store = OutputStore::new(&place, SaveLimits::default()).unwrap();
    let chat = store.chat();
    let output = filled(&chat, 100_000).await;
    store.writer.flush();
    let directory = std::fs::read_dir(base.path()).unwrap().next().unwrap();
    assert_eq!(mode(&directory.unwrap().path()), 0o700);
    output.close();
    store.writer.flush();
    assert!(output.state().file.is_none());
    assert_eq!(all(&output).await, pattern(100_000));
    store.remove_temporary();
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn removing_while_writing_leaves_no_file_and_no_quota() {
    let fixture = Fixture::new(SaveLimits::default());
    let chat = fixture.store.chat();
    let kept = filled(&chat, 10).await;
    let output = chat.output();
    let release = fixture.store.hang();
    output.append(pattern(1000).into()).await;
    output.remove();
    output.append(pattern(1000).into()).await;
    drop(release);
    fixture.store.writer.flush();
    assert_eq!((output.status(), output.accepted()), (Saved::None, 0));
    assert_eq!(all(&output).await, b"");
    assert!(!fixture.path(&output).exists() && fixture.path(&kept).exists());
    assert_eq!(fixture.held(), 10);
    output.close();
    output.remove();

    let open = chat.output();
    open.append(pattern(1000).into()).await;
    let removing = Arc::clone(&chat);
    tokio::task::spawn_blocking(move || removing.remove().unwrap())
        .await
        .unwrap();
    open.append(pattern(1000).into()).await;
    chat.output().append(pattern(1000).into()).await;
    fixture.store.writer.flush();
    assert_eq!((open.status(), kept.status()), (Saved::None, Saved::None));
    assert_eq!(all(&kept).await, b"");
    assert_eq!(std::fs::read_dir(fixture.directory()).unwrap().count(), 0);
    assert_eq!(fixture.held(), 0);
    assert_eq!(fixture.store.room.available_permits(), IN_FLIGHT);
}

#[tokio::test]
async fn a_file_that_is_made_while_its_chat_is_removed_is_removed_too() {
    let fixture = Fixture::new(SaveLimits::default());
    let chat = fixture.store.chat();
    let late = chat.output();
    fixture.store.writer.run(move || {
        let chat = &late.chat;
        while !chat.is_removed() {
            std::thread::yield_now();
        }
        // A reader that does not wait for this thread has a head start.
        (0..1000).for_each(|_| std::thread::yield_now());
        chat.files.create(&chat.name, &late.name).unwrap();
    });
    tokio::task::spawn_blocking(move || chat.remove().unwrap())
        .await
        .unwrap();
    fixture.store.writer.flush();
    assert_eq!(std::fs::read_dir(fixture.directory()).unwrap().count(), 0);
}

#[tokio::test]
async fn without_the_store_nothing_is_saved_and_all_stays_readable() {
    let Fixture { store, base } = Fixture::new(SaveLimits::default());
    let chat = store.chat();
    let closed = filled(&chat, 10).await;
    let open = chat.output();
    open.append(pattern(100).into()).await;
    drop(store);
    assert_eq!(all(&open).await, pattern(100), "the queue is written");
    open.append(pattern(1).into()).await;
    closed.append(pattern(1).into()).await;
    assert!(matches!(open.status(), Saved::Failed(_)));
    assert_eq!(all(&closed).await, pattern(10));
    assert_eq!(closed.status(), Saved::Complete);
    chat.remove().unwrap();
    drop(base);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_saved_bytes_are_a_prefix_of_the_output_whatever_the_chunks(
        chunks in prop::collection::vec((0_usize..300_000, any::<bool>()), 0..20),
        limit in 0_u64..2_000_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::new(limits(limit, u64::MAX, u64::MAX));
            let chat = fixture.store.chat();
            let (output, other) = (chat.output(), chat.output());
            let data = pattern(chunks.iter().map(|(len, _)| len).sum());
            let mut at = 0;
            for (len, alone) in chunks {
                let bytes = Bytes::copy_from_slice(&data[at..at + len]);
                at += len;
                if alone {
                    output.append(bytes).await;
                } else {
                    tokio::join!(output.append(bytes.clone()), other.append(bytes));
                }
            }
            output.close();
            let saved = all(&output).await;
            let fits = data.len().min(limit as usize);
            match output.status() {
                Saved::Complete => prop_assert!(saved == data),
                Saved::Partial(len) => {
                    prop_assert!(data.len() as u64 > limit && len == limit);
                    prop_assert!(saved == data[..fits]);
                }
                other => prop_assert!(false, "{:?}", other),
            }
            fixture.store.writer.flush();
            prop_assert_eq!(fixture.store.room.available_permits(), IN_FLIGHT);
            prop_assert_eq!(fixture.held(), output.written() + other.written());
            Ok(())
        })?;
    }
}
