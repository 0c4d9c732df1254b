//! `toolhost call`.

use super::*;

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

/// How commands are run is said once for all who run some.
#[test]
fn commands_are_run_as_a_server_would() {
    let workspace = tempfile::tempdir().unwrap();
    let output = toolhost(workspace.path())
        .env("TOOLHOST_ENV", "MARK_*,")
        .env("TOOLHOST_NICE", "7")
        .env("TOOLHOST_NO_CGROUP", "1")
        .envs([("MARK_A", "a"), ("OTHER", "b")])
        .args(["call", "execute"])
        .arg(r#"{"command":"echo \"$MARK_A.$OTHER\"; nice"}"#)
        .output()
        .unwrap();
    let own = Command::new("nice").output().unwrap().stdout;
    let own: i32 = text(&own).trim().parse().unwrap();
    let expected = format!("a.\n{}\n", (own + 7).min(19));
    assert_eq!(json_of(&output)["output"], expected);
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
            .arg(state.path().join("x"))
            .env("XDG_CACHE_HOME", state.path().join("cache"));
        let output = command
            .args([
                "--log",
                "toolhost=debug",
                "call",
                "--files",
                "none",
                "process_list",
            ])
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
    let state = shared_state("cli");
    let script = "ulimit -v 2000000; exec \"$0\" --workspace \"$1\" --state-dir \"$2\" call --files none execute '{\"command\":\"echo hi\"}'";
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

/// Starts a call of a command that writes its pid to the file `pid`. Returns the program, its pid and that of the command.
async fn running(workspace: &Path, command: &str) -> (Child, nix::unistd::Pid, u32) {
    let arguments = json!({ "command": command, "timeout": "1h" }).to_string();
    let child = toolhost(workspace)
        .args(["call", "execute", &arguments])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = file(&workspace.join("pid")).await;
    let own = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    (child, own, pid.trim().parse().unwrap())
}

#[tokio::test]
async fn an_interrupted_call_replies_with_what_it_has() {
    let workspace = tempfile::tempdir().unwrap();
    let command = "echo partial; echo $$ > pid; exec sleep 1000";
    let (child, own, pid) = running(workspace.path(), command).await;
    nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let reply = json_of(&output);
    assert_eq!(
        (&reply["cancelled"], &reply["output"]),
        (&json!(true), &json!("partial\n"))
    );
    assert_eq!(
        (&reply["running"], &reply["signal"]),
        (&json!(false), &json!("SIGTERM"))
    );
    // `ended_processes` lists only processes that the call did not end itself.
    assert_eq!(reply.get("ended_processes"), None, "{reply}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_second_interrupt_takes_the_grace_from_a_command_that_ignores_the_first() {
    let workspace = tempfile::tempdir().unwrap();
    let command = "trap 'echo > told' TERM; echo $$ > pid; while :; do sleep 0.01; done";
    let (child, own, pid) = running(workspace.path(), command).await;
    nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGINT).unwrap();
    file(&workspace.path().join("told")).await;
    nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGINT).unwrap();
    let reply = json_of(&child.wait_with_output().unwrap());
    assert_eq!(
        (&reply["cancelled"], &reply["signal"]),
        (&json!(true), &json!("SIGKILL"))
    );
    assert!(!is_alive(pid));
}

/// The reply advises a redirection, because no later call could ask for the process.
#[test]
fn long_output_is_not_promised_to_be_kept() {
    let output = run(&["call", "execute", r#"{"command":"seq 100000"}"#]);
    let reply = json_of(&output);
    let note = reply["note"].as_str().unwrap();
    assert!(
        note.contains("COMMAND > FILE") && !note.contains("process_output"),
        "{note}"
    );
    assert_eq!(reply["truncated"]["saved"], false, "{reply}");
    assert_eq!(reply.get("background_process_id"), None, "{reply}");
}

#[test]
fn a_call_loads_no_plugin_after_the_one_with_its_tool() {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("a"), "hello").unwrap();
    let state = tempfile::tempdir().unwrap();
    let audit = state.path().join("audit");
    let trail = audit.join("audit.jsonl");
    let loaded = |tool: &str, arguments: &str, config: &[&str]| {
        let output = toolhost(workspace.path())
            .args(config)
            .args(["call", tool, arguments, "--audit-dir"])
            .arg(&audit)
            .output()
            .unwrap();
        let lines = std::fs::read_to_string(&trail).unwrap();
        std::fs::remove_file(&trail).unwrap();
        let events = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let plugins = events.filter(|event| event["event"] == "plugin");
        let names: Vec<_> = plugins
            .map(|event| event["plugin"].as_str().unwrap().to_owned())
            .collect();
        (output, names)
    };
    let command = r#"{"command":"true"}"#;
    let (output, names) = loaded("execute", command, &[]);
    assert_eq!(
        (output.status.code(), names),
        (Some(0), vec!["shell".into()])
    );
    let all = ["shell".to_owned(), "files".into()];
    let (output, names) = loaded("read_file", r#"{"path":"a"}"#, &[]);
    assert_eq!((output.status.code(), &*names), (Some(0), &all[..]));
    // The error names the tools of all plugins.
    let (output, names) = loaded("none", "{}", &[]);
    assert_eq!(names, all);
    let error = text(&output.stderr);
    assert!(
        error.contains("execute") && error.contains("read_file"),
        "{error}"
    );
    // A setting can take the tool away.
    let config = state.path().join("toolhost.toml");
    std::fs::write(&config, "[plugins.shell]\nenabled = false\n").unwrap();
    let config = ["--config", config.to_str().unwrap()];
    let (output, names) = loaded("execute", command, &config);
    assert_eq!((output.status.code(), names), (Some(2), all.to_vec()));
}
