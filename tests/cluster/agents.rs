//! Agents that connect to one of the hosts.

use std::time::Duration;

use super::members::{Member, read};
use super::*;
use crate::harness::connecting::Agent;
use crate::harness::proxy::Proxy;

fn at_build(command: &str) -> Value {
    json!({ "tool": "execute", "workspace": "build", "arguments": { "command": command } })
}

/// Waits until the database says to which host the agent is connected.
async fn until_at(database: &str, host: Option<&str>) {
    const AT: &str = "SELECT h.name FROM toolhost.agents a JOIN toolhost.hosts h ON h.id = a.host WHERE h.until > clock_timestamp()";
    let client = postgres::connect(database).await;
    let begun = std::time::Instant::now();
    loop {
        let row = client.query_opt(AT, &[]).await.unwrap();
        let at: Option<String> = row.map(|row| row.get(0));
        if at.as_deref() == host {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the agent is at {at:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_one_host_is_used_through_the_other() {
    let database = postgres::database();
    let one = Member::start(&database, "one").await;
    let other = Member::start(&database, "other").await;
    let mut agent = Agent::start(&one.serving.as_ref().unwrap().url);
    until_at(&database, Some("one")).await;
    // The first call binds the chat at the host that is asked, and runs at the other.
    let outcome = other.called("c", "1", at_build("echo x >> ran; pwd")).await;
    let root = agent.root.path().canonicalize().unwrap();
    assert_eq!(
        outcome["structured"]["output"],
        format!("{}\n", root.display())
    );
    for member in [&one, &other] {
        assert_eq!(
            member
                .called("c", "1", at_build("echo x >> ran; pwd"))
                .await,
            outcome
        );
        let (status, listed) = member.get("/v1/chats/c/processes").await;
        assert_eq!(
            (status, listed["processes"].as_array().unwrap().len()),
            (200, 1),
            "{listed}"
        );
    }
    // It connects to the other one.
    agent.end();
    until_at(&database, None).await;
    agent.again(&other.serving.as_ref().unwrap().url);
    until_at(&database, Some("other")).await;
    for (number, member) in [&one, &other].iter().enumerate() {
        let call = format!("moved-{number}");
        member.called("c", &call, here("echo x >> ran")).await;
    }
    let ran = std::fs::read_to_string(agent.root.path().join("ran"));
    assert_eq!(ran.unwrap(), "x\nx\nx\n");
}

/// A command that runs until its workspace has the file `go`.
const UNTIL_GO: &str = "echo x >> begun; until [ -e go ]; do sleep 0.02; done; echo out";

/// Two hosts, and the agent `build`, which a balancer has led to the first.
struct Balanced {
    database: String,
    one: Member,
    other: Member,
    agent: Agent,
    balancer: Proxy,
}

impl Balanced {
    async fn start() -> Self {
        let database = postgres::database();
        let one = Member::start(&database, "one").await;
        let other = Member::start(&database, "other").await;
        let balancer = Proxy::to(&one.serving.as_ref().unwrap().url).await;
        let agent = Agent::start(&balancer.url);
        until_at(&database, Some("one")).await;
        Self {
            database,
            one,
            other,
            agent,
            balancer,
        }
    }

    /// Leads later connections to the other host.
    fn lead_to_other(&self) {
        let url = &self.other.serving.as_ref().unwrap().url;
        self.balancer.retarget(url);
    }

    /// Lets [`UNTIL_GO`] end.
    fn go(&self) {
        std::fs::write(self.agent.root.path().join("go"), "").unwrap();
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_when_their_agent_connects_to_another_host() {
    let all = Balanced::start().await;
    let running = all.one.put("c", "1", at_build(UNTIL_GO));
    let long = at_build("echo $$ > pid; exec sleep 1000");
    let cancelled = all.one.put("c", "2", long);
    let moving = async {
        all.agent.wrote("begun").await;
        let pid = all.agent.wrote("pid").await;
        all.lead_to_other();
        all.balancer.cut();
        until_at(&all.database, Some("other")).await;
        let cancelling = all.one.request(Method::DELETE, "/v1/chats/c/calls/2");
        assert!(cancelling.send().await.unwrap().status().is_success());
        // Nobody without the token of the agent gets through to it, not even an administrator of its host.
        for name in ["build", "unknown", ""] {
            let direct = all.other.request(Method::GET, "/agents/api/v0/workspace");
            let direct = direct.header("toolhost-agent-name", name).send().await;
            assert_eq!(direct.unwrap().status().as_u16(), 401, "{name}");
        }
        all.go();
        pid
    };
    let (running, cancelled, pid) = tokio::join!(running, cancelled, moving);
    let (status, outcome) = read(running).await;
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["structured"]["output"], "out\n", "{outcome}");
    let (_, cancelled) = read(cancelled).await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    let directory = format!("/proc/{}", pid.trim());
    until("the command ends", || {
        (!std::fs::exists(&directory).unwrap()).then_some(())
    })
    .await;
    assert_eq!(all.agent.wrote("begun").await, "x\n");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_drains_sends_its_agents_to_another_one() {
    let mut all = Balanced::start().await;
    let connections = all.balancer.connections();
    let running = all.one.put("c", "1", at_build(UNTIL_GO));
    let draining = async {
        all.agent.wrote("begun").await;
        let pid = all.one.serving.as_ref().unwrap().child.id();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        // The host that drains refuses it, and it tries again.
        until("the agent tries again", || {
            (all.balancer.connections() >= connections + 2).then_some(())
        })
        .await;
        all.lead_to_other();
        until_at(&all.database, Some("other")).await;
        let beside = all.other.called("d", "1", at_build("echo beside")).await;
        assert_eq!(beside["structured"]["output"], "beside\n", "{beside}");
        all.go();
    };
    let (running, ()) = tokio::join!(running, draining);
    let (status, outcome) = read(running).await;
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(outcome["structured"]["output"], "out\n", "{outcome}");
    let mut ended = all.one.serving.take().unwrap();
    assert!(ended.child.wait().unwrap().success());
}

#[needs(postgres)]
#[tokio::test]
async fn other_hosts_name_the_one_to_which_an_agent_is_connected() {
    let mut cluster = Cluster::new().await;
    cluster.agents.timing.patience = Duration::from_millis(100);
    let other = cluster.node("other").await;
    // With a heartbeat every 4 s.
    let one = cluster.node_with(Config {
        name: "one".to_owned(),
        address: Some("https://one.example.com".to_owned()),
        lease: Duration::from_secs(20),
        ..postgres::config(&cluster.url)
    });
    let one = one.await;
    // Before it is connected to any, each host says that it is not.
    let put = json!({ "provider": "agent" });
    let made = one.server.request(Method::PUT, "/v1/workspaces/build");
    assert!(made.json(&put).send().await.unwrap().status().is_success());
    let (status, missing) = other.server.put("a", "0", at_build("true")).await;
    assert!(
        missing.to_string().contains("is not connected"),
        "{status} {missing}"
    );
    let mut agent = Agent::start(&one.server.url);
    until_at(&cluster.url, Some("one")).await;
    let call = other.server.request(Method::PUT, "/v1/chats/b/calls/1");
    let refused = call.json(&at_build("echo x >> ran")).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 421);
    assert_eq!(
        refused.headers()["toolhost-host"],
        "https://one.example.com"
    );
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "other_host");
    insta::assert_snapshot!(refused["detail"].as_str().unwrap(), @"the agent build is connected to the host one at https://one.example.com: send calls for its workspace there");
    let (status, ran) = one.server.put("b", "1", at_build("echo x >> ran")).await;
    assert_eq!(status, 200, "{ran}");
    // A host that loses its lease says again which agents it has.
    postgres::expire(&cluster.url, one.store.leases().host).await;
    until_at(&cluster.url, Some("one")).await;
    let (status, refused) = other.server.put("b", "2", here("true")).await;
    assert_eq!((status, &refused["code"]), (421, &json!("other_host")));
    // The host of an agent that is lost counts as none.
    agent.end();
    until_at(&cluster.url, None).await;
    let (status, gone) = other.server.put("b", "2", here("true")).await;
    assert!(
        gone.to_string().contains("is not connected"),
        "{status} {gone}"
    );
}
