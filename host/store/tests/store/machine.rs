//! Processes, temporary files, sessions and notices.

use toolhost_store::{Durability, LocalStore, Notice, Process, ProcessQuery, ProcessState, Sqlite};

use crate::sqlite::open;
use crate::values::{process, session};

#[tokio::test]
async fn they_are_there_after_a_restart() {
    let base = tempfile::tempdir().unwrap();
    let store = open(&base.path().join("state"), Durability::Host).unwrap();
    store.add_process(process("p", "c")).await.unwrap();
    for (path, gone) in [
        ("/tmp/a", None),
        ("/tmp/b", Some("/tmp/a")),
        ("/tmp/c", None),
    ] {
        let gone = gone.into_iter().map(Into::into).collect();
        store.add_temporary(path.into(), gone).await.unwrap();
    }
    store
        .forget_temporaries(vec!["/tmp/c".into(), "/tmp/d".into()])
        .await
        .unwrap();
    store.put_session(session("s")).await.unwrap();
    store.put_session(session("t")).await.unwrap();
    store.remove_session("t".into()).await.unwrap();
    let notice = |id: &str, told: bool| Notice {
        id: id.into(),
        body: serde_json::json!({ "told": told }),
    };
    for (id, told) in [("n2", false), ("n1", false), ("n2", true), ("n3", false)] {
        store.put_notice(notice(id, told)).await.unwrap();
    }
    store
        .forget_notices(vec!["n3".into(), "n4".into()])
        .await
        .unwrap();
    drop(store);
    let store = open(&base.path().join("state"), Durability::Host).unwrap();
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(
        (processes.found, processes.damaged),
        (vec![process("p", "c")], 0)
    );
    assert_eq!(
        store.temporaries().await.unwrap(),
        [std::path::PathBuf::from("/tmp/b")]
    );
    assert_eq!(store.sessions().await.unwrap(), [session("s")]);
    let notices = store.notices().await.unwrap();
    assert_eq!(notices, [notice("n2", true), notice("n1", false)]);
}

#[tokio::test]
async fn processes_are_listed() {
    let store = Sqlite::in_memory().unwrap();
    for (id, chat) in [("1", "a-1"), ("2", "a-2"), ("3", "b-1")] {
        store.add_process(process(id, chat)).await.unwrap();
    }
    let changed = |id: &str, chat: &str, state| Process {
        state,
        end: Some(serde_json::json!({ "code": 0 })),
        ..process(id, chat)
    };
    let changes = [
        changed("2", "a-2", ProcessState::Ended),
        changed("3", "b-1", ProcessState::Lingering),
    ];
    store.update_processes(changes.to_vec()).await.unwrap();
    let list = async |query: ProcessQuery| {
        let processes = store
            .processes(ProcessQuery { limit: 9, ..query })
            .await
            .unwrap();
        assert_eq!(processes.damaged, 0);
        processes.found
    };
    let ids = async |query: ProcessQuery| -> Vec<String> {
        let processes = list(query).await;
        processes.into_iter().map(|process| process.id).collect()
    };
    assert_eq!(list(ProcessQuery::default()).await[1..], changes);
    let all = ProcessQuery::default;
    assert_eq!(ids(all()).await, ["1", "2", "3"]);
    assert_eq!(
        ids(ProcessQuery {
            prefix: "a-".into(),
            ..all()
        })
        .await,
        ["1", "2"]
    );
    assert_eq!(
        ids(ProcessQuery {
            chat: Some("b-1".parse().unwrap()),
            ..all()
        })
        .await,
        ["3"]
    );
    assert_eq!(
        ids(ProcessQuery {
            live: true,
            ..all()
        })
        .await,
        ["1", "3"]
    );
    assert_eq!(
        ids(ProcessQuery {
            key: Some("key 2".into()),
            ..all()
        })
        .await,
        ["2"]
    );
    assert_eq!(
        ids(ProcessQuery {
            after: Some("1".into()),
            ..all()
        })
        .await,
        ["2", "3"]
    );
    let gone = vec!["1".into(), "3".into(), "4".into()];
    store.forget_processes(gone).await.unwrap();
    // The end of a process can arrive after the process was forgotten.
    store.update_processes(changes.to_vec()).await.unwrap();
    assert_eq!(ids(all()).await, ["2"]);
    store.add_process(process("1", "a-1")).await.unwrap();
    assert_eq!(ids(all()).await, ["2", "1"]);
}
