//! The reference's cases, and ours, with scripted processes.

mod advice;
mod foreground;

use insta::assert_snapshot;
use toolhost_sdk::processes::Wake;
use toolhost_sdk::testing::{self, FakeProcess, FakeProcesses};

use super::*;
use crate::notes;

/// Runs `execute` with these arguments, and returns its reply with one field per line, without the time it took and the shell.
fn reply(processes: &FakeProcesses, arguments: &str) -> String {
    let mut report = run(processes, serde_json::from_str(arguments).unwrap()).unwrap();
    report.wall_duration_ms = 0;
    assert_eq!(report.shell.take(), Some("bash"));
    serde_json::to_string_pretty(&report).unwrap()
}

/// Runs a command in the foreground.
fn run_command(processes: &FakeProcesses, command: &str) -> Report {
    run(
        processes,
        Arguments {
            command: command.to_owned(),
            ..Arguments::default()
        },
    )
    .unwrap()
}

fn one(process: FakeProcess) -> FakeProcesses {
    FakeProcesses::new().starts(process)
}

fn refusal(arguments: &str) -> String {
    testing::call::<Execute>(arguments).unwrap_err().to_string()
}

#[test]
fn describes_itself_to_the_model() {
    let schema = Schema::of_arguments::<Arguments>();
    let schema = schema.value();
    assert!(Execute::DESCRIPTION.contains("Runs in {{shell}}, without a terminal"));
    assert_eq!(schema["required"], serde_json::json!(["command"]));
    assert_eq!(schema["additionalProperties"], false);
    let intent = &schema["properties"]["model_intent"];
    assert_eq!(intent["type"], "string");
    for part in ["alongside the command", "do not repeat the command"] {
        assert!(
            intent["description"].as_str().unwrap().contains(part),
            "{intent}"
        );
    }
    for (name, kind) in [
        ("timeout", "string"),
        ("workdir", "string"),
        ("run_in_background", "boolean"),
    ] {
        assert_eq!(schema["properties"][name]["type"], kind, "{name}");
    }
}

