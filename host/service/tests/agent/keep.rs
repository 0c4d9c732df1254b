//! `toolhost-agent --keep`: its commands live on when it is replaced, and the next one takes them over.

use std::path::Path;

use super::*;

/// Without namespaces, so that the commands tell the numbers that their processes have here.
const KEEP: [&str; 2] = ["--keep", "--sandbox-no-namespaces"];

/// A command that prints the numbers from 1 on, one a line, every 100 ms.
const TICKER: &str = "echo $$ > pid; i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done";

/// The output of a process, read by its cursor through all agents.
struct Reader {
    id: String,
    read: String,
}

impl Reader {
    /// Reads at least this many lines more. Checks that none is missing or doubled.
    async fn lines(&mut self, agent: &Agent, more: usize) {
        let wanted = self.read.lines().count() + more;
        while self.read.matches('\n').count() < wanted {
            let since = self.read.len();
            // The next line.
            let query = format!("since={since}&wait=true&until=%5Cn&timeout_ms=60000");
            let page = agent.output(&self.id, &query).await;
            assert!(page.get("gap").is_none_or(Value::is_null), "{page}");
            assert_eq!(page["status"], "running", "{page}");
            self.read += page["output"].as_str().unwrap();
            assert!(page["total_bytes"].as_u64().unwrap() >= self.read.len() as u64);
            let (lines, _) = self.read.rsplit_once('\n').unwrap();
            let lines: Vec<usize> = lines.lines().map(|line| line.parse().unwrap()).collect();
            assert!(lines.iter().copied().eq(1..=lines.len()), "{}", self.read);
        }
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ");
    state.is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until this holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for a number that a command writes into a file of the workspace.
async fn pid(workspace: &Path, name: &str) -> String {
    let path = workspace.join(name);
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    until("a command has written its number", || {
        read().ends_with('\n')
    })
    .await;
    read().trim().to_owned()
}

async fn read_through_replacements(end: impl Fn(Agent)) {
    let workspace = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(workspace.path(), &KEEP);
    let id = agent.run(TICKER).await;
    let mut reader = Reader {
        id,
        read: String::new(),
    };
    let shell = pid(workspace.path(), "pid").await;
    for _ in 0..3 {
        reader.lines(&agent, 3).await;
        end(agent);
        assert!(is_alive(&shell));
        agent = Agent::start(workspace.path(), &KEEP);
    }
    reader.lines(&agent, 3).await;
    agent.signal(&reader.id, "kill").await;
    let ended = agent.output(&reader.id, "wait=true").await;
    assert_eq!(ended["status"], "exited", "{ended}");
    until("the shell is gone", || !is_alive(&shell)).await;
    assert!(agent.stop().success());
    nothing_is_left(&workspace.path().join(".state")).await;
}

/// Checks that no supervisor has a file of this state directory open any more.
async fn nothing_is_left(state: &Path) {
    let kept = state.join("kept");
    until("no supervisor is left", || {
        let files = std::fs::read_dir("/proc").unwrap().flatten();
        let files = files.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok());
        let mut targets = files
            .flat_map(|files| files.flatten())
            .filter_map(|file| std::fs::read_link(file.path()).ok());
        !targets.any(|target| target.starts_with(&kept))
    })
    .await;
}

#[tokio::test]
async fn a_process_is_read_through_replacements_without_a_gap() {
    read_through_replacements(|agent| assert!(agent.stop().success())).await;
}

#[tokio::test]
async fn a_process_is_read_through_kills_without_a_gap() {
    read_through_replacements(Agent::kill).await;
}

/// The agent is killed at any moment while a command writes as fast as it can.
#[tokio::test]
async fn no_byte_of_a_flood_is_lost_when_the_agent_is_killed() {
    let workspace = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(workspace.path(), &KEEP);
    let id = agent.run("seq 1000000 3999999").await;
    for part in 1..=6 {
        let mut total = 0;
        while total < part * 2_500_000 {
            let page = agent.output(&id, "since=0&max_bytes=4").await;
            total = page["total_bytes"].as_u64().unwrap();
        }
        agent.kill();
        agent = Agent::start(workspace.path(), &KEEP);
    }
    let ended = agent.output(&id, "wait=true").await;
    assert_eq!(
        (&ended["status"], &ended["exit_code"]),
        (&json!("exited"), &json!(0))
    );
    assert_eq!(ended["total_bytes"], 8 * 3_000_000);
    let mut read = String::new();
    while read.len() < 8 * 3_000_000 {
        let query = format!("since={}&max_bytes=4194304", read.len());
        let page = agent.output(&id, &query).await;
        let output = page["output"].as_str().unwrap();
        assert!(!output.is_empty(), "{} bytes", read.len());
        read += output;
    }
    let expected: String = (1_000_000..4_000_000)
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(read == expected);
    assert!(agent.stop().success());
}

#[tokio::test]
async fn one_that_ended_without_an_agent_has_its_status_and_whole_output() {
    for end in [Agent::kill, |agent: Agent| assert!(agent.stop().success())] {
        let workspace = tempfile::tempdir().unwrap();
        let agent = Agent::start(workspace.path(), &KEEP);
        let command = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; seq 1 100000; exit 7";
        let id = agent.run(command).await;
        let shell = pid(workspace.path(), "pid").await;
        end(agent);
        assert!(is_alive(&shell));
        std::fs::write(workspace.path().join("go"), "").unwrap();
        until("the command has ended", || !is_alive(&shell)).await;
        let agent = Agent::start(workspace.path(), &KEEP);
        let page = agent
            .output(&id, "since=0&wait=true&max_bytes=4194304")
            .await;
        let expected: String = (1..=100_000).map(|line| format!("{line}\n")).collect();
        assert_eq!(
            (&page["status"], &page["exit_code"]),
            (&json!("exited"), &json!(7))
        );
        assert_eq!(page["output"], expected);
        assert!(agent.stop().success());
        nothing_is_left(&workspace.path().join(".state")).await;
    }
}

#[tokio::test]
async fn signals_reach_the_whole_tree_in_the_next_agent() {
    let workspace = tempfile::tempdir().unwrap();
    let agent = Agent::start(workspace.path(), &KEEP);
    let command = "sh -c 'sleep 1000 & echo $! > deep; wait' & setsid sleep 1000 & echo $! > far; echo $$ > pid; wait";
    let id = agent.run(command).await;
    let mut pids = Vec::new();
    for name in ["deep", "far", "pid"] {
        pids.push(pid(workspace.path(), name).await);
    }
    agent.kill();
    let agent = Agent::start(workspace.path(), &KEEP);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    agent.signal(&id, "terminate").await;
    let ended = agent.output(&id, "wait=true").await;
    assert_eq!(ended["status"], "exited", "{ended}");
    for pid in &pids {
        until("it is gone", || !is_alive(pid)).await;
    }
    assert!(agent.stop().success());
}

#[tokio::test]
async fn without_another_agent_everything_is_ended() {
    let workspace = tempfile::tempdir().unwrap();
    let agent = Agent::start(workspace.path(), &["--keep=1s", "--sandbox-no-namespaces"]);
    let command =
        "sleep 1000 & echo $! > other; trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done";
    agent.run(command).await;
    let pids = [
        pid(workspace.path(), "pid").await,
        pid(workspace.path(), "other").await,
    ];
    agent.kill();
    for pid in &pids {
        until("it is ended", || !is_alive(pid)).await;
    }
    nothing_is_left(&workspace.path().join(".state")).await;
}

/// With the namespaces that chats have by default, where the system offers them: the first process in them outlives the agent.
#[tokio::test]
async fn a_chat_in_namespaces_is_kept() {
    let workspace = tempfile::tempdir().unwrap();
    let agent = Agent::start(workspace.path(), &["--keep"]);
    let id = agent.run(TICKER).await;
    let mut reader = Reader {
        id,
        read: String::new(),
    };
    reader.lines(&agent, 2).await;
    agent.kill();
    let agent = Agent::start(workspace.path(), &["--keep"]);
    reader.lines(&agent, 2).await;
    assert!(agent.stop().success());
    let agent = Agent::start(workspace.path(), &["--keep"]);
    reader.lines(&agent, 2).await;
    agent.signal(&reader.id, "kill").await;
    let ended = agent.output(&reader.id, "wait=true").await;
    assert_eq!(ended["status"], "exited", "{ended}");
    assert!(agent.stop().success());
    nothing_is_left(&workspace.path().join(".state")).await;
}

#[test]
fn without_a_state_directory_that_outlives_it_it_says_so() {
    let workspace = tempfile::tempdir().unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_toolhost-agent"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["--keep", "--listen", "127.0.0.1:0", "--workspace"])
        .arg(workspace.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("commands cannot be kept") && said.contains("--state-dir"),
        "{said}"
    );
}
