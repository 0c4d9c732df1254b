//! Opening a state directory: what another host holds, and what is damaged, orphaned or not ours.

use toolhost_local::process::{OpenError, Registry};
use toolhost_state::state_dir::StateDirError;
use toolhost_workspace::process::Saved;

use super::{TestRegistry, chat, finished, gone, kept, saved_in, sh};

#[tokio::test]
async fn a_second_host_is_refused_while_the_first_lives() {
    let setup = TestRegistry::kept(|config| config);
    let second = Registry::open(kept(setup.workspace.path())).unwrap_err();
    let OpenError::StateDir(StateDirError::Locked { pid, .. }) = &second else {
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

/// What the missing part of a journal may have named is left to who finds that part, until the next start.
#[tokio::test]
async fn a_journal_that_lacks_something_costs_no_output() {
    let setup = TestRegistry::kept(|config| config);
    let process = setup.run("echo hi").await;
    gone(&process).await;
    setup.registry.shutdown().await;
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    drop(registry);
    let state = workspace.path().join("state");
    let path = state.join("processes.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let (header, _) = whole.split_once('\n').unwrap();
    for damaged in ["", "\0\0\0\0", &format!("{header}\n{{\"started\":")] {
        std::fs::write(&path, damaged).unwrap();
        let registry = Registry::open(kept(workspace.path())).unwrap();
        assert!(registry.get(&chat("a"), process.id()).is_err());
        assert_eq!(saved_in(&state), 3, "{damaged:?}");
        registry.shutdown().await;
    }
    let registry = Registry::open(kept(workspace.path())).unwrap();
    assert_eq!(saved_in(&state), 0);
    registry.shutdown().await;
}

#[tokio::test]
async fn a_damaged_journal_does_not_stop_the_start() {
    let setup = TestRegistry::kept(|config| config);
    let first = setup.run("echo first").await;
    let second = setup.run("echo second").await;
    gone(&first).await;
    gone(&second).await;
    setup.registry.shutdown().await;
    let path = setup.workspace.path().join("state/processes.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let (registry, workspace) = (setup.registry, setup.workspace);
    drop(registry);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 5, "a header, and two lines for each");
    let garbage = b"\0\xff{not json\n{}\n[]\n\n{\"started\":{\"id\":7}}\n".to_vec();
    let damaged = [
        // A machine that crashed: the end is torn, zero, or missing.
        (whole[..whole.len() - 20].to_vec(), [true, true]),
        ([&whole[..], &[0; 5000]].concat(), [true, true]),
        // Somebody edited it: lines between, without its head, or with one gone.
        (
            [
                lines[0], &garbage, lines[1], &garbage, lines[2], lines[3], lines[4],
            ]
            .concat(),
            [true, true],
        ),
        (
            [lines[1], lines[2], lines[3], lines[4]].concat(),
            [true, true],
        ),
        (
            [lines[0], lines[2], lines[3], lines[4]].concat(),
            [false, true],
        ),
        (garbage.clone(), [false, false]),
        (Vec::new(), [false, false]),
    ];
    for (index, (text, known)) in damaged.into_iter().enumerate() {
        std::fs::write(&path, text).unwrap();
        let registry = Registry::open(kept(workspace.path())).unwrap();
        for (process, known) in [&first, &second].into_iter().zip(known) {
            let found = registry.get(&chat("a"), process.id());
            assert_eq!(found.is_ok(), known, "{index}");
            if let Ok(found) = found {
                assert!(!found.state().is_live());
            }
        }
        let process = registry.start(&chat("a"), sh("echo on")).await.unwrap();
        finished(&process).await;
        gone(&process).await;
        registry.shutdown().await;
    }
    std::fs::write(&path, "{\"toolhost\":\"processes\",\"version\":2}\n").unwrap();
    let error = Registry::open(kept(workspace.path())).unwrap_err();
    let text = format!("{:#}", anyhow::Error::new(error));
    assert!(
        text.contains("version 2") && text.contains("remove the file"),
        "{text}"
    );
}