#[test]
fn checks_its_arguments_first() {
    assert_eq!(refusal("{}"), "command is required");
    assert_eq!(
        refusal(r#"{"command": "", "timeout": "x"}"#),
        "command is required"
    );
    assert_eq!(
        refusal(r#"{"command": "a", "timeout": "soon"}"#),
        "invalid timeout \"soon\": a duration is written like 10s, 500ms or 1m30s"
    );
    for (timeout, bound) in [
        ("0s", "more than 0s"),
        ("-5s", "more than 0s"),
        ("61m", "at most 1h"),
        ("1h0m0.001s", "at most 1h"),
    ] {
        let refusal = refusal(&format!(r#"{{"command": "a", "timeout": "{timeout}"}}"#));
        let expected = format!("invalid timeout \"{timeout}\": it must be {bound}. To ");
        assert!(refusal.starts_with(&expected), "{refusal}");
        // It says what to do instead.
        assert!(
            refusal.contains("run_in_background: true") && refusal.contains("process_output"),
            "{refusal}"
        );
    }
    assert!(
        refusal(r#"{"command": "a", "timeout": []}"#).starts_with("invalid argument `timeout`: ")
    );
    assert_eq!(
        refusal(r#"{"command": "a", "timeout": "5s", "timeout_ms": 5}"#),
        "pass timeout or timeout_ms, not both"
    );
    assert_eq!(
        refusal(r#"{"command": "a", "time_out": "5s"}"#),
        "invalid arguments: there is no argument `time_out`; did you mean `timeout`? The arguments are `command`, \
         `model_intent`, `timeout`, `workdir`, `run_in_background`, `server`, `terminal`, `keep_input_open`, `notify`, `after`."
    );
}

#[test]
fn takes_what_other_tools_call_its_arguments() {
    for (arguments, timeout) in [
        (r#"{"cmd": "a", "cwd": "b", "timeout": 30}"#, 30_000),
        (r#"{"cmd": "a", "cwd": "b", "timeout": 0.5}"#, 500),
        (
            r#"{"command": "a", "workdir": "b", "timeout_ms": 1500}"#,
            1500,
        ),
        (r#"{"command": "a", "workdir": "b"}"#, 10_000),
    ] {
        let processes = one(FakeProcess::new("p1").exits(0));
        let begun = Instant::now();
        run(&processes, serde_json::from_str(arguments).unwrap()).unwrap();
        let started = &processes.started()[0];
        assert_eq!(
            (started.command.as_str(), started.workdir.as_deref()),
            ("a", Some("b"))
        );
        let asked = processes.waits()[0].1.timeout;
        let expected = Duration::from_millis(timeout);
        assert!(
            asked <= expected && asked + begun.elapsed() >= expected,
            "{asked:?}"
        );
    }
}

#[test]
fn starts_in_the_background() {
    let processes = one(FakeProcess::new("bg-42").prints("not shown"));
    let arguments = r#"{"command": "cmd &", "run_in_background": true, "timeout": "nonsense"}"#;
    assert_snapshot!(reply(&processes, arguments), @r#"
    {
      "success": true,
      "exit_code": 0,
      "wall_duration_ms": 0,
      "background_process_id": "bg-42",
      "command": "cmd &",
      "running": true,
      "backgrounded": true,
      "status": "running",
      "cursor": 0
    }
    "#);
    let started = &processes.started()[0];
    assert_eq!(
        (started.command.as_str(), started.background),
        ("cmd &", true)
    );
    assert!(processes.waits().is_empty());
}

#[test]
fn promotes_a_trailing_ampersand() {
    let processes = one(FakeProcess::new("p1"));
    assert_snapshot!(reply(&processes, r#"{"command": "npm run dev & # server", "timeout": "0s"}"#), @r#"
    {
      "success": true,
      "exit_code": 0,
      "wall_duration_ms": 0,
      "note": "The trailing \"&\" was removed and the whole command was started in the background instead. Use process_output with process_id \"p1\" to read its output; next time set run_in_background.",
      "background_process_id": "p1",
      "command": "npm run dev",
      "running": true,
      "backgrounded": true,
      "status": "running",
      "cursor": 0
    }
    "#);
    let started = &processes.started()[0];
    assert_eq!(
        (started.command.as_str(), started.background),
        ("npm run dev", true)
    );
}

#[test]
fn says_what_came_of_a_trailing_ampersand_that_ended_at_once() {
    let process = FakeProcess::new("p1")
        .prints("bash: line 1: nosuchprogram: command not found\n")
        .exits(127);
    let processes = one(process);
    assert_snapshot!(reply(&processes, r#"{"command": "nosuchprogram &"}"#), @r#"
    {
      "success": false,
      "output": "bash: line 1: nosuchprogram: command not found\n",
      "exit_code": 127,
      "wall_duration_ms": 0,
      "note": "The trailing \"&\" was removed. The command has ended already: nothing runs in the background.",
      "command": "nosuchprogram",
      "running": false,
      "backgrounded": true,
      "status": "exited",
      "cause": "itself",
      "cursor": 47
    }
    "#);
    assert!(processes.started()[0].background);
    assert!(
        processes
            .waits()
            .iter()
            .all(|(_, wait)| wait.timeout <= LOOK)
    );
}

#[test]
fn runs_a_trailing_ampersand_of_which_a_part_lives_in_the_background() {
    for process in [
        FakeProcess::new("p1").wakes(Wake::TimedOut),
        FakeProcess::new("p1").lingers(0, &[(7, "server")]),
        FakeProcess::new("p1").fails_to_wait(Error::UnknownOutcome("gone".into())),
    ] {
        let report = run_command(&one(process), "server &");
        assert_eq!(report.background_process_id.as_deref(), Some("p1"));
        assert!(
            report.success
                && report
                    .note
                    .unwrap()
                    .contains("was started in the background")
        );
    }
}

#[test]
fn follows_the_shell_of_the_workspace() {
    for (shell, name, started) in [(Shell::Bash, "bash", "a &>f"), (Shell::Sh, "sh", "a &>f &")] {
        let processes = one(FakeProcess::new("p1").wakes(Wake::TimedOut)).runs_in(shell);
        let report = run_command(&processes, "a &>f &");
        assert_eq!(report.shell, Some(name));
        assert_eq!(processes.started()[0].command, started);
    }
}

#[test]
fn runs_other_ampersands_as_they_are() {
    for command in ["cmd", "cmd &&", "cmd |&", "a & b", "(a &)", "& a"] {
        let processes = one(FakeProcess::new("p1").exits(0));
        let report = run_command(&processes, command);
        assert_eq!(report.background_process_id, None);
        let started = &processes.started()[0];
        assert_eq!(
            (started.command.as_str(), started.background),
            (command, false)
        );
    }
}

#[test]
fn reports_a_command_that_does_not_start() {
    let processes = FakeProcesses::new().fails_to_start(Error::Failed("connection lost".into()));
    assert_snapshot!(reply(&processes, r#"{"command": "a"}"#), @r#"
    {
      "success": false,
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "start process: connection lost",
      "command": "a",
      "running": false,
      "backgrounded": false,
      "status": "failed_to_start"
    }
    "#);
    let processes =
        FakeProcesses::new().fails_to_start(Error::Limit("32 processes are running".into()));
    let report = reply(&processes, r#"{"command": "a", "run_in_background": true}"#);
    assert!(
        report.contains("start background process: 32 processes are running; end a process with"),
        "{report}"
    );
}

#[test]
fn suggests_a_better_tool_for_files() {
    let report = run_command(&one(FakeProcess::new("p1").exits(0)), "cat foo.txt");
    assert_eq!(report.note.as_deref(), Some(notes::FILE_DUMP));
    let report = run_command(&one(FakeProcess::new("p1").exits(0)), "cat foo.txt | wc -l");
    assert_eq!(report.note, None);
}

#[test]
fn says_that_an_ampersand_split_a_url() {
    let command = r#"{"command": "curl http://h/?a=1&b=2 -o f"}"#;
    assert_snapshot!(reply(&one(FakeProcess::new("p1").exits(0)), command), @r#"
    {
      "success": true,
      "exit_code": 0,
      "wall_duration_ms": 0,
      "note": "The unquoted \"&\" split the command: `b=2 -o f` ran as a command of its own. Put the URL in quotes.",
      "command": "curl http://h/?a=1&b=2 -o f",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cursor": 0
    }
    "#);
    let lingers = one(FakeProcess::new("p1").lingers(0, &[(7, "curl http://h/?a=1")]));
    let report = run_command(&lingers, "curl http://h/?a=1&b=2");
    assert!(!report.note.unwrap().contains("run_in_background"));
    let promoted = r#"{"command": "curl http://h/?a=1&b=2 &"}"#;
    let report = reply(&one(FakeProcess::new("p1")), promoted);
    assert!(
        report.contains("was removed") && report.contains("`b=2` ran as a command of its own"),
        "{report}"
    );
}

/// As in the tools for files.
#[test]
fn a_directory_is_understood_as_models_mean_it() {
    let processes = one(FakeProcess::new("p1").exits(0));
    let arguments = r#"{"command": "a", "workdir": "file:///workspace/a%20b"}"#;
    run(&processes, serde_json::from_str(arguments).unwrap()).unwrap();
    assert_eq!(
        processes.started()[0].workdir.as_deref(),
        Some("/workspace/a b")
    );
    for workdir in ["~", "~/x", "$HOME/x", "C:\\\\x"] {
        let text = refusal(&format!(r#"{{"command": "a", "workdir": "{workdir}"}}"#));
        assert!(text.starts_with("workdir "), "{text}");
        assert!(
            text.contains("use a path in /workspace, absolute or relative to it"),
            "{text}"
        );
    }
}
