//! Processes.

use super::*;

use toolhost_workspace::process::{AllQuery, Cause, Saved};

#[tokio::test]
async fn output_and_exit_code() {
    let place = Place::new().await;
    let id = place.start("echo out; echo err >&2; exit 7").await;
    let (state, output) = place.ended(&id).await;
    assert_eq!((code(&state), output.as_str()), (Some(7), "out\nerr\n"));
}

#[tokio::test]
async fn directory_variables_and_standard_input_reach_the_command() {
    let place = Place::new().await;
    std::fs::create_dir(place.root.path().join("sub")).unwrap();
    let given = Command {
        workdir: Some("sub".into()),
        env: vec![("GIVEN".into(), "a \"b\"\n".into())],
        stdin: Stdin::Bytes(vec![0, 0xff, b'\n']),
        ..command("basename $(pwd); printf %s \"$GIVEN\"; od -An -tx1")
    };
    let (id, _) = place.start_for("a", given).await.unwrap();
    let (_, output) = place.ended(&id).await;
    assert_eq!(output, "sub\na \"b\"\n 00 ff 0a\n");
    let missing = Command {
        workdir: Some("none".into()),
        ..command("true")
    };
    let refused = place.start_for("a", missing).await.unwrap_err();
    assert!(matches!(refused, Error::Workdir { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_key_starts_one_process() {
    let place = Place::new().await;
    let keyed = |text| Command {
        key: Some("call 0".into()),
        ..command(text)
    };
    let (first, is_new) = place
        .start_for("a", keyed("echo once >> runs"))
        .await
        .unwrap();
    assert!(is_new);
    let again = place.start_for("a", keyed("echo once >> runs")).await;
    assert_eq!(again.unwrap(), (first.clone(), false));
    let other = place.start_for("a", keyed("true")).await.unwrap_err();
    assert_eq!(other, Error::KeyReused("call 0".into()));
    let (of_other, is_new) = place.start_for("b", keyed("true")).await.unwrap();
    assert!(is_new && of_other != first, "keys are of one chat");
    place.ended(&first).await;
    assert_eq!(file(&place.root.path().join("runs")).await, "once\n");
}

#[tokio::test]
async fn a_long_output_is_whole_and_its_ends_are_at_hand() {
    let place = Place::new().await;
    let id = place.start("seq 1 60000").await;
    place.ended(&id).await;
    let snapshot = place.workspace.snapshot(Some(&chat("a")), &id).await;
    let snapshot = snapshot.unwrap();
    let expected: String = (1..=60_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(snapshot.total, expected.len() as u64);
    assert_eq!(snapshot.saved, Saved::Complete);
    let expected = expected.as_bytes();
    assert!(expected.starts_with(&snapshot.head) && expected.ends_with(&snapshot.tail));
    assert_eq!(place.read_all(&id, 10_000).await, expected);
}

#[tokio::test]
async fn waits_end_for_output_for_a_match_and_for_the_time() {
    let place = Place::new().await;
    nix::unistd::mkfifo(&place.root.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let id = place
        .start("echo ready; read line < go; echo $line; sleep 1000")
        .await;
    let output = WaitOptions {
        output: true,
        ..WaitOptions::default()
    };
    let waited = place.wait(&id, output).await.unwrap();
    assert_eq!((waited.wake, waited.total), (Wake::Output, 6));
    let now = WaitOptions::default();
    let owner = chat("a");
    let waited = place.workspace.wait(Some(&owner), &id, now).await.unwrap();
    assert_eq!(waited.wake, Wake::TimedOut);
    let until = WaitOptions {
        until: Some("g[o]+ne".into()),
        since: 6,
        ..WaitOptions::default()
    };
    let waiting = place.wait(&id, until);
    let writing = async {
        tokio::fs::write(place.root.path().join("go"), "gone\n")
            .await
            .unwrap();
    };
    let (waited, ()) = tokio::join!(waiting, writing);
    let waited = waited.unwrap();
    assert_eq!((waited.wake, waited.match_end), (Wake::Matched, Some(10)));
    let wrong = WaitOptions {
        until: Some("(".into()),
        ..WaitOptions::default()
    };
    let refused = place.wait(&id, wrong).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
    place.workspace.end(Some(&owner), &id).await.unwrap();
}

#[tokio::test]
async fn signals_reach_everything_and_are_told() {
    let place = Place::new().await;
    let id = place
        .start("sleep 1000 & echo $! > child; echo $$ > pid; wait")
        .await;
    let (child, pid) = (place.pid("child").await, place.pid("pid").await);
    let owner = chat("a");
    let sent = place
        .workspace
        .signal(Some(&owner), &id, Signal::Kill, None);
    sent.await.unwrap();
    let (state, _) = place.ended(&id).await;
    let status = state.exit_status().unwrap();
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGKILL"), Cause::Signalled)
    );
    until_dead(child).await;
    until_dead(pid).await;
}

#[tokio::test]
async fn an_end_kills_what_ignores_it_after_its_grace() {
    let place = Place::new().await;
    let id = place
        .start("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done")
        .await;
    let pid = place.pid("pid").await;
    let owner = chat("a");
    let grace = Some(Duration::from_millis(20));
    let sent = place
        .workspace
        .signal(Some(&owner), &id, Signal::Terminate, grace);
    sent.await.unwrap();
    let state = place.workspace.end(Some(&owner), &id).await.unwrap();
    assert!(!state.is_live(), "{state:?}");
    until_dead(pid).await;
}

#[tokio::test]
async fn a_cancellation_ends_the_processes_of_its_key() {
    let place = Place::new().await;
    let keyed = Command {
        key: Some("call 0".into()),
        ..command("sleep 1000")
    };
    let (id, _) = place.start_for("a", keyed).await.unwrap();
    let other = place.start("sleep 1000").await;
    let owner = chat("a");
    assert_eq!(place.workspace.cancel(Some(&owner), "call 0").await, Ok(1));
    let state = place.info(&id).await.unwrap().state;
    assert_eq!(state.exit_status().unwrap().cause, Cause::Cancelled);
    assert!(place.info(&other).await.unwrap().state.is_live());
    place.workspace.end(Some(&owner), &other).await.unwrap();
}

#[tokio::test]
async fn chats_do_not_see_each_other() {
    let place = Place::new().await;
    let id = place.start("sleep 1000").await;
    let (a, b) = (chat("a"), chat("b"));
    let workspace = &place.workspace;
    let not_found = Error::NotFound(id.clone());
    assert_eq!(workspace.info(Some(&b), &id).await, Err(not_found.clone()));
    assert_eq!(workspace.open(&b, None, &id).await, Err(not_found.clone()));
    assert_eq!(workspace.open(&b, Some("a"), &id).await, Ok(a.clone()));
    assert_eq!(workspace.find(&id).await, Ok(Some(a.clone())));
    assert_eq!(
        workspace.list(Some(&b), false, 10).await,
        Ok((Vec::new(), 0))
    );
    let signal = workspace.signal(Some(&b), &id, Signal::Kill, None).await;
    assert_eq!(signal, Err(not_found));
    assert_eq!(workspace.end_chat(&b).await, Ok(Vec::new()));
    let ended = workspace.end_chat(&a).await.unwrap();
    assert_eq!(ended.iter().map(|info| &info.id).collect::<Vec<_>>(), [&id]);
}

#[tokio::test]
async fn lists_are_in_pages() {
    let place = Place::new().await;
    let running = place.start("sleep 1000").await;
    let mut ended = Vec::new();
    for _ in 0..3 {
        let id = place.start("true").await;
        place.ended(&id).await;
        ended.insert(0, id);
    }
    let owner = chat("a");
    let (listed, total) = place.workspace.list(Some(&owner), false, 2).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|info| &info.id).collect();
    assert_eq!((ids, total), (vec![&running, &ended[0]], 4));
    let mut query = AllQuery {
        max: 3,
        ..AllQuery::default()
    };
    let first = place.workspace.list_all(query.clone()).await.unwrap();
    assert_eq!((first.processes.len(), first.total), (3, 4));
    let last = &first.processes.last().unwrap().info;
    query.after = Some(toolhost_workspace::process::ListPlace::of(last));
    let second = place.workspace.list_all(query).await.unwrap().processes;
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].info.id, ended[2]);
    place.workspace.end(Some(&owner), &running).await.unwrap();
}

#[tokio::test]
async fn many_wait_at_once() {
    let place = Place::new().await;
    let place = &place;
    let ended = futures_util::future::join_all((0..20).map(async |number| {
        let id = place
            .start(&format!("sleep 0.0{}; echo {number}", number % 10))
            .await;
        place.ended(&id).await.1
    }));
    let expected: Vec<_> = (0..20).map(|number| format!("{number}\n")).collect();
    assert_eq!(ended.await, expected);
}
