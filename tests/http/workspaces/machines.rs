//! Workspaces on machines of their own, which the programs of the operator make: here, agents that run as processes.

mod container;
mod logs;
mod templates;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;
use crate::harness::serving::{Serving, client, with_state};
use crate::harness::{a_moment, program, until, until_dead};

/// The programs of the operator as one script. A machine is a directory with an agent as a process.
const ENGINE: &str = include_str!("../../../examples/machines/process.sh");

/// A server with templates, and the directory in which its machines are.
struct Machines {
    serving: Serving,
    base: TempDir,
}

impl Machines {
    /// Starts a server whose templates have these keys.
    fn new(templates: &[(&str, &str)]) -> Self {
        Self::with("", templates)
    }

    /// The same, with further keys, in which `BASE` is the directory.
    fn with(keys: &str, templates: &[(&str, &str)]) -> Self {
        let base = tempfile::tempdir().unwrap();
        let engine = base.path().join("engine");
        let agent = format!(
            "{} agent --sandbox-no-namespaces --log error",
            program().display()
        );
        let root = base.path().join("machines").display().to_string();
        let script = ENGINE
            .replace("toolhost-agent", &agent)
            .replace("/var/lib/toolhost-machines", &root);
        std::fs::write(&engine, script).unwrap();
        std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut config = keys.replace("BASE", base.path().to_str().unwrap());
        for (name, keys) in templates {
            config.push_str(&format!("[templates.{name}]\nprovider = \"command\"\n"));
            for step in ["create", "start", "stop", "remove", "status"] {
                let own = format!("{step} = ");
                if !keys.lines().any(|line| line.starts_with(&own)) {
                    config.push_str(&format!("{step} = [\"./engine\", \"{step}\"]\n"));
                }
            }
            config.push_str(&format!("{keys}\n"));
        }
        Self::of(base, &config)
    }

    /// Starts a server with this configuration.
    fn of(base: TempDir, config: &str) -> Self {
        std::fs::write(base.path().join("toolhost.toml"), config).unwrap();
        std::fs::create_dir(base.path().join("workspace")).unwrap();
        let serving = Self::serve(base.path());
        Self { serving, base }
    }

    fn serve(base: &Path) -> Serving {
        let mut command = with_state(&base.join("workspace"), &base.join("state"));
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.arg("--config").arg(base.join("toolhost.toml"));
        Serving::start(command)
    }

    /// Kills the server, and starts it again.
    fn crash(&mut self) {
        self.serving.signal(Signal::SIGKILL);
        self.serving = Self::serve(self.base.path());
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.serving.request(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(json!(text)))
    }

