//! Commands that are waited for.

use insta::assert_snapshot;
use toolhost_sdk::processes::{Cause, Saved, Wake};

use super::*;

#[test]
fn replies_with_what_a_command_printed() {
    let processes = one(FakeProcess::new("p1").prints("hello world").exits(0));
    assert_snapshot!(reply(&processes, r#"{"command": "echo hello world", "model_intent": "greeting", "workdir": "sub"}"#), @r#"
    {
      "success": true,
      "output": "hello world",
      "exit_code": 0,
      "wall_duration_ms": 0,
      "command": "echo hello world",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cursor": 11
    }
    "#);
    let started = &processes.started()[0];
    assert_eq!(
        (started.command.as_str(), started.workdir.as_deref()),
        ("echo hello world", Some("sub"))
    );
    assert!(!started.background);
}

#[test]
fn replies_with_an_exit_code() {
    let processes = one(FakeProcess::new("p1").prints("no\n").exits(42));
    assert_snapshot!(reply(&processes, r#"{"command": "exit 42", "timeout": null}"#), @r#"
    {
      "success": false,
      "output": "no\n",
      "exit_code": 42,
      "wall_duration_ms": 0,
      "command": "exit 42",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cursor": 3
    }
    "#);
}

#[test]
fn replies_with_a_signal() {
    let killed = FakeProcess::new("p1").is_ended_by("SIGKILL", Cause::Itself);
    assert_snapshot!(reply(&one(killed), r#"{"command": "kill -9 $$"}"#), @r#"
    {
      "success": false,
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "killed by SIGKILL",
      "command": "kill -9 $$",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "signal": "SIGKILL",
      "cause": "itself",
      "cursor": 0
    }
    "#);
    let flood = FakeProcess::new("p1").is_ended_by("SIGTERM", Cause::OutputLimit);
    assert_eq!(
        run_command(&one(flood), "yes").error.as_deref(),
        Some("killed by SIGTERM: it wrote more output than the host allows")
    );
}

#[test]
fn leaves_a_command_running_at_its_timeout() {
    let processes = one(FakeProcess::new("p1").prints("partial\n"));
    let begun = Instant::now();
    assert_snapshot!(reply(&processes, r#"{"command": "sleep 100", "timeout": "200ms"}"#), @r#"
    {
      "success": false,
      "output": "partial\n",
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "command timed out after 200ms",
      "note": "The command was not killed and keeps running. Use process_output with process_id \"p1\" to wait for it, or process_signal to end it.",
      "background_process_id": "p1",
      "command": "sleep 100",
      "running": true,
      "backgrounded": false,
      "status": "running",
      "timed_out": true,
      "cursor": 8
    }
    "#);
    assert!(processes.signals().is_empty());
    let (_, waited) = &processes.waits()[0];
    let expected = Duration::from_millis(200);
    assert!(waited.timeout <= expected && waited.timeout + begun.elapsed() >= expected);
}

#[test]
fn waits_for_ten_seconds_unless_told_otherwise() {
    let processes = one(FakeProcess::new("p1"));
    let report = run_command(&processes, "sleep 100");
    assert_eq!(report.error.as_deref(), Some("command timed out after 10s"));
    let processes = one(FakeProcess::new("p1"));
    assert!(
        reply(
            &processes,
            r#"{"command": "sleep 100", "timeout": "1m30s"}"#
        )
        .contains("timed out after 1m30s")
    );
}

#[test]
fn notices_an_end_just_after_the_timeout() {
    let report = run_command(
        &one(FakeProcess::new("p1")
            .wakes(Wake::TimedOut)
            .prints("late")
            .exits(0)),
        "a",
    );
    assert_eq!(
        (report.success, report.timed_out, report.output.as_str()),
        (true, false, "late")
    );
    assert_eq!(report.background_process_id, None);
}

#[test]
fn does_not_take_a_clamped_wait_for_a_timeout() {
    let processes = one(FakeProcess::new("p1")
        .prints("partial\n")
        .wakes(Wake::Clamped));
    assert_snapshot!(reply(&processes, r#"{"command": "make", "timeout": "5m"}"#), @r#"
    {
      "success": true,
      "output": "partial\n",
      "wall_duration_ms": 0,
      "note": "The command is still running and has no exit code yet: one call cannot wait any longer. Use process_output with process_id \"p1\" to go on waiting.",
      "background_process_id": "p1",
      "command": "make",
      "running": true,
      "backgrounded": false,
      "status": "running",
      "cursor": 8
    }
    "#);
    assert_eq!(processes.waits().len(), 1);
}

#[test]
fn says_how_the_command_ended_that_was_cancelled() {
    let cancelled = || {
        FakeProcess::new("p1")
            .prints("partial\n")
            .wakes(Wake::Cancelled)
    };
    let report = |process| {
        let mut report = run_command(&one(process), "make");
        // All but how long it took, and the shell.
        let error = report.error.take();
        report.error = error.map(|error| error.rsplit_once(" after ").unwrap().0.to_owned());
        (report.wall_duration_ms, report.shell) = (0, None);
        serde_json::to_string_pretty(&report).unwrap()
    };
    let ended = cancelled().is_ended_by("SIGTERM", Cause::Signalled);
    assert_snapshot!(report(ended), @r#"
    {
      "success": false,
      "output": "partial\n",
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "the call was cancelled, and SIGTERM ended the command",
      "command": "make",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "signal": "SIGTERM",
      "cause": "signalled",
      "cancelled": true,
      "cursor": 8
    }
    "#);
    assert_snapshot!(report(cancelled()), @r#"
    {
      "success": false,
      "output": "partial\n",
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "the call was cancelled, but the command could not be killed and still runs",
      "background_process_id": "p1",
      "command": "make",
      "running": true,
      "backgrounded": false,
      "status": "running",
      "cancelled": true,
      "cursor": 8
    }
    "#);
    // It had ended before it could be told to.
    assert_snapshot!(report(cancelled().exits(0)), @r#"
    {
      "success": true,
      "output": "partial\n",
      "exit_code": 0,
      "wall_duration_ms": 0,
      "command": "make",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cancelled": true,
      "cursor": 8
    }
    "#);
}

#[test]
fn says_that_a_cancelled_call_started_nothing() {
    testing::surroundings(|now| now.cancelled = true);
    let error = Error::Failed("the call was cancelled".into());
    let report = run_command(&FakeProcesses::new().fails_to_start(error), "make");
    assert!(report.cancelled, "{report:?}");
    assert_eq!(
        (report.exit_code, report.status),
        (Some(-1), Some(Status::FailedToStart))
    );
}

#[test]
fn names_what_outlives_the_command() {
    let lingers = FakeProcess::new("p1")
        .prints("hi\n")
        .lingers(0, &[(4711, "sleep 5")]);
    assert_snapshot!(reply(&one(lingers), r#"{"command": "sleep 5 & echo hi"}"#), @r#"
    {
      "success": true,
      "output": "hi\n",
      "exit_code": 0,
      "wall_duration_ms": 0,
      "note": "The command has ended, but processes that it started are still running. Use process_signal with process_id \"p1\" to end them if they are not wanted.\nNext time start what should keep running by itself, with run_in_background instead of \"&\".",
      "background_process_id": "p1",
      "command": "sleep 5 & echo hi",
      "running": false,
      "backgrounded": false,
      "status": "lingering",
      "cause": "itself",
      "cursor": 3,
      "survivors": [
        {
          "pid": 4711,
          "command": "sleep 5"
        }
      ]
    }
    "#);
    let report = run_command(&one(FakeProcess::new("p1").lingers(3, &[])), "a & exit 3");
    assert_eq!(
        (report.success, report.exit_code, report.status),
        (false, Some(3), Some(Status::Lingering))
    );
}

#[test]
fn recovers_from_a_wait_that_failed() {
    let eof = || Error::Failed("EOF".into());
    let ended = one(FakeProcess::new("p1")
        .fails_to_wait(eof())
        .prints("done")
        .exits(0));
    let report = run_command(&ended, "a");
    assert_eq!(
        (
            report.success,
            report.output.as_str(),
            report.background_process_id
        ),
        (true, "done", None)
    );

    let running = one(FakeProcess::new("p1")
        .prints("partial")
        .fails_to_wait(eof()));
    assert_snapshot!(reply(&running, r#"{"command": "a"}"#), @r#"
    {
      "success": false,
      "output": "partial",
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "get process output: EOF (process still running, use process_output to check later)",
      "background_process_id": "p1",
      "command": "a",
      "running": true,
      "backgrounded": false,
      "status": "running",
      "cursor": 7
    }
    "#);
}

#[test]
fn reports_output_that_cannot_be_read() {
    let gone = || Error::Unavailable("agent disconnected".into());
    let process = FakeProcess::new("p1")
        .fails_to_wait(gone())
        .fails_to_snapshot(Error::Failed("second".into()));
    assert_snapshot!(reply(&one(process), r#"{"command": "a"}"#), @r#"
    {
      "success": false,
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "get process output: agent disconnected; use process_output with ID p1 to retry",
      "background_process_id": "p1",
      "command": "a",
      "backgrounded": false
    }
    "#);
    let process = FakeProcess::new("p1").fails_to_snapshot(gone());
    assert_eq!(
        run_command(&one(process), "a").error.as_deref(),
        Some("command timed out after 10s; failed to get output: agent disconnected")
    );
    let process = FakeProcess::new("p1").exits(3).fails_to_snapshot(gone());
    let report = run_command(&one(process), "a");
    assert_eq!(
        (report.success, report.exit_code, report.status),
        (false, Some(3), Some(Status::Exited))
    );
    let expected = "get process output: agent disconnected; use process_output with ID p1 to retry";
    assert_eq!(report.error.as_deref(), Some(expected));
}

#[test]
fn says_how_to_read_what_is_omitted() {
    let long = FakeProcess::new("p1")
        .prints("0123456789abcde\n".repeat(10_000))
        .exits(0);
    let report = run_command(&one(long.clone().saved(Saved::Complete)), "seq");
    assert!(report.output.len() <= 32 * 1024);
    let text = serde_json::to_string(&report.truncated).unwrap();
    assert_snapshot!(text, @r#"{"original_bytes":160000,"retained_bytes":32704,"omitted_bytes":127296,"clipped_lines":0,"strategy":"head_tail","saved":true}"#);
    assert_snapshot!(report.note.unwrap(), @r#"To read what is omitted, use process_output with process_id "p1" and since=16352."#);
    assert_eq!(report.background_process_id.as_deref(), Some("p1"));

    let longer = FakeProcess::new("p1")
        .prints("0123456789abcde\n".repeat(20_000))
        .exits(0);
    let report = run_command(&one(longer.saved(Saved::Complete)), "seq");
    assert!(report.note.unwrap().contains("go on from match_end"));

    let report = run_command(&one(long.saved(Saved::Failed("disk full".into()))), "seq");
    assert_snapshot!(report.note.unwrap(), @"The full output could not be saved (disk full): what is not shown here may not be readable later.");
    assert_eq!(report.background_process_id, None);
    assert!(
        serde_json::to_string(&report.truncated)
            .unwrap()
            .contains(r#""saved":false"#)
    );
}

#[test]
fn replies_with_the_hash_of_what_is_no_text() {
    let processes = one(FakeProcess::new("p1")
        .prints(b"\x7FELF\x02\x01\x01\0\0\0".repeat(4))
        .exits(0));
    assert_snapshot!(reply(&processes, r#"{"command": "head -c 3 a.out"}"#), @r#"
    {
      "success": true,
      "exit_code": 0,
      "wall_duration_ms": 0,
      "binary": {
        "bytes": 40,
        "sha256": "d1f61c4f209a2ae7d90098541ee616ee999fa85c9fd043c5e3f531d61fd2dad0"
      },
      "note": "The output is binary and not shown. To look at it, pipe it through xxd or strings, or use process_output with process_id \"p1\" and base64=true.",
      "command": "head -c 3 a.out",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cursor": 40
    }
    "#);
}

#[test]
fn shows_what_a_terminal_shows() {
    let output = b"\x1B[32mok\x1B[0m 10%\r\x1B[Kdone caf\xE9\r\n";
    let processes = one(FakeProcess::new("p1").prints(output).exits(0));
    assert_snapshot!(reply(&processes, r#"{"command": "make"}"#), @r#"
    {
      "success": true,
      "output": "done caf�\n",
      "exit_code": 0,
      "wall_duration_ms": 0,
      "encoding_errors": 1,
      "command": "make",
      "running": false,
      "backgrounded": false,
      "status": "exited",
      "cause": "itself",
      "cursor": 30
    }
    "#);
}

#[test]
fn explains_exit_codes_that_stand_for_signals() {
    for (code, expected) in [
        (137, "SIGKILL"),
        (143, "SIGTERM"),
        (139, "SIGSEGV"),
        (134, "SIGABRT"),
    ] {
        let report = run_command(&one(FakeProcess::new("p1").exits(code)), "make");
        let note = report.note.unwrap();
        assert!(
            note.contains(&code.to_string()) && note.contains(expected),
            "{note}"
        );
    }
    let report = run_command(&one(FakeProcess::new("p1").exits(1)), "make");
    assert_eq!(report.note, None);
    let killed = FakeProcess::new("p1").is_ended_by("SIGKILL", Cause::Signalled);
    assert_eq!(run_command(&one(killed), "make").note, None);
}

#[test]
fn says_that_nobody_can_answer() {
    let asks = || FakeProcess::new("p1").prints("Overwrite? [y/N] ");
    let processes = one(asks().wakes(Wake::TimedOut));
    assert_snapshot!(reply(&processes, r#"{"command": "cp -i a b", "timeout": "50ms"}"#), @r#"
    {
      "success": false,
      "output": "Overwrite? [y/N] ",
      "exit_code": -1,
      "wall_duration_ms": 0,
      "error": "command timed out after 50ms",
      "note": "The command was not killed and keeps running. Use process_output with process_id \"p1\" to wait for it, or process_signal to end it.\nThe last line looks like a prompt, but standard input is closed, so that nobody can answer. End the process, and run the command with its answers as options (such as -y) or piped in, or with terminal=true to answer with process_input.",
      "background_process_id": "p1",
      "command": "cp -i a b",
      "running": true,
      "backgrounded": false,
      "status": "running",
      "timed_out": true,
      "cursor": 17
    }
    "#);
    let report = run_command(&one(asks().exits(0)), "cp -i a b");
    assert_eq!(report.note.as_deref(), Some(notes::NO_INPUT));
}

#[test]
fn the_most_useful_notes_come_first() {
    let output = "line\n".repeat(30_000);
    let process = FakeProcess::new("p1")
        .prints(output)
        .saved(Saved::Complete)
        .lingers(137, &[(7, "sleep 5")]);
    let report = run_command(&one(process), "cat big.log");
    let note = report.note.unwrap();
    let lines: Vec<_> = note.lines().collect();
    assert_eq!(lines.len(), 3, "{note}");
    assert!(lines[0].contains("still running"), "{note}");
    assert!(lines[1].contains("137"), "{note}");
    assert!(lines[2].contains("since="), "{note}");
}

#[test]
fn says_that_the_chat_has_ended() {
    let process = FakeProcess::new("p1")
        .is_ended_by("SIGTERM", Cause::Shutdown)
        .fails_to_snapshot(Error::NotFound);
    let report = run_command(&one(process), "make");
    assert!(report.error.unwrap().contains("the chat was ended"));
    assert_eq!(
        (report.background_process_id, report.success),
        (None, false)
    );
}
