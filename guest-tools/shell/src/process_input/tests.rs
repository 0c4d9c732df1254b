//! What is typed for texts and keys, and what a model is told, on scripted processes.

use toolhost_sdk::processes::{Screen, TerminalSize, Wake};
use toolhost_sdk::testing::{FakeProcess, FakeProcesses, Input};

use super::*;

fn screen(text: &str) -> Screen {
    Screen {
        size: TerminalSize::default(),
        text: text.to_owned(),
        cursor: Some((1, 5)),
        title: String::new(),
        alternate: false,
        application_keys: false,
    }
}

fn python() -> FakeProcess {
    FakeProcess::new("p")
        .prints(">>> ")
        .shows(screen(">>> 1 + 1\n2\n>>> "))
}

fn typing(text: &str, keys: &[&str]) -> Arguments {
    Arguments {
        process_id: "p".to_owned(),
        text: (!text.is_empty()).then(|| text.to_owned()),
        keys: (!keys.is_empty()).then(|| keys.iter().map(|&key| key.to_owned()).collect()),
        ..Arguments::default()
    }
}

/// Runs a call on one process, and returns its reply and what was written.
fn reply(process: FakeProcess, arguments: Arguments) -> (Report, Vec<Input>) {
    let processes = FakeProcesses::new().has(process, "python3");
    let report = run(&processes, arguments).unwrap();
    let inputs = processes.inputs().into_iter().map(|(_, input)| input);
    (report, inputs.collect())
}

#[test]
fn text_and_keys_are_typed_in_order() {
    let process = python().wakes(Wake::TimedOut).prints("1 + 1\r\n2\r\n>>> ");
    let (report, inputs) = reply(process, typing("1 + 1\n", &["up", "ctrl-a", "x", "enter"]));
    assert_eq!(inputs, [Input::Bytes(b"1 + 1\r\x1b[A\x01x\r".to_vec())]);
    assert!(report.success);
    assert_eq!(report.output, "1 + 1\n2\n>>> ");
    let screen = report.screen.unwrap();
    assert_eq!(screen.text, ">>> 1 + 1\n2\n>>> ");
}

#[test]
fn a_pipe_gets_lines_and_its_end() {
    let process = FakeProcess::new("p").takes_input();
    let arguments = Arguments {
        close: Some(true),
        ..typing("a\n", &["enter"])
    };
    let (report, inputs) = reply(process, arguments);
    assert_eq!(inputs, [Input::Bytes(b"a\n\n".to_vec()), Input::Close]);
    assert!(report.screen.is_none());
    let processes = FakeProcesses::new().has(FakeProcess::new("p").takes_input(), "cat");
    let refused = run(&processes, typing("", &["ctrl-c"])).unwrap_err();
    assert!(
        refused.to_string().contains("needs a terminal"),
        "{refused}"
    );
    assert_eq!(processes.inputs(), []);
}

#[test]
fn the_screen_of_an_editor_stands_for_its_output() {
    let screen = Screen {
        alternate: true,
        application_keys: true,
        ..screen("~\n~")
    };
    let process = FakeProcess::new("p")
        .prints("\x1b[?1049h")
        .shows(screen)
        .wakes(Wake::TimedOut)
        .prints("\x1b[H~");
    let (report, inputs) = reply(process, typing("", &["down"]));
    assert_eq!(inputs, [Input::Bytes(b"\x1bOB".to_vec())]);
    assert_eq!(report.output, "");
    assert!(report.screen.unwrap().full);
}

#[test]
fn what_takes_no_input_is_told() {
    let (report, inputs) = reply(FakeProcess::new("p"), typing("x", &[]));
    assert_eq!(inputs, []);
    assert!(!report.success && report.error.unwrap().contains("terminal=true"));
    let ended = FakeProcess::new("p").takes_input().exits(3);
    let (report, _) = reply(ended, typing("x", &[]));
    assert_eq!((report.success, report.exit_code), (false, Some(3)));
    let failing = python().fails_to_take_input(Error::Failed("1 of 2 bytes were written".into()));
    let (report, _) = reply(failing, typing("xy", &[]));
    let expected = "write to the process: 1 of 2 bytes were written";
    assert_eq!(report.error.as_deref(), Some(expected));
    let processes = FakeProcesses::new();
    let report = run(&processes, typing("x", &[])).unwrap();
    assert!(report.error.unwrap().contains("not found"));
}

#[test]
fn arguments_that_mean_nothing_are_refused() {
    let processes = FakeProcesses::new().has(python(), "python3");
    for (arguments, text) in [
        (Arguments::default(), "process_id is required"),
        (typing("", &["hyper-x"]), "there is no key \"hyper-x\""),
        (typing("", &["x"; 101]), "at most 100 keys"),
    ] {
        let refused = run(&processes, arguments).unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let nothing = run(&processes, typing("", &[])).unwrap();
    assert!(nothing.error.unwrap().contains("nothing was typed"));
    assert_eq!(processes.inputs(), []);
}

#[test]
fn a_pattern_is_looked_for_after_the_input() {
    let processes = FakeProcesses::new().has(python().wakes(Wake::Matched), "python3");
    let arguments = Arguments {
        until: Some(">>> $".to_owned()),
        ..typing("1\n", &[])
    };
    run(&processes, arguments).unwrap();
    let (_, options) = processes.waits().remove(0);
    assert_eq!(
        (options.since, options.until.as_deref()),
        (4, Some(">>> $"))
    );
}
