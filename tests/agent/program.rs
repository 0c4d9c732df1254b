//! `toolhost agent` and `toolhost serve --agent-api`, as an operator runs them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use toolhost_state::state_dir::StateDir;

use super::{ok, refused, started};
use crate::harness::serving::{Serving, server};
use crate::harness::{TOKEN, file, is_alive, until, until_dead};
use crate::records::saved_in;

/// `toolhost agent` in this workspace, with the token of tests.
fn agent(workspace: &Path, arguments: &[&str]) -> Serving {
    let mut command = server(workspace);
    command.arg("--log=debug").env("TOOLHOST_TOKEN", TOKEN);
    command.arg("agent").args(arguments);
    Serving::of(command)
}

fn get(program: &Serving, path: &str) -> RequestBuilder {
    program.request(Method::GET, &format!("/api/v0/processes{path}"))
}

/// Starts a process, and returns its id.
async fn run(program: &Serving, body: &Value) -> String {
    let request = program.request(Method::POST, "/api/v0/processes/start");
    started(request.body(body.to_string())).await
}

/// Runs a command, and returns its output as the API tells it.
async fn output_of(program: &Serving, command: &str) -> Value {
    let id = run(program, &json!({ "command": command })).await;
    ok(get(program, &format!("/{id}/output?wait=true"))).await
}

