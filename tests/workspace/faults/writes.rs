//! Writes and signals whose connection is cut.

use super::*;

use toolhost_workspace::files::{Precondition, Write};

#[tokio::test]
async fn a_write_is_done_once_and_says_so() {
    let far = Far::new().await;
    for fault in [
        Fault::Before,
        Fault::During,
        Fault::After,
        Fault::Inside(30),
    ] {
        far.proxy.inject("/write-files ", fault);
        let path = format!("{fault:?}");
        let write = Write {
            path: path.clone(),
            data: b"text".into(),
            // A second write would find the file.
            when: Precondition::Absent,
        };
        let writes = vec![write];
        let written = far.workspace.write_files(writes, Arc::default()).await;
        assert_eq!(written.unwrap()[0].size, 4, "{fault:?}");
        assert!(far.root.path().join(path).exists());
    }
}

#[tokio::test]
async fn a_signal_is_sent_once() {
    let far = Far::new().await;
    let text = "trap 'echo got >> signals' USR1; echo ready; while :; do sleep 0.02; done";
    let id = far.start(text).await;
    let output = WaitOptions {
        output: true,
        ..WaitOptions::default()
    };
    far.wait(&id, output).await.unwrap();
    let owner = chat("a");
    let faults = [
        Fault::Before,
        Fault::During,
        Fault::After,
        Fault::Inside(30),
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        far.proxy.inject("/signal ", fault);
        let sent = far.workspace.signal(Some(&owner), &id, Signal::User1, None);
        sent.await.unwrap();
        let path = far.root.path().join("signals");
        until("the signal is there", || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                text.lines().count() <= number + 1,
                "{fault:?}: it came twice"
            );
            (text.lines().count() == number + 1).then_some(())
        })
        .await;
    }
    far.workspace.end(Some(&owner), &id).await.unwrap();
}