    async fn done(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Makes a workspace of a template.
    async fn put(&self, name: &str, template: &str) -> Value {
        let path = format!("/v1/workspaces/{name}");
        let body = json!({ "provider": "template", "template": template });
        self.done(Method::PUT, &path, Some(body)).await
    }

    async fn state(&self, name: &str) -> String {
        let path = format!("/v1/workspaces/{name}");
        let shown = self.done(Method::GET, &path, None).await;
        shown["state"].as_str().unwrap().to_owned()
    }

    async fn act(&self, name: &str, action: &str) -> (u16, Value) {
        let path = format!("/v1/workspaces/{name}");
        let body = json!({ "action": action });
        self.ask(Method::POST, &path, Some(body)).await
    }

    async fn log(&self, name: &str) -> String {
        let path = format!("/v1/workspace-logs/{name}");
        let log = self.done(Method::GET, &path, None).await;
        log["log"].as_str().unwrap().to_owned()
    }

    /// Returns the lines of the log of `a` that came after so many, and how many there are.
    async fn page(&self, after: u64, wait_seconds: u64) -> (String, u64) {
        let path = format!("/v1/workspace-logs/a?after={after}&wait_seconds={wait_seconds}");
        let page = self.done(Method::GET, &path, None).await;
        let log = page["log"].as_str().unwrap().to_owned();
        (log, page["next"].as_u64().unwrap())
    }

    async fn call(&self, chat: &str, workspace: &str, command: &str) -> (u16, Value) {
        let path = format!("/v1/chats/{chat}/calls");
        self.ask(Method::POST, &path, within(workspace, command))
            .await
    }

    /// Runs a command in a chat of a workspace, and returns its output.
    async fn run(&self, chat: &str, workspace: &str, command: &str) -> String {
        let (status, answer) = self.call(chat, workspace, command).await;
        assert!(
            status == 200 && answer["structured"]["success"] == true,
            "{status} {answer}"
        );
        let output = answer["structured"]["output"].as_str();
        output.unwrap_or_default().to_owned()
    }

    /// The directories of the machines.
    fn all(&self) -> Vec<PathBuf> {
        let all = self.base.path().join("machines").read_dir();
        let all = all.into_iter().flatten();
        all.map(|entry| entry.unwrap().path()).collect()
    }

    /// The directory of the only machine, which was made once.
    fn only(&self) -> PathBuf {
        let all = self.all();
        assert_eq!(all.len(), 1, "{all:?}");
        let made = std::fs::read_to_string(all[0].join("made")).unwrap();
        assert_eq!(made.lines().count(), 1, "{made}");
        all[0].clone()
    }

    fn pid(&self) -> u32 {
        let pid = std::fs::read_to_string(self.only().join("pid")).unwrap();
        pid.trim().parse().unwrap()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for machine in self.all() {
            let pid = std::fs::read_to_string(machine.join("pid")).unwrap_or_default();
            if let Ok(pid) = pid.trim().parse() {
                _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

const START_UP: &str = "start_up = 'echo starts >> started; echo \"size $PARAMETER_SIZE\"'\n\
     parameters = { properties = { size = { type = 'integer', default = 2 } } }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_made_used_stopped_started_and_removed() {
    let machines = Machines::new(&[("box", START_UP)]);
    let made = machines.put("team/a", "box").await;
    assert_eq!(
        (&made["provider"], &made["template"], &made["state"]),
        (&json!("template"), &json!("box"), &json!("closed")),
        "{made}"
    );
    assert!(machines.all().is_empty(), "the first call makes it");
    let output = machines.run("c", "team/a", "cat started; echo x > file; pwd");
    let work = machines.base.path().join("machines");
    let output = output.await;
    let work = work.canonicalize().unwrap();
    assert!(
        output.starts_with(&format!("starts\n{}", work.display())),
        "{output}"
    );
    assert_eq!(machines.state("team/a").await, "ready");
    let log = machines.log("team/a").await;
    // Unless the agent was faster.
    let log = log.replace("its agent has to connect\n", "");
    let lines = [
        "the machine is being made",
        "a machine for team/a",
        "the machine starts",
        "the start-up script runs",
        "size 2",
        "the start-up script is done\n",
    ];
    assert_eq!(log, lines.join("\n"));

    // Something runs in it.
    let background = json!({ "command": "exec sleep 1000", "run_in_background": true });
    let call = json!({ "tool": "execute", "arguments": background });
    let path = "/v1/chats/c/calls";
    machines.done(Method::POST, path, Some(call)).await;
    let (status, refused) = machines.act("team/a", "stop").await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_in_use")),
        "{refused}"
    );
    machines.done(Method::DELETE, "/v1/chats/c", None).await;
    let pid = machines.pid();
    let (status, stopped) = machines.act("team/a", "stop").await;
    assert_eq!(
        (status, &stopped["state"]),
        (200, &json!("stopped")),
        "{stopped}"
    );
    until_dead(pid).await;
    // Again, that is no error.
    assert_eq!(machines.act("team/a", "stop").await.0, 200);

    let (status, started) = machines.act("team/a", "start").await;
    assert_eq!(
        (status, &started["state"]),
        (200, &json!("ready")),
        "{started}"
    );
    assert_eq!(machines.act("team/a", "start").await.0, 200);
    assert_ne!(machines.pid(), pid);
    assert_eq!(
        machines.run("d", "team/a", "cat file started").await,
        "x\nstarts\nstarts\n"
    );
    // A call starts it as well.
    assert_eq!(machines.act("team/a", "stop").await.0, 200);
    assert_eq!(machines.run("d", "team/a", "cat file").await, "x\n");

    let mut asked = client();
    asked.args([
        "workspaces",
        "log",
        "team/a",
        "--server",
        &machines.serving.url,
    ]);
    let said = asked.env("TOOLHOST_TOKEN", TOKEN).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said, machines.log("team/a").await);

    machines
        .done(Method::DELETE, "/v1/workspaces/team/a?force=true", None)
        .await;
    assert!(machines.all().is_empty());
    let trail = machines.base.path().join("state/audit/audit.jsonl");
    let events = until("the trail has the removal", || {
        let trail = std::fs::read_to_string(&trail).unwrap();
        let events = trail.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let event = line["event"].as_str().unwrap().to_owned();
            event.starts_with("workspace_").then_some(event)
        });
        let events: Vec<_> = events.collect();
        events
            .contains(&"workspace_removed".to_owned())
            .then_some(events)
    })
    .await;
    assert_eq!(
        events,
        [
            "workspace_created",
            "workspace_making",
            "workspace_made",
            "workspace_stopped",
            "workspace_stopped",
            "workspace_started",
            "workspace_stopped",
            "workspace_started",
            "workspace_removed",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_host_finds_the_machine_of_one_that_was_killed() {
    let mut machines = Machines::new(&[("box", START_UP)]);
    machines.put("a", "box").await;
    machines.run("c", "a", "echo x > file").await;
    let pid = machines.pid();
    machines.crash();
    assert_eq!(
        machines.run("c", "a", "cat file started").await,
        "x\nstarts\n"
    );
    assert_eq!(
        (machines.pid(), machines.state("a").await.as_str()),
        (pid, "ready")
    );
    // The machine goes while there is no host.
    machines.serving.signal(Signal::SIGKILL);
    kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
    until_dead(pid).await;
    machines.serving = Machines::serve(machines.base.path());
    while machines.state("a").await != "stopped" {
        a_moment().await;
    }
    assert_eq!(
        machines.run("c", "a", "cat file started").await,
        "x\nstarts\nstarts\n"
    );
    machines.only();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_was_killed_is_started_by_the_next_call() {
    let machines = Machines::new(&[("box", START_UP)]);
    machines.put("a", "box").await;
    machines.run("c", "a", "echo x > file").await;
    let pid = machines.pid();
    kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
    until_dead(pid).await;
    // The host may not have noticed yet that the connection broke: such a call can fail, and a later one runs.
    while machines.call("c", "a", "true").await.0 != 200 {
        a_moment().await;
    }
    assert_eq!(
        machines.run("c", "a", "cat file started").await,
        "x\nstarts\nstarts\n"
    );
    assert_ne!(machines.pid(), pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_calls_at_once_make_one_machine() {
    let machines = Machines::new(&[("box", START_UP)]);
    machines.put("a", "box").await;
    let chats = ["a", "b", "c", "d"];
    let started = chats.map(|chat| machines.run(chat, "a", "cat started"));
    let start = machines.act("a", "start");
    let (outputs, (status, _)) =
        futures_util::join!(futures_util::future::join_all(started), start);
    assert_eq!((outputs, status), (vec!["starts\n".to_owned(); 4], 200));
    machines.only();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_up_script_that_fails_or_hangs_is_told_and_not_fatal() {
    let machines = Machines::new(&[
        ("fails", "start_up = 'echo no >&2; exit 3'"),
        (
            "hangs",
            "start_up = 'exec sleep 1000'\nstart_up_seconds = 1",
        ),
    ]);
    for (template, state, said) in [
        (
            "fails",
            "start_failed",
            "no\nthe start-up script ended with exit code 3\n",
        ),
        (
            "hangs",
            "start_timeout",
            "the start-up script still runs after 1 s\n",
        ),
    ] {
        machines.put(template, template).await;
        assert_eq!(machines.run(template, template, "echo x").await, "x\n");
        assert_eq!(machines.state(template).await, state);
        let log = machines.log(template).await;
        assert!(log.ends_with(said), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_come_is_told() {
    let running = r#"status = ["echo", '{"state": "running", "since": "1"}']"#;
    let silent = format!("connect_seconds = 1\n{running}");
    // It starts nothing.
    let brief = "connect_seconds = 600\nstart = ['sh', '-c', 'true']";
    let machines = Machines::new(&[("silent", silent.as_str()), ("brief", brief)]);
    for (template, said) in [
        ("silent", "its agent did not connect within 1 s"),
        ("brief", "the machine ended before its agent had connected"),
    ] {
        machines.put(template, template).await;
        let (status, answer) = machines.call(template, template, "true").await;
        assert!(
            status == 200 && answer["error"]["message"].to_string().contains(said),
            "{status} {answer}"
        );
        let path = format!("/v1/workspaces/{template}");
        let shown = machines.done(Method::GET, &path, None).await;
        assert_eq!(shown["state"], "failed", "{shown}");
        assert!(shown["problem"].to_string().contains(said), "{shown}");
        assert!(machines.log(template).await.contains(said));
        // It can be removed.
        machines.done(Method::DELETE, &path, None).await;
    }
    assert!(machines.all().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_machine_is_stopped_and_then_removed() {
    let machines = Machines::new(&[("box", "idle_seconds = 1\nremove_seconds = 1000000")]);
    machines.put("a", "box").await;
    machines.run("c", "a", "echo x > file").await;
    let pid = machines.pid();
    until_dead(pid).await;
    while machines.state("a").await != "stopped" {
        a_moment().await;
    }
    assert_eq!(machines.run("c", "a", "cat file").await, "x\n");
    let of_pid = |pid: u32| move || (machines.pid() != pid).then_some(());
    until("another process is the machine", of_pid(pid)).await;
}

/// The token of a machine lets in its agent, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn no_agent_connects_in_the_place_of_another() {
    let machines = Machines::new(&[("box", "")]);
    machines.put("a", "box").await;
    machines.run("c", "a", "true").await;
    let socket = machines.base.path().join("state/machines/host.sock");
    let state = tempfile::tempdir().unwrap();
    // Without the token of the machine, not even under its own name.
    let mut agent = crate::harness::connecting::command(state.path(), &state.path().join("state"));
    let log = std::fs::File::create(state.path().join("log")).unwrap();
    let mut agent = agent
        .args([
            "--workspace-anyway",
            "--connect",
            &format!("unix:{}", socket.display()),
        ])
        .args(["--name", "a"])
        .stderr(log)
        .spawn()
        .unwrap();
    let log = state.path().join("log");
    until("it is refused", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("the host does not take this agent")
            .then_some(())
    })
    .await;
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(machines.run("c", "a", "echo x").await, "x\n");
}
