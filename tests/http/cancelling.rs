//! A cancelled call is over when it says so: its command has ended, whatever it does about that, and the reply tells how.

use std::time::Duration;

use futures_util::future::join_all;
use toolhost_call::call::CallStatus;
use toolhost_local::process;

use super::events::stream::{Event, Stream};
use super::*;
use crate::harness::{until, until_dead};

/// Ignores SIGTERM, and writes its pid once it does.
const STUBBORN: &str =
    "trap '' TERM; echo begun; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.01; done";

/// A server on which what is told to end has next to no time for it.
async fn impatient() -> (Setup, Server) {
    let limits = process::Limits {
        grace: Duration::from_millis(1),
        ..process::Limits::default()
    };
    let setup = Setup::with(|builder| builder.process_limits(limits)).await;
    let server = Server::start(setup.host.clone()).await;
    (setup, server)
}

async fn delete(server: &Server, path: &str) -> (u16, Value) {
    let response = server.request(Method::DELETE, path).send().await.unwrap();
    let status = response.status().as_u16();
    let body = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// Calls `execute`, cancels the call when its command has written its pid, and returns the reply, after which nothing of the
/// command is left.
async fn cancelled(setup: &Setup, server: &Server, command: &str) -> Value {
    let call = server.put("a", "1", execute(command));
    let cancelling = async {
        let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
        let answer = delete(server, "/v1/chats/a/calls/1").await;
        assert!(!is_alive(pid), "{}", answer.1);
        answer
    };
    let (reply, answer) = tokio::join!(call, cancelling);
    assert_eq!(reply, answer);
    let (status, reply) = reply;
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    assert_eq!(setup.live().await, 0);
    let structured = &reply["structured"];
    assert_eq!(structured["cancelled"], true, "{reply}");
    assert_eq!(structured["running"], false, "{reply}");
    assert_eq!(structured["exit_code"], -1, "{reply}");
    assert_eq!(structured.get("background_process_id"), None, "{reply}");
    structured.clone()
}

/// How a call and its process went, one after the other.
fn order(events: &[Event]) -> Vec<&str> {
    let said = events.iter().map(|event| {
        let said = [&event.data["state"], &event.data["status"]];
        said.into_iter().find_map(Value::as_str)
    });
    let names = events.iter().map(|event| event.name.as_str());
    said.zip(names)
        .map(|(said, name)| said.unwrap_or(name))
        .collect()
}

async fn the_process_exits_before_the_call(events: &mut Stream) {
    let events = events
        .until(|event| event.is("call", "state", "cancelled"))
        .await;
    let expected = ["running", "process_started", "exited", "cancelled"];
    assert_eq!(order(&events), expected);
}

#[tokio::test]
async fn its_command_has_ended() {
    let (setup, server) = server().await;
    let mut events = Stream::open(&server, "a", "?output=false").await;
    let command = "echo begun; echo $$ > pid.new; mv pid.new pid; exec sleep 1000";
    let reply = cancelled(&setup, &server, command).await;
    assert_eq!(
        (&reply["signal"], &reply["cause"], &reply["output"]),
        (&json!("SIGTERM"), &json!("cancelled"), &json!("begun\n"))
    );
    let error = reply["error"].as_str().unwrap();
    let says = "the call was cancelled, and SIGTERM ended the command after ";
    assert!(error.starts_with(says), "{error}");
    the_process_exits_before_the_call(&mut events).await;
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_first() {
    let (setup, server) = impatient().await;
    let mut events = Stream::open(&server, "a", "?output=false").await;
    let reply = cancelled(&setup, &server, STUBBORN).await;
    assert_eq!(reply["signal"], "SIGKILL", "{reply}");
    the_process_exits_before_the_call(&mut events).await;
}

#[tokio::test]
async fn a_command_that_cleans_up_says_its_last_words() {
    let (setup, server) = server().await;
    let command = "trap 'echo bye; exit 3' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.01; done";
    let reply = cancelled(&setup, &server, command).await;
    // The shell may tell before that its child was terminated.
    let output = reply["output"].as_str().unwrap();
    assert!(output.ends_with("bye\n"), "{output}");
    let error = reply["error"].as_str().unwrap();
    let says = "the call was cancelled, and the command ended with exit code 3 after ";
    assert!(error.starts_with(says), "{error}");
}

#[tokio::test]
async fn what_the_command_left_running_ends_too() {
    let (setup, server) = impatient().await;
    let command = "(trap '' TERM; echo $$ > other; while :; do sleep 0.01; done) & \
        until [ -s other ]; do sleep 0.01; done; echo $$ > pid.new; mv pid.new pid; exec sleep 1000";
    cancelled(&setup, &server, command).await;
    assert_eq!(setup.live().await, 0);
}

/// Each is cancelled at another moment around its start and its end. What it answers is true when it does.
#[tokio::test(flavor = "multi_thread")]
async fn at_any_moment() {
    const CHAINS: u64 = 8;
    const TURNS: u64 = 25;
    let (setup, server) = server().await;
    let (setup, server) = (&setup, &server);
    let chains = (0..CHAINS).map(|chain| async move {
        for turn in 0..TURNS {
            let number = chain * 1000 + turn;
            let id = format!("call_{number}");
            let call = server.put("a", &id, execute("sleep 0.02; echo done"));
            let cancelling = async {
                // The moment is what is random here; nothing waits for it.
                let moment = Duration::from_micros(number * 7919 % 60_000);
                tokio::time::sleep(moment).await;
                let (status, _) = delete(server, &format!("/v1/chats/a/calls/{id}")).await;
                if status == 200 {
                    assert_ended(setup, &id).await;
                }
            };
            let ((status, reply), ()) = tokio::join!(call, cancelling);
            if status == 409 {
                continue;
            }
            let structured = &reply["structured"];
            assert_ne!(structured["running"], true, "{reply}");
            assert_eq!(structured.get("background_process_id"), None, "{reply}");
            match reply["state"].as_str() {
                Some("finished") => assert_eq!(structured["output"], "done\n", "{reply}"),
                Some("cancelled") if reply["error"].is_null() => {
                    assert_eq!(structured["cancelled"], true, "{reply}");
                }
                // The machine is so busy that the guest did not get to reply in time.
                Some("cancelled") => {}
                _ => panic!("{reply}"),
            }
        }
    });
    join_all(chains).await;
}

/// Asserts that nothing runs of a call that has ended.
async fn assert_ended(setup: &Setup, call: &str) {
    let standing = setup
        .host
        .status(&"a".parse().unwrap(), &call.parse().unwrap())
        .await;
    let Ok(Some(CallStatus::Ended(outcome))) = standing else {
        panic!("{standing:?}");
    };
    for id in &outcome.processes {
        let state = setup
            .host
            .local()
            .unwrap()
            .processes()
            .find(id)
            .unwrap()
            .state();
        assert!(!state.is_live(), "{state:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_chat_waits_for_its_calls() {
    let (setup, server) = impatient().await;
    let events = Stream::open(&server, "a", "?output=false").await;
    let call = server.put("a", "1", execute(STUBBORN));
    let ending = async {
        let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
        let answer = delete(&server, "/v1/chats/a").await;
        assert!(!is_alive(pid), "{}", answer.1);
        answer
    };
    let ((status, reply), (_, ended)) = tokio::join!(call, ending);
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    assert_eq!(reply["structured"]["signal"], "SIGKILL", "{reply}");
    assert_eq!(reply["structured"]["output"], "begun\n", "{reply}");
    assert_eq!(ended["ended"][0]["id"], reply["processes"][0], "{ended}");
    assert_eq!(ended["ended"].as_array().unwrap().len(), 1);
    let expected = [
        "running",
        "process_started",
        "exited",
        "cancelled",
        "chat_ended",
    ];
    assert_eq!(order(&events.rest().await), expected);
}

#[tokio::test]
async fn the_end_of_the_host_waits_for_its_calls() {
    let (setup, server) = impatient().await;
    let call = server.put("a", "1", execute(STUBBORN));
    let ending = async {
        let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
        // What runs in the foreground ends with its call. Nothing else is left to end.
        assert_eq!(setup.host.shutdown().await.len(), 0);
        assert!(!is_alive(pid));
    };
    let ((status, reply), ()) = tokio::join!(call, ending);
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    assert_eq!(reply["structured"]["signal"], "SIGKILL", "{reply}");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_call_without_an_id() {
    let (setup, server) = impatient().await;
    let mut events = Stream::open(&server, "a", "?output=false").await;
    let body = execute(STUBBORN).to_string();
    let address = server.url.trim_start_matches("http://");
    let mut lost = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/chats/a/calls HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let request = format!("{head}{body}");
    lost.write_all(request.as_bytes()).await.unwrap();
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    drop(lost);
    let events = events
        .until(|event| event.is("call", "state", "cancelled"))
        .await;
    assert!(!is_alive(pid));
    let expected = ["running", "process_started", "exited", "cancelled"];
    assert_eq!(order(&events), expected);
}

/// Another call, that waits for what an earlier one left, is cancelled alone.
#[tokio::test]
async fn a_call_that_only_waits_ends_nothing() {
    let (setup, server) = server().await;
    let body = json!({ "tool": "execute", "arguments": {
        "command": "echo $$ > back.new; mv back.new back; exec sleep 1000", "run_in_background": true
    }});
    let (_, started) = server.put("a", "1", body).await;
    let id = started["structured"]["background_process_id"].as_str();
    let pid: u32 = setup.file("back").await.trim().parse().unwrap();
    let mut events = Stream::open(&server, "a", "?output=false").await;
    let body = json!({ "tool": "process_output", "arguments": { "process_id": id, "wait_timeout": "1h" } });
    let call = server.put("a", "2", body);
    let cancelling = async {
        events
            .until(|event| event.is("call", "state", "running"))
            .await;
        delete(&server, "/v1/chats/a/calls/2").await
    };
    let (reply, answer) = tokio::join!(call, cancelling);
    assert_eq!(reply, answer);
    let (_, reply) = reply;
    assert_eq!(reply["state"], "cancelled", "{reply}");
    assert_eq!(reply["structured"]["running"], true, "{reply}");
    assert!(is_alive(pid));
    let actor = toolhost_call::call::Actor::default();
    setup
        .host
        .end_chat(&"a".parse().unwrap(), &actor)
        .await
        .unwrap();
    until_dead(pid).await;
    until("nothing runs", || {
        (setup.host.local().unwrap().processes().live() == 0).then_some(())
    })
    .await;
}
