//! Tests of files that are damaged while no host runs: no call begins again.

use std::path::Path;

use toolhost_state::state_dir::StateDir;
use toolhost_store::{Begun, Durability, EndedCall, LocalStore, Sqlite, Store, StoreError};

use crate::crash::{kill_after, killed, start};
use crate::file::problems;
use crate::sqlite::open;
use crate::values::{call, cancellation, ended, session};

/// How many times files are damaged, unless `STORE_FLIPS` sets another number.
const FLIPS: u64 = 400;

const FILES: [&str; 4] = ["store.db", "store.db-shm", "store.db-wal", "store.reserve"];

/// The files that may be damaged. What a damaged log has lost is not known: SQLite reads it up to the first frame that is damaged.
const DAMAGED: [&str; 2] = ["store.db", "store.db-shm"];

/// A generator of pseudo-random numbers, which are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    _ = std::fs::remove_dir_all(to);
    StateDir::open(to).unwrap();
    for name in FILES {
        if let Ok(bytes) = std::fs::read(from.join(name)) {
            std::fs::write(to.join(name), bytes).unwrap();
        }
    }
}

/// Damages one of the files: mostly flips one bit, and sometimes cuts off the end.
fn damage(state: &Path, random: &mut Random) -> String {
    loop {
        let path = state.join(DAMAGED[random.below(DAMAGED.len())]);
        let Ok(mut bytes) = std::fs::read(&path) else {
            continue;
        };
        if bytes.is_empty() {
            continue;
        }
        let at = random.below(bytes.len());
        let done = if random.below(8) == 0 {
            bytes.truncate(at);
            format!("{} is cut at {at}", path.display())
        } else {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} of {} is flipped", path.display())
        };
        std::fs::write(&path, bytes).unwrap();
        return done;
    }
}

/// The name of a call, and whether it ran when its host was killed.
#[derive(Clone)]
struct Name {
    chat: String,
    id: String,
    ran: bool,
}

/// Every id of the store that [`fill`] fills.
fn ids() -> Vec<Name> {
    let name = |number| Name {
        chat: format!("chat-{}", number % 9),
        id: format!("id-{number}"),
        ran: number % 6 == 1,
    };
    (0..240).map(name).collect()
}

/// Stores calls in every state.
async fn fill(store: &Sqlite) {
    for (number, Name { chat, id, .. }) in ids().into_iter().enumerate() {
        match number % 6 {
            0 => {
                _ = store
                    .cancel(toolhost_store::Cancellation {
                        most: 999,
                        ..cancellation(&chat, &id, None)
                    })
                    .await
                    .unwrap()
            }
            1 => assert_eq!(store.begin(call(&chat, &id)).await.unwrap(), Begun::New),
            _ => {
                assert_eq!(store.begin(call(&chat, &id)).await.unwrap(), Begun::New);
                let outcome = "x".repeat(number * number % 9000);
                store
                    .end(EndedCall {
                        outcome,
                        ..ended(&chat, &id)
                    })
                    .await
                    .unwrap();
            }
        }
    }
}

/// Repeats every id, and returns how many are unknown; none may begin.
async fn repeat_all(store: &Sqlite, ids: &[Name], what: &str) -> usize {
    let mut unknown = 0;
    for Name { chat, id, ran } in ids {
        match store.begin(call(chat, id)).await {
            Ok(Begun::New) => panic!("{id} runs again: {what}"),
            Ok(Begun::Unknown) => unknown += usize::from(!ran),
            Ok(_) | Err(_) => {}
        }
    }
    unknown
}

/// Starts a host on the damaged files, and recovers the store if the host does not start.
async fn survive(state: &Path, ids: &[Name], what: &str) -> &'static str {
    let directory = StateDir::open(state).unwrap();
    let store = match Sqlite::open(&directory, Durability::Host) {
        Ok(store) => store,
        Err(StoreError::Damaged { .. } | StoreError::Foreign { .. } | StoreError::Newer { .. }) => {
            match Sqlite::recover(&directory, Durability::Host) {
                Ok(recovered) => {
                    assert!(recovered.aside.exists(), "{what}");
                    let store = open(state, Durability::Host).unwrap();
                    repeat_all(&store, ids, what).await;
                    return "recovered";
                }
                Err(error) => {
                    assert!(
                        matches!(error, StoreError::Unrecoverable { .. }),
                        "{what}: {error:?}"
                    );
                    // The next start must not make a new store.
                    assert!(open(state, Durability::Host).is_err(), "{what}");
                    return "refused";
                }
            }
        }
        Err(error) => panic!("{what}: {error:?}"),
    };
    _ = store.interrupt().await;
    match repeat_all(&store, ids, what).await {
        0 => "held",
        _ => "unknown",
    }
}

async fn flips(what: &str, ids: &[Name], from: &Path, scratch: &Path) {
    let flips = std::env::var("STORE_FLIPS").map_or(FLIPS, |text| text.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ flips);
    let mut ends = std::collections::BTreeMap::<_, u64>::new();
    for _ in 0..flips {
        copy(from, scratch);
        let damage = damage(scratch, &mut random);
        *ends
            .entry(survive(scratch, ids, &damage).await)
            .or_default() += 1;
    }
    println!("{what}: {ends:?}");
    assert!(ends["held"] > 0);
}

