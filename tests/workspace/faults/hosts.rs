//! Hosts that are killed, agents that are replaced, and both: a command goes on, and its output is read without a gap.

use super::*;

use nix::sys::signal::Signal as Raw;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::TOKEN;
use crate::harness::serving;

/// A host with an agent that keeps its commands, each a program of its own.
struct Pair {
    host: Serving,
    agent: Serving,
    proxy: Proxy,
    base: tempfile::TempDir,
    /// The lines that were read.
    lines: Vec<String>,
    /// The cursor behind the last of them.
    since: u64,
}

fn agent(base: &Path) -> Serving {
    let mut command = serving::with_state(&base.join("there"), &base.join("agent-state"));
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["agent", "--keep"]);
    Serving::of(command)
}

fn host(base: &Path) -> Serving {
    let mut command = serving::with_state(&base.join("here"), &base.join("host-state"));
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--config")
        .arg(base.join("toolhost.toml"));
    Serving::start(command)
}

impl Pair {
    async fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for directory in ["here", "there"] {
            std::fs::create_dir(base.path().join(directory)).unwrap();
        }
        let agent = agent(base.path());
        let proxy = Proxy::to(&agent.url).await;
        let config = format!(
            "[workspaces.agents.far]\nurl = '{}'\ntoken = '{TOKEN}'\n",
            proxy.url
        );
        std::fs::write(base.path().join("toolhost.toml"), config).unwrap();
        Self {
            host: host(base.path()),
            agent,
            proxy,
            base,
            lines: Vec::new(),
            since: 0,
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let request = self.host.request(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn replace_host(&mut self) {
        self.host.signal(Raw::SIGKILL);
        self.host = host(self.base.path());
    }

    async fn replace_agent(&mut self) {
        self.agent.signal(Raw::SIGKILL);
        self.agent = agent(self.base.path());
        self.proxy.retarget(&self.agent.url);
        self.proxy.cut();
    }

    /// Reads until there are so many lines more.
    async fn read(&mut self, id: &str, more: usize) {
        let wanted = self.lines.len() + more;
        let mut rest = String::new();
        while self.lines.len() < wanted {
            let path = format!("/v1/chats/a/processes/{id}/output?since={}", self.since);
            let chunk = self.ask(Method::GET, &path, None).await;
            assert_eq!(chunk["offset"], self.since, "nothing is missing: {chunk}");
            rest.push_str(chunk["text"].as_str().unwrap_or_default());
            self.since += chunk["length"].as_u64().unwrap();
            while let Some((line, behind)) = rest.split_once('\n') {
                self.lines.push(line.to_owned());
                rest = behind.to_owned();
            }
            assert_eq!(chunk["end"], false, "{chunk}");
        }
        // A part of a line is read again.
        self.since -= rest.len() as u64;
    }
}

// The proxy goes on while a program is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_through_the_ends_of_hosts_and_agents() {
    let mut pair = Pair::new().await;
    let command = "i=0; while :; do echo line $i; i=$((i+1)); sleep 0.1; done";
    let ticker = json!({
        "tool": "execute", "workspace": "far",
        "arguments": { "command": command, "run_in_background": true },
    });
    let started = pair
        .ask(Method::POST, "/v1/chats/a/calls", Some(ticker))
        .await;
    let id = started["structured"]["background_process_id"]
        .as_str()
        .unwrap()
        .to_owned();
    pair.read(&id, 3).await;
    pair.replace_host();
    pair.read(&id, 3).await;
    pair.replace_agent().await;
    pair.read(&id, 3).await;
    pair.replace_host();
    pair.replace_agent().await;
    pair.read(&id, 3).await;
    let expected: Vec<_> = (0..pair.lines.len())
        .map(|number| format!("line {number}"))
        .collect();
    assert_eq!(pair.lines, expected);
    let listed = pair.ask(Method::GET, "/v1/chats/a/processes", None).await;
    assert_eq!(listed["processes"].as_array().unwrap().len(), 1, "{listed}");
    let ended = pair.ask(Method::DELETE, "/v1/chats/a", None).await;
    assert!(ended.to_string().contains(&id), "{ended}");
}

/// The next host finds the process of a call that ran, and does not run the call again.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_interrupted_is_unknown_and_names_its_process() {
    let mut pair = Pair::new().await;
    let call = json!({
        "tool": "execute", "workspace": "far",
        "arguments": { "command": "echo ran >> runs; exec sleep 1000" },
    });
    let path = "/v1/chats/a/calls/1";
    let request = pair.host.request(Method::PUT, path).json(&call);
    let calling = tokio::spawn(request.send());
    let ran = pair.base.path().join("there/runs");
    file(&ran).await;
    pair.replace_host();
    assert!(calling.await.unwrap().is_err());
    let again = pair.ask(Method::PUT, path, Some(call)).await;
    assert_eq!(again["error"]["kind"], "unknown_outcome", "{again}");
    let id = again["processes"][0].as_str();
    let id = id.unwrap_or_else(|| panic!("{again}")).to_owned();
    assert!(
        again["error"]["message"]
            .as_str()
            .unwrap()
            .contains("ran when the host started again"),
        "{again}"
    );
    assert_eq!(file(&ran).await, "ran\n");
    let ended = pair.ask(Method::DELETE, "/v1/chats/a", None).await;
    assert!(ended.to_string().contains(&id), "{ended}");
}
