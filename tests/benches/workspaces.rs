//! Workspaces with names: `cargo bench --bench workspaces`, with the parts `agent`, `many`, `homes` and `agents` behind `--`.

#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, fails by panicking, and starts the programs that it compares with"
)]

mod hosts;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod system;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use toolhost_call::call::Actor;
use toolhost_core::Host;
use toolhost_http::Listener;
use toolhost_http::access::{Access, Token};
use toolhost_link::{Address, AgentsConfig, TlsFiles};
use toolhost_local::DirectoriesConfig;
use toolhost_local::process::{Config, Limits};
use toolhost_sandbox::Policy;
use toolhost_server::serve;
use toolhost_state::secret::Secret;
use toolhost_workspace::{AgentSpec, Spec};

use hosts::{call, directory, host, program, spawner};
use report::{Report, median, time};
use system::{family, pss, resident};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOKEN: &str = "a-token-for-benchmarks";

/// How many calls in a workspace are measured before it is the turn of the next.
const IN_A_ROW: usize = 20;

/// An agent in a process of its own, ended with this value.
struct Agent(Child);

impl Agent {
    /// Starts an agent, and returns it with where it listens or to what it is connected.
    fn start(base: &Path, arguments: &[&str]) -> (Self, String) {
        let base = directory(base);
        let mut agent = Command::new(program())
            .arg("agent")
            .args(arguments)
            .arg("--workspace")
            .arg(directory(&base))
            .arg("--state-dir")
            .arg(base.join("state"))
            .env("TOOLHOST_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut lines = BufReader::new(agent.stderr.take().expect("it is a pipe")).lines();
        let ready = loop {
            let line = lines.next().expect("it becomes ready").expect("it is text");
            let found = ["listening on ", "connected to "]
                .iter()
                .find_map(|ready| line.strip_prefix(ready));
            if let Some(found) = found {
                break found.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        (Self(agent), ready)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn address(url: &str) -> Address {
    Address {
        url: url.to_owned(),
        token: Secret::new(TOKEN),
        tls: TlsFiles::default(),
    }
}

/// Binds a chat to the workspace of an agent.
async fn bind(host: &Host, name: &str, chat: &str) {
    let (actor, name) = (Actor::default(), name.parse().unwrap());
    let spec = Spec::Agent(AgentSpec::default());
    host.put_workspace(&name, Some(spec), &actor).await.unwrap();
    host.bind_chat(&chat.parse().unwrap(), &name, &actor)
        .await
        .unwrap();
}

/// Serves a host, and returns where agents connect.
async fn gateway(host: &Host) -> String {
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::tcp(any, None).await.unwrap();
    let url = format!("ws://{}/agents", listener.address().unwrap());
    let access = Access {
        tokens: Token::new(TOKEN).unwrap().into(),
        ..Access::default()
    };
    let (host, never) = (host.clone(), std::future::pending());
    tokio::spawn(serve(vec![listener], host, access, never));
    url
}

/// `execute true` on this machine, through an agent, and through an agent that connects.
async fn agent(report: &mut Report, base: &Path) {
    let (_direct, url) = Agent::start(base, &["--listen", "127.0.0.1:0"]);
    let agents = AgentsConfig {
        named: [("direct".to_owned(), address(&url))].into(),
        ..AgentsConfig::default()
    };
    let host = host(base, Some(spawner()))
        .agents(agents)
        .start()
        .await
        .unwrap();
    let url = gateway(&host).await;
    let (_dialled, _) = Agent::start(base, &["--connect", &url, "--name", "dialled"]);
    bind(&host, "direct", "direct").await;
    bind(&host, "dialled", "dialled").await;
    let command = json!({ "command": "true" });
    let mut times = [(); 3].map(|()| Vec::new());
    for _ in 0..report.rounds(50) {
        for (chat, times) in ["local", "direct", "dialled"].iter().zip(&mut times) {
            for _ in 0..IN_A_ROW {
                times.push(call(&host, chat, "execute", &command).await);
            }
        }
    }
    let [local, direct, dialled] = times.map(|mut times| median(&mut times));
    for (how, through) in [("", direct), (" that connects", dialled)] {
        report.compare(
            &format!("`execute true` through an agent{how}, loopback"),
            &time(through),
            &format!(
                "on this machine: {} ({} less)",
                time(local),
                time(through.saturating_sub(local))
            ),
            through.as_secs_f64() / local.as_secs_f64(),
        );
    }
    host.shutdown().await;
}

/// A call beside many workspaces, and the memory of those that are idle.
async fn many(report: &mut Report, base: &Path) {
    let (workspaces, chats) = if report.quick { (50, 200) } else { (500, 2000) };
    let directories = DirectoriesConfig {
        root: directory(base).join("root"),
        ..DirectoriesConfig::default()
    };
    let host = host(base, Some(spawner())).directories(directories);
    let host = host.start().await.unwrap();
    let actor = Actor::default();
    let bind = async |chat: usize| {
        let name = format!("w{}", chat % workspaces).parse().unwrap();
        host.put_workspace(&name, None, &actor).await.unwrap();
        let chat = format!("chat-{chat}").parse().unwrap();
        host.bind_chat(&chat, &name, &actor).await.unwrap();
    };
    let command = json!({ "command": "true" });
    let measure = async || {
        let (mut reads, mut commands) = (Vec::new(), Vec::new());
        for _ in 0..report.rounds(300) {
            reads.push(call(&host, "chat-0", "read_file", &json!({ "path": "file" })).await);
            commands.push(call(&host, "chat-0", "execute", &command).await);
        }
        (median(&mut reads), median(&mut commands))
    };
    bind(0).await;
    let write = json!({ "path": "file", "content": "text" });
    call(&host, "chat-0", "write_file", &write).await;
    let one = measure().await;
    let before = resident();
    for chat in 1..chats {
        bind(chat).await;
        call(&host, &format!("chat-{chat}"), "write_file", &write).await;
    }
    let open = resident().saturating_sub(before);
    let all = measure().await;
    host.tidy_up_workspaces(Duration::ZERO).await;
    let closed = resident().saturating_sub(before);
    let beside = format!("with {workspaces} workspaces and {chats} chats");
    report.pair(&format!("`read_file` {beside}"), all.0, "with one", one.0);
    report.pair(
        &format!("`execute true` {beside}"),
        all.1,
        "with one",
        one.1,
    );
    let each = |kib: u64| format!("{:.1} KiB", kib as f64 / workspaces as f64);
    report.value(
        &format!(
            "memory of each of {workspaces} workspaces, of which each has {} chats with an outcome",
            chats / workspaces
        ),
        format!("{} open, {} closed", each(open), each(closed)),
    );
    host.shutdown().await;
}

/// The memory of workspaces with a home and layers over caches, in which a command has run.
async fn homes(report: &mut Report, base: &Path) {
    let count = if report.quick { 20 } else { 200 };
    let base = directory(base);
    let spawner = spawner();
    let processes = Config {
        limits: Limits {
            idle_sandbox: Duration::ZERO,
            ..Limits::default()
        },
        spawner: Some(spawner.clone()),
        sandbox: Policy::default(),
        ..Config::new(&base)
    };
    let directories = DirectoriesConfig {
        root: base.join("root"),
        ..DirectoriesConfig::default()
    };
    let host = host(&base, None)
        .processes(processes)
        .directories(directories);
    let host = host.start().await.unwrap();
    let actor = Actor::default();
    let command =
        json!({ "command": "echo text > ~/file; test ! -d ~/.cargo || echo text > ~/.cargo/file" });
    let run = async |number: usize| {
        let name = format!("w{number}").parse().unwrap();
        host.put_workspace(&name, None, &actor).await.unwrap();
        let chat = format!("chat-{number}");
        host.bind_chat(&chat.parse().unwrap(), &name, &actor)
            .await
            .unwrap();
        call(&host, &chat, "execute", &command).await;
    };
    // The spawners of chats are gone when it is measured.
    let memory = || (resident() + pss(spawner.pid())) as f64;
    // Chats give back what they hold when the upkeep looks at them, every 30 s.
    let alone = family(spawner.pid()).len();
    let idle = async || {
        while family(spawner.pid()).len() > alone {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    // The first ones fill the caches of the host.
    for number in 0..count / 4 {
        run(number).await;
    }
    idle().await;
    let before = memory();
    for number in 0..count {
        run(count + number).await;
    }
    let processes = family(spawner.pid()).len();
    idle().await;
    let left = (memory() - before) / count as f64;
    report.value(
        &format!("memory of each of {count} idle workspaces with a home and layers"),
        format!(
            "{left:.1} KiB and no process; right after a command {:.1} processes",
            (processes - alone) as f64 / count as f64
        ),
    );
    host.shutdown().await;
}

/// The memory of connections to agents that are idle.
async fn agents(report: &mut Report, base: &Path) {
    let count = if report.quick { 5 } else { 50 };
    let (_agent, url) = Agent::start(base, &["--listen", "127.0.0.1:0"]);
    let named = (0..=count).map(|number| (format!("a{number}"), address(&url)));
    let agents = AgentsConfig {
        named: named.collect(),
        ..AgentsConfig::default()
    };
    let host = host(base, None).agents(agents).start().await.unwrap();
    let gateway = gateway(&host).await;
    let open = async |name: &str| {
        bind(&host, name, name).await;
        let read = json!({ "path": "." });
        let host = host.clone();
        let request = hosts::request(name, "read_file", &read);
        _ = host.call(request).await.unwrap();
    };
    open("a0").await;
    let before = resident();
    for number in 1..=count {
        open(&format!("a{number}")).await;
    }
    let direct = resident().saturating_sub(before) as f64 / count as f64;
    let connect = |number| {
        let name = format!("d{number}");
        Agent::start(base, &["--connect", &gateway, "--name", &name]).0
    };
    let mut connecting = vec![connect(0)];
    open("d0").await;
    let before = resident();
    connecting.extend((1..=count).map(connect));
    for number in 1..=count {
        open(&format!("d{number}")).await;
    }
    let dialled = resident().saturating_sub(before) as f64 / count as f64;
    report.value(
        &format!("memory of each of {count} idle agents, with a chat, on the host"),
        format!("{direct:.0} KiB; of agents that connect {dialled:.0} KiB"),
    );
    drop(connecting);
    host.shutdown().await;
}

fn main() {
    let mut report = Report::new();
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    let base = tempfile::tempdir().expect("there is a place");
    runtime.block_on(async {
        if report.chosen("agents") {
            agents(&mut report, base.path()).await;
        }
        if report.chosen("many") {
            many(&mut report, base.path()).await;
        }
        if report.chosen("homes") {
            homes(&mut report, base.path()).await;
        }
        if report.chosen("agent") {
            agent(&mut report, base.path()).await;
        }
    });
}
