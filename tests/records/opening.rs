//! Opening a state directory: what another host holds, and what is damaged, orphaned or not ours.

use toolhost_state::state_dir::{Entry, StateDir, StateDirError};
use toolhost_store::{Durability, HostStateError, Sqlite};
use toolhost_workspace::process::Saved;

use super::{TestRegistry, chat, finished, gone, kept, open_kept, read_all, saved_in, sh};

#[tokio::test]
async fn a_second_host_is_refused_while_the_first_lives() {
    let setup = TestRegistry::kept(|config| config);
    let second = kept(setup.workspace.path()).unwrap_err();
    let HostStateError::Directory(StateDirError::Locked { pid, .. }) = &second else {
        panic!("{second}")
    };
    assert_eq!(*pid, Some(std::process::id()));
    let text = second.to_string();
    assert!(text.starts_with("another toolhost (pid "), "{text}");
    assert!(
        text.contains("--state-dir") && text.contains("state: end it"),
        "{text}"
    );
    let process = setup.run("echo hi").await;
    assert_eq!(
        process.snapshot().await.head,
        b"hi\n",
        "the first is as it was"
    );
    setup.reopened(|config| config).await;
}

#[tokio::test]
async fn what_nothing_names_is_removed_at_the_start() {
    let setup = TestRegistry::kept(|config| config);
    let process = setup.run("seq 1 100000").await;
    gone(&process).await;
    let orphan = setup
        .output_directory()
        .join("0123456789abcdef0123456789abcdef");
    std::fs::create_dir(&orphan).unwrap();
    std::fs::write(orphan.join("fedcba9876543210fedcba9876543210"), "x").unwrap();
    let foreign = setup.output_directory().join("not-ours");
    std::fs::create_dir(&foreign).unwrap();
    let id = process.id().to_owned();
    let setup = setup.reopened(|config| config).await;
    assert!(!orphan.exists() && foreign.exists());
    let process = setup.registry.get(&chat("a"), &id).unwrap();
    assert_eq!(process.snapshot().await.saved, Saved::Complete);
}

/// The damaged record may have named an output. The output stays until the store has been recovered.
#[tokio::test]
async fn a_damaged_record_hides_no_other_and_costs_no_output() {
    let setup = TestRegistry::kept(|config| config);
    let other = chat("b");
    let first = setup.registry.start(&other, sh("echo first"));
    let (first, second) = (first.await.unwrap(), setup.run("echo second").await);
    for process in [&first, &second] {
        gone(process).await;
    }
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    registry.shutdown().await;
    drop(registry);
    let state = workspace.path().join("state");
    let database = rusqlite::Connection::open(state.join("store.db")).unwrap();
    let damage = "UPDATE processes SET body = replace(body, 'first', 'forst') WHERE id = ?1";
    assert_eq!(database.execute(damage, [first.id()]).unwrap(), 1);
    drop(database);
    for round in 0..2 {
        let registry = open_kept(workspace.path()).await.unwrap();
        registry.get(&chat("b"), first.id()).unwrap_err();
        let found = registry.get(&chat("a"), second.id()).unwrap();
        assert_eq!(read_all(&found).await, b"second\n");
        let process = registry.start(&chat("a"), sh("echo on")).await.unwrap();
        finished(&process).await;
        gone(&process).await;
        registry.shutdown().await;
        assert_eq!(saved_in(&state), 13 + 3 * (round + 1));
    }
    let directory = StateDir::open(&state).unwrap();
    let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
    assert!(!recovered.is_complete);
    let registry = open_kept(workspace.path()).await.unwrap();
    let found = registry.get(&chat("a"), second.id()).unwrap();
    assert_eq!(read_all(&found).await, b"second\n");
    registry.shutdown().await;
    drop((registry, found));
    // The output of the process that was lost stays, until the damaged store is removed.
    assert_eq!(saved_in(&state), 19);
    for Entry { name, .. } in directory.entries().unwrap() {
        if name.starts_with("store.damaged-") {
            directory.remove(&name).unwrap();
        }
    }
    let registry = open_kept(workspace.path()).await.unwrap();
    registry.shutdown().await;
    assert_eq!(saved_in(&state), 13);
}
