//! Servers that stop while commands run for other hosts, or at agents.

use toolhost_link::AgentsConfig;

use super::agents::host_with;
use super::*;
use crate::harness::connecting::Agent;
use crate::harness::serving;
use toolhost_workspace::operation::VERSION;

/// The answer to a start can wait for the end of the command. A server that stops does not, since it ends the command only afterwards.
#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_the_commands_of_other_hosts() {
    let base = tempfile::tempdir().unwrap();
    let server = host_with(base.path(), AgentsConfig::default()).await;
    let start = json!({
        "operation": { "owner": "b", "command": { "command": "echo 1 > runs; exec sleep 1000" } },
        "for_end": { "secs": 900, "nanos": 0 },
    });
    let request = server.request(Method::POST, "/api/v0/workspace/start");
    let request = request.header("toolhost-operations", VERSION);
    let request = request.header("coder-tool-call-id", "call_1").json(&start);
    let asked = tokio::spawn(request.send());
    crate::harness::file(&base.path().join("runs")).await;
    assert_eq!(server.stop().await.len(), 1);
    assert_eq!(asked.await.unwrap().unwrap().status().as_u16(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_ends_what_runs_at_agents_that_connect() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = serving::server(directory.path());
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    let mut server = serving::Serving::of(command);
    let agent = Agent::start(&server.url);
    let made = server.request(Method::PUT, "/v1/workspaces/build");
    let made = made.json(&json!({ "provider": "agent" })).send().await;
    assert_eq!(made.unwrap().status().as_u16(), 200);
    let call = server.request(Method::PUT, "/v1/chats/c/calls/1");
    let long = within("build", "echo $$ > pid; exec sleep 1000");
    let call = call.json(&long).send();
    let id = nix::unistd::Pid::from_raw(i32::try_from(server.child.id()).unwrap());
    let stopping = async {
        let pid = agent.wrote("pid").await;
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
        pid
    };
    let (answer, pid) = tokio::join!(call, stopping);
    let answer: Value = answer.unwrap().json().await.unwrap();
    assert_eq!(answer["state"], "cancelled", "{answer}");
    assert_eq!(answer["structured"]["signal"], "SIGTERM", "{answer}");
    assert!(!std::fs::exists(format!("/proc/{}", pid.trim())).unwrap());
    assert!(server.child.wait().unwrap().success());
}