/// Makes a directory in memory if possible, because these tests do not depend on the syncs of a disk.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flip_in_the_files_of_a_killed_host_runs_a_call_twice() {
    let base = scratch();
    let (state, killed) = (base.path().join("state"), base.path().join("killed"));
    let store = open(&state, Durability::Host).unwrap();
    fill(&store).await;
    // A killed host leaves the files as they are at that moment.
    copy(&state, &killed);
    flips("killed", &ids(), &killed, &base.path().join("scratch")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flip_in_the_file_of_a_closed_store_runs_a_call_twice() {
    let base = scratch();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    fill(&store).await;
    drop(store);
    flips("closed", &ids(), &state, &base.path().join("scratch")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_file_is_not_a_new_store() {
    let base = scratch();
    let state = base.path().join("state");
    let (killed, _) = killed(base.path(), 120);
    std::fs::remove_file(killed.join("store.reserve")).unwrap();
    drop(open(&state, Durability::Host).unwrap());
    for state in [&killed, &state] {
        std::fs::remove_file(state.join("store.db")).unwrap();
        let error = open(state, Durability::Host).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }));
        assert!(
            error.to_string().contains("toolhost state recover"),
            "{error}"
        );
    }
}

/// If a page of the table is damaged, the ids of the calls on this page are unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_keeps_every_id() {
    let base = scratch();
    let state = base.path().join("state");
    let mut said = kill_after(start(&state, 1), 3000);
    drop(open(&state, Durability::Host).unwrap());
    let file = state.join("store.db");
    let leaf = "SELECT pgoffset, pgsize FROM dbstat WHERE name = 'calls' AND pagetype = 'leaf' ORDER BY pageno DESC LIMIT 1";
    let (at, size): (usize, usize) = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row(leaf, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[at..at + size].fill(0);
    std::fs::write(&file, bytes).unwrap();
    let directory = StateDir::open(&state).unwrap();
    let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
    assert!(
        recovered.calls > 0 && recovered.unknown > 0,
        "{recovered:?}"
    );
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(problems(&state), [""; 0]);
    said.retain(|line| line.starts_with("began"));
    for line in said {
        let number: usize = line.split_once(' ').unwrap().1.parse().unwrap();
        let begun = store
            .begin(call(&format!("chat-{}", number % 7), &number.to_string()))
            .await
            .unwrap();
        assert_ne!(begun, Begun::New, "{number}");
    }
}

#[tokio::test]
async fn a_call_that_ran_is_found_after_a_recovery() {
    let base = scratch();
    let (state, killed) = (base.path().join("state"), base.path().join("killed"));
    let store = open(&state, Durability::Host).unwrap();
    store.begin(call("c", "running")).await.unwrap();
    for number in 0..600 {
        store.end(ended("c", &number.to_string())).await.unwrap();
    }
    copy(&state, &killed);
    let directory = StateDir::open(&killed).unwrap();
    Sqlite::recover(&directory, Durability::Host).unwrap();
    let store = open(&killed, Durability::Host).unwrap();
    assert_eq!(store.interrupt().await.unwrap().len(), 1);
}

/// The other sessions continue, and no client gets into the chat of another client.
#[tokio::test]
async fn a_damaged_session_hides_no_other() {
    let base = scratch();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    for id in ["a", "b", "c"] {
        store.put_session(session(id)).await.unwrap();
    }
    drop(store);
    let database = rusqlite::Connection::open(state.join("store.db")).unwrap();
    for (id, chat) in [("a", "mcp-2"), ("b", "not a chat!")] {
        let damage = "UPDATE sessions SET chat = ?2 WHERE id = ?1";
        assert_eq!(database.execute(damage, [id, chat]).unwrap(), 1);
    }
    drop(database);
    assert_eq!(problems(&state).len(), 2);
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.sessions().await.unwrap(), [session("c")]);
    assert_eq!(store.counts().damaged, 2);
    drop(store);
    let directory = StateDir::open(&state).unwrap();
    let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
    assert!(!recovered.is_complete);
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.sessions().await.unwrap(), [session("c")]);
    assert!(store.counts().has_set_aside);
}

/// Flips one bit in the first byte of the root page of an index, which has only this page.
fn damage_index(state: &Path, name: &str) {
    let file = state.join("store.db");
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: usize = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row(root, [name], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[(root - 1) * 2048] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

/// A change that needs a damaged page is refused, and so is every repeat.
#[tokio::test]
async fn a_call_that_a_damaged_store_does_not_take_does_not_run() {
    let base = scratch();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.begin(call("c", "1")).await.unwrap();
    drop(store);
    damage_index(&state, "calls_kept");
    let store = open(&state, Durability::Host).unwrap();
    for _ in 0..2 {
        let error = store.begin(call("c", "2")).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }
    assert!(store.counts().damaged > 0);
}
