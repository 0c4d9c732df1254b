//! Replies about processes that an earlier call started.

use insta::assert_snapshot;
use toolhost_sdk::testing::{self, FakeProcess, FakeProcesses, surroundings};

use toolhost_sdk::processes::Saved;

use super::*;

fn reply(process: FakeProcess, arguments: &str) -> String {
    let processes = FakeProcesses::new().has(process, "npm run dev");
    let report = run(&processes, serde_json::from_str(arguments).unwrap()).unwrap();
    serde_json::to_string(&report)
        .unwrap()
        .replace(",\"", ",\n\"")
}

/// Looks at a process, and returns the waits that it took.
fn waits(process: FakeProcess, arguments: &str) -> Vec<WaitOptions> {
    let processes = FakeProcesses::new().has(process, "npm run dev");
    run(&processes, serde_json::from_str(arguments).unwrap()).unwrap();
    processes
        .waits()
        .into_iter()
        .map(|(_, options)| options)
        .collect()
}

fn refusal(arguments: &str) -> String {
    testing::call::<ProcessOutput>(arguments)
        .unwrap_err()
        .to_string()
}

#[test]
fn checks_its_arguments_first() {
    assert_eq!(
        refusal(r#"{"wait_timeout": "x"}"#),
        "process_id is required"
    );
    assert_eq!(
        refusal(r#"{"process_id": "p", "wait_timeout": "1m10"}"#),
        "invalid wait_timeout \"1m10\": \"10\" has no unit; a duration is written like 10s, 500ms or 1m30s"
    );
    assert_eq!(
        refusal(r#"{"process_id": "p", "max_bytes": 0}"#),
        "max_bytes must be between 256 and 131072"
    );
    assert!(
        refusal(r#"{"process_id": "p", "wait_time": "5s"}"#)
            .contains("did you mean `wait_timeout`?")
    );
    assert!(
        refusal(r#"{"process_id": "p", "since": -1}"#).starts_with("invalid argument `since`: ")
    );
}

#[test]
fn replies_while_a_process_runs() {
    assert_snapshot!(reply(FakeProcess::new("p").prints("ready\n"), r#"{"process_id": "p"}"#), @r#"
    {"success":true,
    "output":"ready\n",
    "wall_duration_ms":0,
    "note":"process is still running",
    "command":"npm run dev",
    "running":true,
    "status":"running",
    "cursor":6}
    "#);
}

#[test]
fn replies_when_a_process_has_ended() {
    assert_snapshot!(reply(FakeProcess::new("p").prints("ok\n").exits(0), r#"{"process_id": "p"}"#), @r#"
    {"success":true,
    "output":"ok\n",
    "exit_code":0,
    "wall_duration_ms":0,
    "command":"npm run dev",
    "running":false,
    "status":"exited",
    "cause":"itself",
    "cursor":3}
    "#);
    let failed = reply(FakeProcess::new("p").exits(2), r#"{"process_id": "p"}"#);
    assert!(
        failed.contains(r#""success":false"#) && failed.contains(r#""exit_code":2"#),
        "{failed}"
    );
}

#[test]
fn replies_about_a_process_that_was_lost() {
    let lost = FakeProcess::new("p").is_lost("the host stopped at 12:00");
    assert_snapshot!(reply(lost, r#"{"process_id": "p"}"#), @r#"
    {"success":false,
    "exit_code":-1,
    "wall_duration_ms":0,
    "error":"the process was lost: the host stopped at 12:00",
    "command":"npm run dev",
    "running":false,
    "status":"lost",
    "cursor":0}
    "#);
}

#[test]
fn waits_as_long_as_asked() {
    let running = || FakeProcess::new("p");
    for (arguments, timeout) in [
        (r#"{"process_id": "p"}"#, Duration::from_secs(10)),
        (
            r#"{"process_id": "p", "wait_timeout": "1m"}"#,
            Duration::from_mins(1),
        ),
    ] {
        let begun = Instant::now();
        let [wait] = waits(running(), arguments).try_into().unwrap();
        assert!(
            wait.timeout <= timeout && wait.timeout + begun.elapsed() >= timeout,
            "{wait:?}"
        );
        assert!(!wait.output);
    }
    for now in ["0s", "0", "-5s"] {
        assert_eq!(
            waits(
                running(),
                &format!(r#"{{"process_id": "p", "wait_timeout": "{now}"}}"#)
            ),
            []
        );
    }
}

#[test]
fn says_when_a_wait_was_cut_short() {
    let clamped = FakeProcess::new("p").wakes(Wake::Clamped);
    assert!(
        reply(clamped, r#"{"process_id": "p", "wait_timeout": "1h"}"#)
            .contains("cannot wait any longer")
    );
    surroundings(|now| now.remaining = Duration::from_secs(5));
    let short = reply(
        FakeProcess::new("p"),
        r#"{"process_id": "p", "wait_timeout": "1h"}"#,
    );
    assert!(short.contains("cannot wait any longer"), "{short}");
    let cancelled = FakeProcess::new("p")
        .prints("partial")
        .wakes(Wake::Cancelled);
    let cancelled = reply(cancelled, r#"{"process_id": "p"}"#);
    assert!(
        cancelled.contains(r#""cancelled":true"#) && cancelled.contains("partial"),
        "{cancelled}"
    );
}

#[test]
fn reads_on_from_a_cursor() {
    let process = || FakeProcess::new("p").prints("one\ntwo\nthree\n");
    assert_snapshot!(reply(process(), r#"{"process_id": "p", "since": 4}"#), @r#"
    {"success":true,
    "output":"two\nthree\n",
    "wall_duration_ms":0,
    "note":"process is still running",
    "command":"npm run dev",
    "running":true,
    "status":"running",
    "cursor":14}
    "#);
    let part = reply(
        FakeProcess::new("p").prints("123\n".repeat(100)),
        r#"{"process_id": "p", "since": 0, "max_bytes": 256}"#,
    );
    assert!(part.contains(r#""cursor":256"#), "{part}");
    assert!(part.contains("go on with since=256"), "{part}");

    let options = waits(process(), r#"{"process_id": "p", "since": 14}"#);
    assert!(options[0].output && options[0].since == 14);
}

#[test]
fn says_how_much_is_gone() {
    let process = FakeProcess::new("p")
        .prints("0123456789")
        .forgets(6)
        .exits(0);
    assert_snapshot!(reply(process, r#"{"process_id": "p", "since": 2}"#), @r#"
    {"success":true,
    "output":"6789",
    "exit_code":0,
    "wall_duration_ms":0,
    "command":"npm run dev",
    "running":false,
    "status":"exited",
    "cause":"itself",
    "cursor":10,
    "gap_bytes":4}
    "#);
}

#[test]
fn leaves_a_cut_character_to_the_next_reply() {
    let snowman = "ab☃".as_bytes();
    let running = FakeProcess::new("p").prints(&snowman[..4]);
    assert!(reply(running, r#"{"process_id": "p", "since": 0}"#).contains(r#""cursor":2"#));
    let ended = FakeProcess::new("p").prints(&snowman[..4]).exits(0);
    assert!(reply(ended, r#"{"process_id": "p", "since": 0}"#).contains(r#""cursor":4"#));
}

#[test]
fn reports_failures() {
    assert_snapshot!(reply(FakeProcess::new("p"), r#"{"process_id": "other"}"#), @r#"
    {"success":false,
    "exit_code":-1,
    "wall_duration_ms":0,
    "error":"get process output: process \"other\" not found; process_list has those of this chat"}
    "#);
    let first = FakeProcess::new("p")
        .fails_to_wait(Error::Unavailable("agent disconnected".into()))
        .fails_to_snapshot(Error::Failed("second".into()));
    assert!(
        reply(first, r#"{"process_id": "p"}"#).contains("get process output: agent disconnected")
    );
    let unreadable = FakeProcess::new("p")
        .prints("x")
        .fails_to_read(Error::Failed("disk".into()));
    assert!(
        reply(unreadable, r#"{"process_id": "p", "since": 0}"#)
            .contains("get process output: disk")
    );
}

#[test]
fn says_that_the_output_could_not_be_saved_or_is_not_kept() {
    let failed = Saved::Failed("no space left on device".into());
    let report = reply(
        FakeProcess::new("p").prints("ready\n").saved(failed),
        r#"{"process_id": "p"}"#,
    );
    assert!(
        report.contains("could not be saved (no space left on device)"),
        "{report}"
    );
}

#[test]
fn waits_for_a_text() {
    let process = || FakeProcess::new("p").prints("starting\nlistening on 80\n");
    let asked = waits(
        process(),
        r#"{"process_id": "p", "until": "listening", "since": 3}"#,
    );
    assert_eq!(
        (asked[0].until.as_deref(), asked[0].since, asked[0].output),
        (Some("listening"), 3, false)
    );
    let arguments = r#"{"process_id": "p", "until": "listening", "since": 0}"#;
    assert_snapshot!(reply(process().wakes(Wake::Matched), arguments), @r#"
    {"success":true,
    "output":"starting\nlistening on 80\n",
    "wall_duration_ms":0,
    "note":"process is still running",
    "command":"npm run dev",
    "running":true,
    "status":"running",
    "match_end":25,
    "cursor":25}
    "#);
    let bad = process().fails_to_wait(Error::Invalid("unclosed group".into()));
    let processes = FakeProcesses::new().has(bad, "npm run dev");
    let arguments = serde_json::from_str(r#"{"process_id": "p", "until": "("}"#).unwrap();
    assert_eq!(
        run(&processes, arguments).unwrap_err(),
        ToolError::InvalidArguments("invalid until \"(\": unclosed group".into())
    );
}

#[test]
fn a_wait_is_hardly_shorter_than_a_second() {
    for (timeout, expected) in [("1ms", 1000), ("900ms", 1000), ("2s", 2000)] {
        let arguments = format!(r#"{{"process_id": "p", "wait_timeout": "{timeout}"}}"#);
        let begun = Instant::now();
        let asked = waits(FakeProcess::new("p"), &arguments)[0].timeout;
        let expected = Duration::from_millis(expected);
        assert!(
            asked <= expected && asked + begun.elapsed() >= expected,
            "{asked:?}"
        );
    }
    assert!(
        waits(
            FakeProcess::new("p"),
            r#"{"process_id": "p", "wait_timeout": "0s"}"#
        )
        .is_empty()
    );
    let other_names = r#"{"background_process_id": "p", "timeout_ms": 2000}"#;
    assert_eq!(waits(FakeProcess::new("p"), other_names).len(), 1);
}

#[test]
fn replies_with_no_more_than_is_asked_for() {
    let output = "0123456789abcdef\n".repeat(1000);
    let process = || FakeProcess::new("p").prints(&output).exits(0);
    for (arguments, most) in [
        (r#"{"process_id": "p", "max_bytes": 400}"#, 400),
        (r#"{"process_id": "p", "max_bytes": 400, "since": 17}"#, 400),
        (r#"{"process_id": "p"}"#, 32 * 1024),
    ] {
        let processes = FakeProcesses::new().has(process(), "a");
        let report = run(&processes, serde_json::from_str(arguments).unwrap()).unwrap();
        assert!(
            report.output.len() <= most && report.output.len() > 300,
            "{}",
            report.output.len()
        );
    }
}

/// The beginning of a program, ten bytes again and again.
const PROGRAM: &[u8] = b"\x7FELF\x02\x01\x01\0\0\0";

#[test]
fn a_stretch_may_be_no_text() {
    let process = FakeProcess::new("p")
        .prints([b"text\n", &PROGRAM.repeat(4)[..]].concat())
        .exits(0);
    assert_snapshot!(reply(process, r#"{"process_id": "p", "since": 5}"#), @r#"
    {"success":true,
    "exit_code":0,
    "wall_duration_ms":0,
    "binary":{"bytes":40},
    "note":"The output is binary and not shown. To read its bytes, use since=5 and base64=true.",
    "command":"npm run dev",
    "running":false,
    "status":"exited",
    "cause":"itself",
    "cursor":45}
    "#);
}

/// As far as one reply goes, and on from its cursor.
#[test]
fn bytes_can_be_read_as_they_are() {
    let process = || FakeProcess::new("p").prints(PROGRAM.repeat(100)).exits(0);
    let first = reply(
        process(),
        r#"{"process_id": "p", "base64": true, "max_bytes": 990}"#,
    );
    assert!(
        first.contains(r#""cursor":990"#) && first.contains("since=990"),
        "{first}"
    );
    assert_snapshot!(
            reply(process(), r#"{"process_id": "p", "base64": true, "since": 990}"#),
    @r#"
        {"success":true,
        "exit_code":0,
        "wall_duration_ms":0,
        "base64":"f0VMRgIBAQAAAA==",
        "command":"npm run dev",
        "running":false,
        "status":"exited",
        "cause":"itself",
        "cursor":1000}
        "#
        );
}

#[test]
fn a_nul_hides_nothing() {
    let process = FakeProcess::new("p").prints(b"./a\0./b\0").exits(0);
    assert_snapshot!(reply(process, r#"{"process_id": "p"}"#), @r#"
    {"success":true,
    "output":"./a<U+0000>./b<U+0000>",
    "exit_code":0,
    "wall_duration_ms":0,
    "note":"2 characters without ink are shown by number, such as <U+200B>.",
    "command":"npm run dev",
    "running":false,
    "status":"exited",
    "cause":"itself",
    "cursor":8}
    "#);
}

/// What has only begun is left to the next reply, and nobody is woken for it.
#[test]
fn what_is_still_being_written_is_not_shown() {
    for (output, complete) in [(&b"abc\xE2"[..], 3), (b"one \x1B[3", 4)] {
        let process = || FakeProcess::new("p").prints(output);
        let first = reply(process(), r#"{"process_id": "p"}"#);
        assert!(
            first.contains(&format!(r#""cursor":{complete}"#)),
            "{first}"
        );
        let arguments = format!(r#"{{"process_id": "p", "since": {complete}}}"#);
        let next = reply(process(), &arguments);
        assert!(
            next.contains(&format!(r#""cursor":{complete}"#)) && !next.contains("There is more"),
            "{next}"
        );
        let waited_from = waits(process(), &arguments)[0].since;
        assert_eq!(waited_from, output.len() as u64);
        let ended = reply(process().exits(0), &arguments);
        assert!(
            ended.contains(&format!(r#""cursor":{}"#, output.len())),
            "{ended}"
        );
    }
}

#[test]
fn text_is_no_longer_than_asked_for_either() {
    let process = FakeProcess::new("p")
        .prints(b"ab\xE9".repeat(22_000))
        .exits(0);
    let processes = FakeProcesses::new().has(process, "a");
    let arguments = serde_json::from_str(r#"{"process_id": "p", "since": 0}"#).unwrap();
    let report = run(&processes, arguments).unwrap();
    assert!(report.output.len() <= 32_768 && report.output.len() > 30_000);
    assert!(report.note.unwrap().contains("go on with since="));
}

#[test]
fn says_that_a_cursor_is_of_something_else() {
    let report = reply(
        FakeProcess::new("p").prints("abc").exits(0),
        r#"{"process_id": "p", "since": 99}"#,
    );
    assert!(
        report.contains("There are 3 bytes") && report.contains(r#""cursor":3"#),
        "{report}"
    );
    let empty = waits(FakeProcess::new("p"), r#"{"process_id": "p", "until": ""}"#);
    assert_eq!(empty[0].until, None);
}
