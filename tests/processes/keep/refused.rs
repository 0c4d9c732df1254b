//! Commands that are not kept or taken over: without a place or supervisors, by another version, without the secret, without a record.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use toolhost_local::process::{OpenError, Registry};

use super::*;
use crate::harness::processes::{config, temporary};

#[tokio::test]
async fn a_host_without_a_place_or_supervisors_says_so() {
    let workspace = tempfile::tempdir().unwrap();
    let refused = Registry::open(keeping(config(workspace.path())), &temporary()).await;
    let Err(OpenError::Keep(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains("--state-dir"), "{why}");
    let state = crate::harness::processes::kept(workspace.path()).unwrap();
    let none = Config {
        spawner: None,
        ..keeping(config(workspace.path()))
    };
    let refused = Registry::open(none, &state).await;
    let Err(OpenError::Keep(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains("supervisors"), "{why}");
}

/// Connects to the supervisor of a kept process.
fn connect(setup: &TestRegistry, id: &str) -> UnixStream {
    let kept = setup.workspace.path().join("state/kept");
    UnixStream::connect(kept.join(format!("{id}.socket"))).unwrap()
}

/// The greeting of a host with this version and secret.
fn greeting(version: u8, key: &[u8]) -> Vec<u8> {
    [b"kept", &[version, 0, 0, 0][..], key].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_ends_the_command() {
    let setup = kept();
    let id = setup
        .start("echo $$ > pid; exec sleep 1000")
        .await
        .id()
        .to_owned();
    let pid = setup.pid("pid").await;
    setup.registry.shutdown().await;
    let key = std::fs::read(setup.workspace.path().join("state/kept/key")).unwrap();
    let mut socket = connect(&setup, &id);
    socket.write_all(&greeting(255, &key)).unwrap();
    let mut answer = Vec::new();
    // It ends when nothing of the command is left.
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!((answer.len(), answer.first_chunk()), (8, Some(b"kept")));
    assert!(!is_alive(pid));
    let setup = replaced(setup).await;
    let State::Exited(status) = get(&setup, &id).state() else {
        panic!("{:?}", get(&setup, &id).state())
    };
    assert_eq!(status.signal.as_deref(), Some("SIGTERM"));
}

/// As if a supervisor of another version listened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_of_another_version_is_told_to_end_and_its_process_is_lost() {
    let setup = kept();
    let id = setup
        .start("echo hello; echo $$ > pid; exec sleep 1000")
        .await
        .id()
        .to_owned();
    let pid = setup.pid("pid").await;
    written(&get(&setup, &id), 6).await;
    setup.registry.shutdown().await;
    let kept = setup.workspace.path().join("state/kept");
    std::fs::rename(kept.join(format!("{id}.socket")), kept.join("real")).unwrap();
    let other = std::os::unix::net::UnixListener::bind(kept.join(format!("{id}.socket"))).unwrap();
    let other = std::thread::spawn(move || {
        let (mut socket, _) = other.accept().unwrap();
        let mut greeting = [0; 40];
        socket.read_exact(&mut greeting).unwrap();
        socket.write_all(b"kept\xff\0\0\0").unwrap();
        greeting
    });
    let setup = replaced(setup).await;
    let greeting = other.join().unwrap();
    let State::Lost(why) = get(&setup, &id).state() else {
        panic!("{:?}", get(&setup, &id).state())
    };
    assert!(why.contains("another version"), "{why}");
    assert_eq!(get(&setup, &id).read(0, 10).await.data, b"hello\n");
    // The real one was not involved. End it as well.
    let mut socket = UnixStream::connect(kept.join("real")).unwrap();
    let key = &greeting[8..];
    socket
        .write_all(&super::refused::greeting(255, key))
        .unwrap();
    until_dead(pid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_secret_no_program_gets_a_command() {
    let setup = kept();
    let id = setup.start(TICKER).await.id().to_owned();
    // Also while the host is there.
    let early = connect(&setup, &id);
    written(&get(&setup, &id), 4).await;
    setup.registry.shutdown().await;
    let mut late: Vec<_> = (0..50).map(|_| connect(&setup, &id)).collect();
    for (index, socket) in late.iter_mut().enumerate() {
        // Some say nothing, and keep the place of another program.
        if index % 2 == 0 {
            let version = u8::try_from(index).unwrap();
            _ = socket.write_all(&greeting(version, &[7; 32]));
            let mut answer = Vec::new();
            _ = socket.read_to_end(&mut answer);
            assert_eq!(answer, b"");
        }
    }
    let setup = replaced(setup).await;
    let mut read = Vec::new();
    read_until(&get(&setup, &id), &mut read, 5).await;
    drop((early, late));
    setup.signal(&get(&setup, &id), Signal::Kill);
    gone(&get(&setup, &id)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_record_names_is_ended() {
    let setup = kept();
    let id = setup
        .start("echo $$ > pid; exec sleep 1000")
        .await
        .id()
        .to_owned();
    let pid = setup.pid("pid").await;
    setup.registry.shutdown().await;
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    drop(registry);
    for entry in std::fs::read_dir(workspace.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("store.")
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    let state = crate::harness::processes::kept(workspace.path()).unwrap();
    let setup = TestRegistry::open(workspace, keeping, &state);
    until_dead(pid).await;
    assert!(setup.registry.get(&chat("a"), &id).is_err());
}
