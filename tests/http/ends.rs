//! Calls and chats that end badly: their outcomes, and the processes that are left.

use toolhost_call::call::Limits;

use super::*;
use crate::guest::limited;
use crate::harness::{until, until_dead};

async fn with_guest(name: &str, limits: toolhost_plugin::Limits) -> (Setup, Server) {
    let component = guest(name);
    let change = |builder: toolhost_core::Builder| builder.plugin(component, limited(name, limits));
    let setup = Setup::with(change).await;
    let server = Server::start(setup.host.clone()).await;
    (setup, server)
}

/// Calls the tool of the guest, which is its only one.
fn call_of(setup: &Setup, plugin: &str) -> Value {
    let tools = setup.host.tools();
    let tool = tools.iter().find(|tool| tool.plugin == plugin).unwrap();
    json!({ "tool": tool.name, "arguments": {} })
}

async fn send(server: &Server, method: Method) -> (u16, Value) {
    let request = server.request(method, "/v1/chats/a/calls/1");
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_reply_that_is_no_longer_kept_is_gone_and_its_call_does_not_run_again() {
    let setup = Setup::with(|builder| {
        builder.ledger_limits(Limits {
            keep: std::time::Duration::ZERO,
            keep_per_chat: 0,
            bytes: 4000,
            ..Limits::default()
        })
    })
    .await;
    let server = Server::start(setup.host.clone()).await;
    // More than there is room for.
    let body = execute("echo x >> counter; head -c 8000 /dev/zero | tr '\\0' x");
    let (status, reply) = server.put("a", "1", body.clone()).await;
    assert_eq!((status, &reply["state"]), (200, &json!("finished")));
    let (status, problem) = server.put("a", "1", body.clone()).await;
    assert_eq!(
        (status, &problem["code"]),
        (410, &json!("gone")),
        "{problem}"
    );
    let other = server.put("a", "1", execute("echo other")).await;
    assert_eq!((other.0, &other.1["code"]), (409, &json!("input_mismatch")));
    for method in [Method::GET, Method::DELETE] {
        let (status, problem) = send(&server, method).await;
        assert_eq!(
            (status, &problem["code"]),
            (410, &json!("gone")),
            "{problem}"
        );
    }
    let (status, problem) = server.put("a", "1", body).await;
    assert_eq!((status, &problem["code"]), (409, &json!("cancelled")));
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn a_trap_ends_what_it_started_and_names_it() {
    let (setup, server) = with_guest("orphan_maker", Default::default()).await;
    let body = call_of(&setup, "orphan_maker");
    let (status, reply) = server.put("a", "1", body.clone()).await;
    assert_eq!((status, &reply["state"]), (200, &json!("failed")));
    let process = reply["processes"][0].as_str().unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    let says = format!("process {process}, that it started, was ended by SIGTERM");
    assert!(
        message.contains(&says) && message.contains("to cursor 0"),
        "{message}"
    );
    assert_eq!(setup.host.local().unwrap().processes().live(), 0);
    assert_eq!(server.put("a", "1", body).await, (200, reply));
}

#[tokio::test]
async fn a_guest_that_does_not_hear_is_dropped_and_the_host_says_what_it_started() {
    // The guest computes until the grace is over.
    let limits = toolhost_plugin::Limits {
        cancel_grace: std::time::Duration::from_millis(100),
        ..Default::default()
    };
    let (setup, server) = with_guest("wait_loop", limits).await;
    let call = server.put("a", "1", call_of(&setup, "wait_loop"));
    let cancelling = async {
        let chat: toolhost_core::ChatId = "a".parse().unwrap();
        let started = until("it started a process", || {
            let (infos, _) = setup
                .host
                .local()
                .unwrap()
                .processes()
                .list(Some(&chat), true, 10);
            infos.into_iter().next()
        });
        let started = started.await;
        (started.id, send(&server, Method::DELETE).await)
    };
    let ((status, reply), (process, cancelled)) = tokio::join!(call, cancelling);
    assert_eq!((status, &reply["state"]), (200, &json!("cancelled")));
    assert_eq!(cancelled, (200, reply.clone()));
    let message = reply["error"]["message"].as_str().unwrap();
    let says = format!("process {process}, that it started, was ended by SIGTERM");
    assert!(
        message.contains(&says) && message.contains("to cursor 0"),
        "{message}"
    );
    assert_eq!(reply["processes"], json!([process]));
    assert_eq!(setup.host.local().unwrap().processes().live(), 0);
}

#[tokio::test]
async fn a_call_that_runs_out_of_time_is_over_when_its_process_is() {
    let limits = toolhost_plugin::Limits {
        deadline: std::time::Duration::from_millis(100),
        ..Default::default()
    };
    let (setup, server) = with_guest("endless_wait", limits).await;
    let (status, reply) = server.put("a", "1", call_of(&setup, "endless_wait")).await;
    assert_eq!((status, &reply["state"]), (200, &json!("failed")));
    assert_eq!(setup.host.local().unwrap().processes().live(), 0);
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_a_failure() {
    let (setup, server) = with_guest("giant_reply", Default::default()).await;
    let body = call_of(&setup, "giant_reply");
    let (status, reply) = server.put("a", "1", body.clone()).await;
    assert_eq!((status, &reply["state"]), (200, &json!("failed")));
    assert_eq!(reply["error"]["kind"], "limit", "{reply}");
    assert_eq!(server.put("a", "1", body).await, (200, reply));
}

#[tokio::test]
async fn the_end_of_a_chat_goes_on_without_the_client_that_asked_for_it() {
    let (setup, server) = server().await;
    let events = super::events::stream::Stream::open(&server, "a", "?output=false").await;
    // It says when it is told to end, and does not.
    let command = "trap 'echo > told; read go < go' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1000 & wait; done";
    nix::unistd::mkfifo(&setup.root().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let call = server.put("a", "1", execute(command));
    let ending = async {
        let pid = setup.file("pid").await.trim().parse().unwrap();
        let request = server.request(Method::DELETE, "/v1/chats/a").send();
        let began = async {
            _ = setup.file("told").await;
        };
        tokio::select! {
            _ = request => {}
            () = began => {}
        }
        pid
    };
    let ((status, _), pid) = tokio::join!(call, ending);
    assert_eq!(status, 200);
    let rest = events.rest().await;
    assert_eq!(rest.last().unwrap().name, "chat_ended");
    until_dead(pid).await;
}
