//! The command line, as a user runs it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{TOKEN, file, is_alive, state_dir, until};

/// The program, in a workspace of its own and with no variable of ours.
fn toolhost(workspace: &Path) -> Command {
    with_state(workspace, &state_dir().join("cli"))
}

/// The program as a server, which has a state directory to itself.
pub(crate) fn server(workspace: &Path) -> Command {
    with_state(workspace, &workspace.join(".state"))
}

fn with_state(workspace: &Path, state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .arg("--workspace")
        .arg(workspace)
        .arg("--state-dir")
        .arg(state);
    command
}

fn run(arguments: &[&str]) -> Output {
    let workspace = tempfile::tempdir().unwrap();
    toolhost(workspace.path()).args(arguments).output().unwrap()
}

fn json_of(output: &Output) -> Value {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(
        text.lines().count(),
        1,
        "one JSON value on one line: {text}"
    );
    serde_json::from_str(text).unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn call_prints_one_json_object() {
    let output = run(&["call", "execute", r#"{"command":"echo hello; uname -s"}"#]);
    let reply = json_of(&output);
    assert_eq!(
        (&reply["success"], &reply["output"]),
        (&json!(true), &json!("hello\nLinux\n"))
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_error_of_the_tool_is_json_and_exits_with_1() {
    let output = run(&["call", "execute", "{}"]);
    let expected =
        json!({ "error": { "kind": "invalid_arguments", "message": "command is required" } });
    assert_eq!(
        (json_of(&output), output.status.code()),
        (expected, Some(1))
    );
}

#[test]
fn bad_usage_is_one_line_and_exits_with_2() {
    for (arguments, message) in [
        (
            &["call", "execute", "{"][..],
            "toolhost: the arguments are not valid JSON: ",
        ),
        (
            &["call", "execute", "[]"],
            "toolhost: the arguments must be a JSON object, not an array",
        ),
        (
            &["call", "nope"],
            "toolhost: there is no tool \"nope\"; the tools are execute, process_output, process_list, process_signal",
        ),
        (
            &["call", "execute", "--server", "ftp://x"],
            "toolhost: \"ftp://x\" cannot be reached",
        ),
        (
            &["call", "execute", "--server", "http://127.0.0.1:1"],
            "toolhost: a server wants a token",
        ),
        (
            &["tools", "--workspace", "/no/such/place"],
            "toolhost: the workspace /no/such/place cannot be used",
        ),
        (
            &["tools", "--state-dir", "/dev/null"],
            "toolhost: the state directory /dev/null cannot be used",
        ),
    ] {
        let output = run(arguments);
        let stderr = text(&output.stderr);
        assert!(
            stderr.starts_with(message) && stderr.lines().count() == 1,
            "{arguments:?}: {stderr}"
        );
        let parts: Vec<_> = stderr.trim().split(": ").collect();
        let each_once = |part| parts.iter().filter(|other| *other == part).count() == 1;
        assert!(parts.iter().all(each_once), "said twice: {stderr}");
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments:?}"
        );
    }
    for arguments in [
        &[][..],
        &["nope"],
        &["call"],
        &["call", "execute", "--chat", "a b"],
        &["tools", "--format", "x"],
    ] {
        let output = run(arguments);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments:?}"
        );
    }
}

#[test]
fn arguments_may_come_from_standard_input() {
    let workspace = tempfile::tempdir().unwrap();
    let mut child = toolhost(workspace.path())
        .args(["call", "execute", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(br#"{"command":"pwd"}"#)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let root = workspace.path().canonicalize().unwrap();
    assert_eq!(json_of(&output)["output"], format!("{}\n", root.display()));
}

#[test]
fn what_still_runs_is_ended_with_the_call_and_said_so() {
    let output = run(&["call", "execute", r#"{"command":"sleep 1000 & echo hi"}"#]);
    let reply = json_of(&output);
    assert_eq!(
        (&reply["output"], &reply["exit_code"]),
        (&json!("hi\n"), &json!(0))
    );
    assert_eq!(
        reply["ended_processes"][0]["command"],
        "sleep 1000 & echo hi"
    );
    assert!(
        text(&output.stderr).contains("ended process"),
        "{}",
        text(&output.stderr)
    );
    let pid = reply["survivors"][0]["pid"].as_u64().unwrap();
    assert!(!is_alive(u32::try_from(pid).unwrap()));
}

#[test]
fn the_second_call_compiles_nothing() {
    let state = tempfile::tempdir().unwrap();
    let call = || {
        let workspace = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
        command
            .arg("--workspace")
            .arg(workspace.path())
            .arg("--state-dir")
            .arg(state.path().join("x"));
        let output = command
            .args(["--log", "toolhost=debug", "call", "process_list"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr).to_owned()
    };
    let first = call();
    assert!(
        first.contains("code cache miss") && first.contains("compiled"),
        "{first}"
    );
    let second = call();
    assert!(
        second.contains("code cache hit") && !second.contains("compil"),
        "{second}"
    );
}

#[test]
fn a_small_address_space_is_enough() {
    let workspace = tempfile::tempdir().unwrap();
    let state = state_dir().join("cli");
    let script = "ulimit -v 2000000; exec \"$0\" --workspace \"$1\" --state-dir \"$2\" call execute '{\"command\":\"echo hi\"}'";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_toolhost")])
        .arg(workspace.path())
        .arg(state)
        .output()
        .unwrap();
    assert_eq!(
        json_of(&output)["output"],
        "hi\n",
        "{}",
        text(&output.stderr)
    );
    assert!(
        text(&output.stderr).contains("no pool of instances"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn tools_are_printed_for_each_provider() {
    let output = run(&["tools", "--format", "anthropic"]);
    let tools: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tools[0]["name"], "execute");
    assert!(tools[0]["input_schema"]["properties"]["command"].is_object());
}

/// A server that was started from the command line.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) stderr: String,
    /// What it says after that.
    rest: Option<std::thread::JoinHandle<String>>,
}

impl Drop for Serving {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Serving {
    fn start(mut command: Command) -> Self {
        command.arg("serve");
        Self::of(command)
    }

    /// Starts a command line that lacks nothing but the address.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut stderr = String::new();
        let url = loop {
            let line = lines.next().expect("it says where it listens").unwrap();
            stderr.push_str(&line);
            stderr.push('\n');
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        let rest = std::thread::spawn(move || {
            let lines: Vec<_> = lines.map_while(Result::ok).collect();
            lines.join("\n")
        });
        Self {
            child,
            url,
            stderr,
            rest: Some(rest),
        }
    }

    pub(crate) fn rest(&mut self) -> String {
        self.rest.take().unwrap().join().unwrap()
    }

    pub(crate) fn signal(&mut self, signal: nix::sys::signal::Signal) -> std::process::ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
        self.child.wait().unwrap()
    }
}

#[tokio::test]
async fn processes_stay_with_a_server_until_it_ends() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let call = |arguments: &[&str]| {
        let mut command = toolhost(workspace.path());
        command
            .env("TOOLHOST_TOKEN", TOKEN)
            .args(arguments)
            .args(["--server", &serving.url]);
        command.output().unwrap()
    };
    let started = call(&[
        "call",
        "execute",
        r#"{"command":"echo $$ > pid; exec sleep 1000 &"}"#,
        "--chat",
        "x",
    ]);
    assert!(json_of(&started).get("ended_processes").is_none());
    let pid: u32 = file(&workspace.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    let listed = json_of(&call(&["call", "process_list", "--chat", "x"]));
    assert_eq!(listed["processes"][0]["running"], true);
    // The same id again is the same call.
    let once = [
        "call",
        "execute",
        r#"{"command":"echo x >> counter; cat counter"}"#,
        "--call",
        "c?#%1",
    ];
    assert_eq!(json_of(&call(&once)), json_of(&call(&once)));
    let mismatch = call(&[
        "call",
        "execute",
        r#"{"command":"true"}"#,
        "--call",
        "c?#%1",
    ]);
    assert!(
        text(&mismatch.stderr).contains("409"),
        "{}",
        text(&mismatch.stderr)
    );
    assert_eq!(mismatch.status.code(), Some(2));
    assert_eq!(call(&["call", "execute", "{}"]).status.code(), Some(1));
    let tools: Value = serde_json::from_slice(&call(&["tools", "--format", "mcp"]).stdout).unwrap();
    assert_eq!(tools["tools"][0]["name"], "execute");
    assert!(is_alive(pid));
    let status = serving.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(status.code(), Some(0));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_new_token_is_kept_in_a_file_where_nobody_reads_along() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(server(workspace.path()));
    let path = serving
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("token file: "))
        .unwrap()
        .to_owned();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let token = std::fs::read_to_string(&path).unwrap();
    assert!(token.len() == 64 && !serving.stderr.contains(&token));
    let call = |token_file: &str| {
        let mut command = toolhost(workspace.path());
        command.args([
            "call",
            "process_list",
            "--server",
            &serving.url,
            "--token-file",
            token_file,
        ]);
        command.output().unwrap()
    };
    assert_eq!(call(&path).status.code(), Some(0));
    let wrong = workspace.path().join("wrong");
    std::fs::write(&wrong, "wrong").unwrap();
    let refused = call(wrong.to_str().unwrap());
    assert!(text(&refused.stderr).contains("401") && refused.status.code() == Some(2));
    assert_eq!(
        serving.signal(nix::sys::signal::Signal::SIGINT).code(),
        Some(0)
    );
    assert!(!Path::new(&path).exists(), "the token outlives its server");
}

#[test]
fn a_token_file_of_a_successor_is_left_alone() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(server(workspace.path()));
    let mut lines = serving.stderr.lines();
    let path = lines.find_map(|line| line.strip_prefix("token file: "));
    let path = path.unwrap().to_owned();
    std::fs::write(&path, "f".repeat(64)).unwrap();
    serving.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "f".repeat(64));
}

/// Waits for the end of a program that says little, and returns what it said.
async fn finished(mut child: Child) -> Output {
    until("the program ends", || child.try_wait().unwrap()).await;
    child.wait_with_output().unwrap()
}

const LEAVES_A_PROCESS: [&str; 5] = [
    "--log",
    "toolhost=debug",
    "call",
    "execute",
    r#"{"command":"sleep 1000 & echo hi"}"#,
];

#[tokio::test]
async fn a_reply_arrives_although_nobody_reads_standard_error() {
    let workspace = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (full_reader, mut full_writer) = std::io::pipe().unwrap();
    let size = nix::fcntl::fcntl(&full_writer, nix::fcntl::FcntlArg::F_GETPIPE_SZ).unwrap();
    let filling = vec![b'x'; usize::try_from(size).unwrap()];
    full_writer.write_all(&filling).unwrap();
    for stderr in [writer, full_writer] {
        let mut command = toolhost(workspace.path());
        command.args(LEAVES_A_PROCESS).stdout(Stdio::piped());
        let output = finished(command.stderr(stderr).spawn().unwrap()).await;
        assert_eq!(json_of(&output)["output"], "hi\n");
        assert_eq!(output.status.code(), Some(0));
    }
    drop(full_reader);
}

#[tokio::test]
async fn a_server_goes_on_although_nobody_reads_its_log() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("TOOLHOST_LOG", "debug")
        .args(["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = lines
        .find_map(|line| Some(line.unwrap().strip_prefix("listening on ")?.to_owned()))
        .unwrap();
    drop(lines);
    for _ in 0..2 {
        let mut call = toolhost(workspace.path());
        call.env("TOOLHOST_TOKEN", TOKEN).args([
            "call",
            "execute",
            r#"{"command":"echo hi"}"#,
            "--server",
            &url,
        ]);
        assert_eq!(json_of(&call.output().unwrap())["output"], "hi\n");
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(finished(child).await.status.code(), Some(0));
}

#[test]
fn a_default_state_directory_is_not_needed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    // The directory can be made, and the cache in it cannot.
    let state = home.path().join(".local/state/toolhost");
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&state)
        .unwrap();
    std::fs::write(state.join("cache"), "").unwrap();
    let call = |variable: &str, value: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
        let command = command.env_clear().env(variable, value);
        command
            .current_dir(home.path())
            .args(["call", "process_list"])
            .output()
            .unwrap()
    };
    for home in [file.as_path(), home.path()] {
        let output = call("HOME", home);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(stderr.contains("no code cache"), "{stderr}");
    }
    assert_eq!(call("TOOLHOST_STATE_DIR", &file).status.code(), Some(2));
}

#[test]
fn a_directory_that_is_no_state_directory_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let output = run(&["tools", "--state-dir", directory.path().to_str().unwrap()]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("chmod 700"), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
    let mode = directory.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn connections_take_only_some_of_the_descriptors() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 80; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_toolhost"))
        .arg("--workspace")
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(workspace.path().join(".state"))
        .env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let address = serving.url.trim_start_matches("http://").to_owned();
    let connect = || std::net::TcpStream::connect(&address).unwrap();
    let idle: Vec<_> = (0..100).map(|_| connect()).collect();
    // Its turn comes when the others are gone.
    let mut last = connect();
    last.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    drop(idle);
    let answer = std::io::read_to_string(last).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let rest = serving.rest();
    assert!(!rest.contains("accept"), "{rest}");
}

#[tokio::test]
async fn an_interrupted_call_replies_with_what_it_has() {
    let workspace = tempfile::tempdir().unwrap();
    let child = toolhost(workspace.path())
        .args([
            "call",
            "execute",
            r#"{"command":"echo partial; echo $$ > pid; exec sleep 1000","timeout":"1h"}"#,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid: u32 = file(&workspace.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    let own = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let reply = json_of(&output);
    assert_eq!(
        (&reply["cancelled"], &reply["output"]),
        (&json!(true), &json!("partial\n"))
    );
    assert_eq!(output.status.code(), Some(1));
    until("its process is gone", || (!is_alive(pid)).then_some(())).await;
}

#[test]
fn help_names_every_command() {
    let output = run(&["--help"]);
    let help = text(&output.stdout);
    assert!(
        [
            "call",
            "tools",
            "serve",
            "agent",
            "--workspace",
            "--state-dir",
            "--log"
        ]
        .iter()
        .all(|word| help.contains(word)),
        "{help}"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn no_command_of_the_same_user_can_read_the_memory_of_the_host() {
    const NOBODY: u32 = 65534;
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("nobody");
    std::fs::create_dir(&directory).unwrap();
    let program = base.path().join("toolhost");
    let built = env!("CARGO_BIN_EXE_toolhost");
    std::fs::hard_link(built, &program)
        .or_else(|_| std::fs::copy(built, &program).map(|_| ()))
        .unwrap();
    let mut command = Command::new(program);
    // Root may read everything, so that nothing would be shown.
    if nix::unistd::geteuid().is_root() {
        std::fs::set_permissions(
            base.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        std::os::unix::fs::chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .arg("--workspace")
        .arg(&directory)
        .arg("--state-dir")
        .arg(directory.join("state"));
    command.env("TOOLHOST_TOKEN", "canary-of-the-host");
    let probe = r#"{"command":"cat /proc/$PPID/environ; ls /proc/$PPID/fd; env; echo end"}"#;
    let output = command.args(["call", "execute", probe]).output().unwrap();
    let reply = json_of(&output);
    let shown = reply["output"].as_str().unwrap();
    assert!(
        shown.contains("Permission denied") && shown.ends_with("end\n"),
        "{reply}"
    );
    assert!(!shown.contains("canary"), "{reply}");
}
