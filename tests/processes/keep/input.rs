//! The input of kept processes: it stays open while no host is there, and the next host goes on with it.

use toolhost_workspace::process::{Input, Size};

use super::*;

async fn start(setup: &TestRegistry, text: &str, stdin: Stdin) -> String {
    let command = Command { stdin, ..sh(text) };
    let process = setup.registry.start(&chat("a"), command).await.unwrap();
    process.id().to_owned()
}

async fn typed(setup: &TestRegistry, id: &str, text: &str) {
    done(setup, id, Input::Bytes(text.into())).await;
}

async fn done(setup: &TestRegistry, id: &str, input: Input) {
    setup
        .registry
        .input(&chat("a"), id, input, None)
        .await
        .unwrap();
}

/// Waits until the output has a text.
async fn shown(process: &Process, pattern: &str) {
    let options = WaitOptions {
        until: Some(pattern.to_owned()),
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let waited = process.wait(&options).await.unwrap();
    assert_eq!(waited.wake, Wake::Matched, "{pattern}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_goes_on_through_replacements() {
    let mut setup = kept();
    let text = "while read -r line; do echo \"<$line>\"; done; echo over";
    let id = start(&setup, text, Stdin::Terminal(Size::default())).await;
    for round in 1..=3 {
        typed(&setup, &id, &format!("line {round}\r")).await;
        shown(&get(&setup, &id), &format!("<line {round}>")).await;
        setup = replaced(setup).await;
    }
    let process = get(&setup, &id);
    let size = Size {
        rows: 30,
        columns: 90,
    };
    done(&setup, &id, Input::Resize(size)).await;
    done(&setup, &id, Input::Close).await;
    finished(&process).await;
    let snapshot = process.snapshot().await;
    let output = String::from_utf8([snapshot.head, snapshot.tail].concat()).unwrap();
    let expected: String = (1..=3)
        .map(|n| format!("line {n}\r\n<line {n}>\r\n"))
        .collect();
    assert_eq!(
        output,
        format!("{expected}over\r\n"),
        "nothing is lost or doubled"
    );
    let screen = snapshot.screen.unwrap();
    assert_eq!(screen.size, size);
    assert!(screen.text.starts_with("line 1\n<line 1>"), "{screen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_is_read_while_no_host_is_there() {
    let setup = kept();
    let text = "read -r line; for i in $(seq 30000); do echo $i; done; touch done; sleep 600";
    let id = start(&setup, text, Stdin::Terminal(Size::default())).await;
    typed(&setup, &id, "go\r").await;
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    registry.shutdown().await;
    drop(registry);
    until("the output was read", || {
        workspace.path().join("done").exists().then_some(())
    })
    .await;
    let state = crate::harness::processes::kept(workspace.path()).unwrap();
    let setup = resumed(TestRegistry::open(workspace, keeping, &state));
    let process = get(&setup, &id);
    shown(&process, "30000\r\n").await;
    let expected: String = (1..=30_000).map(|n| format!("{n}\r\n")).collect();
    let chunk = process.read(0, 1 << 20).await;
    assert!(chunk.data == format!("go\r\n{expected}").as_bytes());
    setup.signal(&process, Signal::Kill);
    finished(&process).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_stays_open_and_is_closed_by_the_next_host() {
    let setup = kept();
    let id = start(&setup, "cat; echo over", Stdin::Pipe).await;
    typed(&setup, &id, "one\n").await;
    let setup = replaced(setup).await;
    typed(&setup, &id, "two\n").await;
    done(&setup, &id, Input::Close).await;
    let process = get(&setup, &id);
    finished(&process).await;
    assert_eq!(process.snapshot().await.head, b"one\ntwo\nover\n");
}
