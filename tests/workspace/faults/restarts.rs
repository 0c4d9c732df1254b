//! Agents that are killed and started again.

use super::*;

use nix::sys::signal::Signal as Raw;

use crate::harness::{TOKEN, serving};

/// An agent that is a program of its own, behind a proxy.
struct Agent {
    program: Serving,
    proxy: Proxy,
    workspace: Arc<dyn Workspace>,
    root: tempfile::TempDir,
}

fn program(root: &Path, has_state: bool) -> Serving {
    let mut command = match has_state {
        true => serving::server(root),
        false => {
            let mut command = serving::client();
            command.arg("--workspace").arg(root);
            command
        }
    };
    command.env("TOOLHOST_TOKEN", TOKEN).arg("agent");
    Serving::of(command)
}

impl Agent {
    async fn new(has_state: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path(), has_state);
        let proxy = Proxy::to(&program.url).await;
        let workspace = open(&proxy.url, patient()).await.unwrap();
        Self {
            program,
            proxy,
            workspace,
            root,
        }
    }

    /// Kills the agent, and starts the next one.
    async fn replace(&mut self, has_state: bool) {
        self.program.signal(Raw::SIGKILL);
        self.program = program(self.root.path(), has_state);
        self.proxy.retarget(&self.program.url);
        self.proxy.accept().await;
    }
}

/// Loses the answer to a start, and replaces the agent before the start is sent again. Returns the result and how often it ran.
async fn lost_answer(key: Option<&str>, states: [bool; 2]) -> (Result<String, Error>, usize) {
    let mut agent = Agent::new(states[0]).await;
    agent.proxy.inject_last("/start ", Fault::After);
    let workspace = Arc::clone(&agent.workspace);
    let key = key.map(str::to_owned);
    let command = Command {
        key,
        ..command("echo ran >> runs; exec sleep 1000")
    };
    let starting = tokio::spawn(async move { workspace.start(Some(&chat("a")), command).await });
    agent.proxy.hit(1).await;
    file(&agent.root.path().join("runs")).await;
    agent.replace(states[1]).await;
    let started = starting.await.unwrap().map(|started| started.id);
    // Whatever the next agent was told to start writes its line before this one.
    agent
        .workspace
        .start(Some(&chat("b")), super::command("echo > last"))
        .await
        .unwrap();
    file(&agent.root.path().join("last")).await;
    (started, runs(agent.root.path()))
}

#[tokio::test]
async fn a_key_holds_beyond_the_agent_that_keeps_its_state() {
    let (started, runs) = lost_answer(Some("key"), [true, true]).await;
    assert_eq!((started.map(drop), runs), (Ok(()), 1));
}

#[tokio::test]
async fn a_start_that_the_next_agent_does_not_remember_is_unknown() {
    for (key, states) in [
        (Some("key"), [false, false]),
        (Some("key"), [true, false]),
        (None, [true, true]),
        (None, [false, false]),
    ] {
        let (started, runs) = lost_answer(key, states).await;
        assert!(
            matches!(started, Err(Error::UnknownOutcome(_))),
            "{key:?} {states:?}: {started:?}"
        );
        assert_eq!(runs, 1, "{key:?} {states:?}");
    }
}

#[tokio::test]
async fn a_start_that_did_not_arrive_is_done_by_the_next_agent_or_unknown() {
    for key in [Some("key"), None] {
        let mut agent = Agent::new(false).await;
        agent.proxy.refuse().await;
        let workspace = Arc::clone(&agent.workspace);
        let command = Command {
            key: key.map(str::to_owned),
            ..command(COUNTED)
        };
        let starting =
            tokio::spawn(async move { workspace.start(Some(&chat("a")), command).await });
        agent.replace(false).await;
        match starting.await.unwrap() {
            Ok(_) => assert_eq!(file(&agent.root.path().join("runs")).await, "ran\n"),
            // The host had not noticed that its connection was cut, and cannot tell that nothing arrived.
            Err(Error::UnknownOutcome(_)) => assert_eq!(runs(agent.root.path()), 0),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn processes_of_an_agent_without_state_are_lost_and_none_is_left() {
    let mut agent = Agent::new(false).await;
    let command = command("echo $$ > pid; exec sleep 1000");
    let started = agent.workspace.start(Some(&chat("a")), command).await;
    let id = started.unwrap().id;
    let pid = file(&agent.root.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    agent.proxy.refuse().await;
    agent.replace(false).await;
    until_dead(pid).await;
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let error = agent.workspace.wait(Some(&chat("a")), &id, options).await;
    let said = format!("{:?}", error.unwrap_err());
    assert!(
        said.contains("is lost") || said.contains("NotFound"),
        "{said}"
    );
}