#[tokio::test]
async fn a_token_file_lets_in() {
    let workspace = tempfile::tempdir().unwrap();
    let token = workspace.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let arguments = ["--token-file", token.to_str().unwrap()];
    let mut command = server(workspace.path());
    command.arg("agent").args(arguments);
    let program = Serving::of(command);
    let output = output_of(&program, "pwd").await;
    let root = workspace.path().canonicalize().unwrap();
    assert_eq!(output["output"], format!("{}\n", root.display()));
    assert!(!program.stderr.contains(TOKEN));
    let bare = program
        .client
        .get(format!("{}/api/v0/processes/list", program.url));
    assert_eq!(bare.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn no_engine_is_started() {
    let workspace = tempfile::tempdir().unwrap();
    // Without compiled code in it.
    StateDir::open(&workspace.path().join(".state")).unwrap();
    let mut program = agent(workspace.path(), &[]);
    assert_eq!(output_of(&program, "echo hi").await["output"], "hi\n");
    let tools = program.request(Method::GET, "/v1/tools").send().await;
    assert_eq!(tools.unwrap().status(), 404);
    program.signal(Signal::SIGTERM);
    let log = program.stderr.clone() + &program.rest();
    assert!(
        !log.contains("compil") && !log.contains("instances"),
        "{log}"
    );
    assert!(!workspace.path().join(".state/cache").exists());
}

#[tokio::test]
async fn sigterm_ends_what_runs() {
    let workspace = tempfile::tempdir().unwrap();
    let mut program = agent(workspace.path(), &[]);
    // With what left its process group and its session.
    let command = "setsid sh -c 'echo $$ > left; exec sleep 1000' & echo $$ > pid; exec sleep 1000";
    run(&program, &json!({ "command": command })).await;
    let mut pids = Vec::new();
    for name in ["pid", "left"] {
        let pid: u32 = file(&workspace.path().join(name))
            .await
            .trim()
            .parse()
            .unwrap();
        assert!(is_alive(pid));
        pids.push(pid);
    }
    assert_eq!(program.signal(Signal::SIGTERM).code(), Some(0));
    for pid in pids {
        until_dead(pid).await;
    }
}

#[tokio::test]
async fn a_second_signal_hurries() {
    let workspace = tempfile::tempdir().unwrap();
    let mut program = agent(workspace.path(), &[]);
    let command = "trap 'echo > told' TERM; echo $$ > pid; while :; do sleep 1000 & wait; done";
    run(&program, &json!({ "command": command })).await;
    let pid: u32 = file(&workspace.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    let own = nix::unistd::Pid::from_raw(i32::try_from(program.child.id()).unwrap());
    nix::sys::signal::kill(own, Signal::SIGTERM).unwrap();
    file(&workspace.path().join("told")).await;
    assert_eq!(program.signal(Signal::SIGTERM).code(), Some(0));
    until_dead(pid).await;
}

#[tokio::test]
async fn ids_outlive_the_program() {
    let workspace = tempfile::tempdir().unwrap();
    let mut program = agent(workspace.path(), &[]);
    let ended = run(&program, &json!({ "command": "echo ended; exit 3" })).await;
    ok(get(&program, &format!("/{ended}/output?wait=true"))).await;
    let lost = run(&program, &json!({ "command": "echo saved; sleep 1000" })).await;
    let path = format!("/{lost}/output?wait=true&until=saved");
    ok(get(&program, &path)).await;
    let state = workspace.path().join(".state");
    until("all of it is on disk", || {
        (saved_in(&state) == 12).then_some(())
    })
    .await;
    // A crash: nobody can write down how anything ended.
    program.signal(Signal::SIGKILL);
    let again = agent(workspace.path(), &[]);
    let output = ok(get(&again, &format!("/{ended}/output"))).await;
    assert_eq!(
        (&output["output"], &output["exit_code"]),
        (&json!("ended\n"), &json!(3))
    );
    let output = ok(get(&again, &format!("/{lost}/output"))).await;
    for (field, value) in [
        ("output", json!("saved\n")),
        ("status", json!("lost")),
        ("running", json!(false)),
        ("exit_code", json!(-1)),
    ] {
        assert_eq!(output[field], value, "{field}: {output}");
    }
    assert!(output["reason"].is_string());
    let page = ok(get(&again, &format!("/{lost}/output?since=2"))).await;
    assert_eq!(page["output"], "ved\n");
}

#[tokio::test]
async fn a_repeat_finds_its_process_after_a_crash() {
    const CALL: &str = "99999999-8888-4777-8666-555555555555";
    let workspace = tempfile::tempdir().unwrap();
    let mut program = agent(workspace.path(), &[]);
    let start = |program: &Serving, command: &str| {
        let request = program.request(Method::POST, "/api/v0/processes/start");
        let request = request.body(json!({ "command": command }).to_string());
        request.header("Coder-Tool-Call-Id", CALL)
    };
    let command = "echo x >> counter; sleep 1000";
    assert_eq!(started(start(&program, command)).await, CALL);
    file(&workspace.path().join("counter")).await;
    program.signal(Signal::SIGKILL);
    let again = agent(workspace.path(), &[]);
    assert_eq!(started(start(&again, command)).await, CALL);
    let output = ok(get(&again, &format!("/{CALL}/output"))).await;
    assert_eq!(
        (&output["status"], &output["timed_out"]),
        (&json!("lost"), &json!(false))
    );
    let counter = std::fs::read_to_string(workspace.path().join("counter"));
    assert_eq!(counter.unwrap(), "x\n");
    // The record of the first request tells it from another.
    refused(start(&again, "true"), 409, "another request").await;
    assert_eq!(ok(get(&again, "/list")).await["total"], 1);
}

#[tokio::test]
async fn a_write_is_made_once_also_after_a_crash() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().canonicalize().unwrap().join("file");
    let write = |program: &Serving, text: &str| {
        let request = program.request(Method::POST, "/api/v0/write-file");
        let request = request.query(&[("path", path.to_str().unwrap())]);
        let request = request.header("Coder-Tool-Call-Id", "call_1");
        request.body(text.to_owned())
    };
    let mut program = agent(workspace.path(), &[]);
    let first = ok(write(&program, "one")).await;
    program.signal(Signal::SIGKILL);
    let again = agent(workspace.path(), &[]);
    std::fs::write(&path, "two").unwrap();
    assert_eq!(ok(write(&again, "one")).await, first);
    refused(write(&again, "three"), 409, "another request").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
}

/// With a supervisor a cancellation reaches what left the session of its command as well.
#[tokio::test]
async fn a_cancellation_reaches_everything() {
    let workspace = tempfile::tempdir().unwrap();
    let program = agent(workspace.path(), &[]);
    let command = "setsid sh -c 'echo $$ > left; exec sleep 1000' & echo $$ > pid; exec sleep 1000";
    let request = program.request(Method::POST, "/api/v0/processes/start");
    let request = request.body(json!({ "command": command }).to_string());
    let id = started(request.header("Coder-Tool-Call-Id", "call_1")).await;
    let mut pids: Vec<u32> = Vec::new();
    for name in ["pid", "left"] {
        let pid = file(&workspace.path().join(name)).await;
        pids.push(pid.trim().parse().unwrap());
    }
    let cancel = program.request(Method::POST, "/api/v0/tool-calls/call_1/cancel");
    assert_eq!(ok(cancel).await["received"], true);
    for pid in pids {
        assert!(!is_alive(pid), "it is over when it is said to be");
    }
    assert_eq!(
        ok(get(&program, &format!("/{id}/output"))).await["canceled"],
        true
    );
}

/// As docs/agent-api.md says: a private Unix socket needs no token, and the chat server's name of the machine is let in.
#[tokio::test]
async fn the_chat_server_of_the_reference_gets_in_as_documented() {
    const NAME: &str = "[fd7a:115c:a1e0::1]";
    let workspace = tempfile::tempdir().unwrap();
    let socket = workspace.path().join("agent.sock");
    let listen = format!("unix:{}", socket.display());
    let mut serve = server(workspace.path());
    serve.args(["agent", "--listen", &listen, "--allow-host", NAME]);
    let program = Serving::of(serve);
    // A forwarder, as `socat TCP6-LISTEN:4,fork UNIX-CONNECT:…` is one.
    let forwarder = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", forwarder.local_addr().unwrap());
    let forwarding = tokio::spawn(async move {
        while let Ok((mut client, _)) = forwarder.accept().await {
            let socket = socket.clone();
            tokio::spawn(async move {
                let mut server = tokio::net::UnixStream::connect(socket).await.unwrap();
                _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    // As its requests are: no token, and a name of its own network.
    let request = |method, path: &str, host: &str| {
        let request = program.client.request(method, format!("{url}{path}"));
        request
            .header("Host", host.to_owned())
            .header("Coder-Chat-Id", "11111111-2222-4333-8444-555555555555")
            .header("Coder-Ancestor-Chat-Ids", "[]")
    };
    let host = format!("{NAME}:4");
    let start = request(Method::POST, "/api/v0/processes/start", &host);
    let id = started(start.body(r#"{"command":"echo hi"}"#)).await;
    let path = format!("/api/v0/processes/{id}/output?wait=true");
    let output = ok(request(Method::GET, &path, &host)).await;
    assert_eq!(output["output"], "hi\n");
    let path = format!(
        "/api/v0/read-file-lines?path={}",
        workspace.path().join("no").display()
    );
    assert_eq!(
        ok(request(Method::GET, &path, &host)).await["success"],
        false
    );
    // Requests that name another host through the same socket are refused.
    let path = "/api/v0/processes/list";
    let other = request(Method::GET, path, "evil.example");
    refused(other, 403, "--allow-host").await;
    let page = request(Method::GET, path, &host).header("Origin", "http://evil.example");
    refused(page, 403, "--allow-origin").await;
    forwarding.abort();
}

/// The line that it prints for a person is a command that works.
#[tokio::test]
async fn what_it_says_to_try_works() {
    let workspace = tempfile::Builder::new().prefix("it's ").tempdir().unwrap();
    let mut command = server(workspace.path());
    let command = command.args(["agent", "--listen", "127.0.0.1:0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let hint = lines.find_map(|line| Some(line.unwrap().strip_prefix("try it: ")?.to_owned()));
    // A shell runs the hint with a function in the place of curl, which prints its arguments.
    let script = format!("curl() {{ printf '%s\\n' \"$@\"; }}; {}", hint.unwrap());
    let called = Command::new("sh").args(["-c", &script]).output().unwrap();
    let called = String::from_utf8(called.stdout).unwrap();
    let arguments: Vec<_> = called.lines().collect();
    let [flag, header, url] = arguments[..] else {
        panic!("{called}");
    };
    assert_eq!(flag, "-H");
    let (name, value) = header.split_once(": ").unwrap();
    let client = crate::harness::client();
    let list = ok(client.get(url).header(name, value)).await;
    assert_eq!(list["processes"], json!([]));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn one_program_has_a_state_directory() {
    let workspace = tempfile::tempdir().unwrap();
    let _first = agent(workspace.path(), &[]);
    let mut command = server(workspace.path());
    command.args(["agent", "--listen", "127.0.0.1:0"]);
    let second = command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap();
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert!(stderr.contains("another toolhost (pid "), "{stderr}");
    assert_eq!(second.status.code(), Some(2));
}

#[tokio::test]
async fn options_reach_the_commands() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("MARK_A", "a")
        .env("OTHER", "b");
    command.args([
        "agent",
        "--nice",
        "7",
        "--max-live",
        "1",
        "--env",
        "MARK_*",
        "--no-cgroup",
    ]);
    let program = Serving::of(command);
    let output = output_of(&program, "echo \"$MARK_A.$OTHER.$TOOLHOST_TOKEN\"; nice").await;
    let own: i32 = String::from_utf8(Command::new("nice").output().unwrap().stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(output["output"], format!("a..\n{}\n", (own + 7).min(19)));
    let health: Value = ok_plain(program.request(Method::GET, "/healthz")).await;
    assert_eq!(health["containment"]["kind"], "supervisor");
    run(&program, &json!({ "command": "sleep 1000" })).await;
    let request = program.request(Method::POST, "/api/v0/processes/start");
    let request = request.body(r#"{"command":"sleep 1000"}"#);
    assert_eq!(request.send().await.unwrap().status(), 429);
}

async fn ok_plain(request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

#[tokio::test]
async fn serve_offers_it_if_it_is_told_to() {
    let workspace = tempfile::tempdir().unwrap();
    for (told, offered) in [("1", true), ("0", false), ("", false), ("true", true)] {
        let mut command = server(workspace.path());
        command
            .env("TOOLHOST_TOKEN", TOKEN)
            .env("TOOLHOST_AGENT_API", told)
            // An empty list is none.
            .env("TOOLHOST_ENV", "");
        command.arg("serve");
        let mut program = Serving::of(command);
        let list = get(&program, "/list").send().await.unwrap();
        assert_eq!(list.status(), if offered { 200 } else { 404 }, "{told}");
        let tools = program.request(Method::GET, "/v1/tools").send().await;
        assert_eq!(tools.unwrap().status(), 200);
        if offered {
            assert_eq!(output_of(&program, "echo hi").await["output"], "hi\n");
        }
        program.signal(Signal::SIGTERM);
    }
}
