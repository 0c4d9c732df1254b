//! The cases of `cases.json`, natively. The host's tests put the same cases through the component.
//!
//! Each says what the workspace does (by a script), and what the model reads. To write down the replies of today, to be looked
//! at in the diff: `WRITE_CASES=1 cargo test -p toolhost-shell cases`.

use serde_json::{Map, Value, json};
use toolhost_sdk::processes::{
    Cause, Error, ExpectedOutput, Screen, Stdin, TerminalSize, Trigger, Wake,
};
use toolhost_sdk::testing::{FakeProcess, FakeProcesses, Input};
use toolhost_sdk::{Tool, ToolError};

use crate::execute::Execute;
use crate::process_input::ProcessInput;
use crate::process_list::ProcessList;
use crate::process_output::ProcessOutput;
use crate::process_signal::ProcessSignal;
use crate::{execute, process_input, process_list, process_output, process_signal};

fn text<'a>(script: &'a Value, name: &str) -> Option<&'a str> {
    script[name].as_str()
}

fn process(script: &Value) -> FakeProcess {
    let mut process = FakeProcess::new(text(script, "id").unwrap());
    if let Some(output) = text(script, "prints") {
        process = process.prints(output);
    }
    if let Some(wake) = text(script, "wait") {
        process = process.wakes(match wake {
            "matched" => Wake::Matched,
            "timed_out" => Wake::TimedOut,
            other => panic!("{other}"),
        });
    }
    if script["takes_input"] == true {
        process = process.takes_input();
    }
    if let Some(shown) = text(script, "shows") {
        process = process.shows(Screen {
            size: TerminalSize::default(),
            text: shown.to_owned(),
            cursor: Some((1, 1)),
            title: String::new(),
            alternate: script["alternate"] == true,
            application_keys: script["alternate"] == true,
        });
    }
    for port in script["listens_on"].as_array().into_iter().flatten() {
        let number = port[0].as_u64().and_then(|number| number.try_into().ok());
        process = process.listens_on(number.unwrap(), port[1].as_str());
    }
    if let Some(error) = text(script, "input_fails") {
        process = process.fails_to_take_input(Error::Failed(error.to_owned()));
    }
    if let Some(error) = text(script, "wait_fails") {
        process = process.fails_to_wait(Error::Failed(error.to_owned()));
    }
    if let Some(error) = text(script, "snapshot_fails") {
        process = process.fails_to_snapshot(Error::Failed(error.to_owned()));
    }
    let code = |name: &str| {
        script[name]
            .as_i64()
            .map(|code| i32::try_from(code).unwrap())
    };
    if let Some(code) = code("exits") {
        process = process.exits(code);
    }
    if let Some(signal) = text(script, "is_ended_by") {
        process = process.is_ended_by(signal, Cause::Itself);
    }
    if let Some(why) = text(script, "is_lost") {
        process = process.is_lost(why);
    }
    if let Some(code) = code("lingers") {
        let survivors = script["survivors"].as_array().unwrap();
        let survivors: Vec<_> = survivors
            .iter()
            .map(|one| {
                (
                    u32::try_from(one[0].as_u64().unwrap()).unwrap(),
                    one[1].as_str().unwrap(),
                )
            })
            .collect();
        process = process.lingers(code, &survivors);
    }
    process
}

fn workspace(case: &Value) -> FakeProcesses {
    let processes = FakeProcesses::new();
    if let Some(error) = text(case, "start_fails") {
        return processes.fails_to_start(Error::Failed(error.to_owned()));
    }
    let several = case["processes"].as_array().into_iter().flatten();
    let processes = several.fold(processes, |processes, script| {
        processes.has(process(script), "npm run dev")
    });
    match &case["process"] {
        Value::Null => processes,
        script if case["tool"] == "execute" => processes.starts(process(script)),
        script => processes.has(process(script), "npm run dev"),
    }
}

/// Returns what the model reads, without what differs from run to run, and what was started.
fn outcome(case: &Value) -> Map<String, Value> {
    let processes = workspace(case);
    let arguments = case["arguments"].to_string();
    let reply = match case["tool"].as_str().unwrap() {
        Execute::NAME => parsed(&arguments)
            .and_then(|arguments| execute::run(&processes, arguments))
            .map(|report| json!(report)),
        ProcessOutput::NAME => parsed(&arguments)
            .and_then(|arguments| process_output::run(&processes, arguments))
            .map(|report| json!(report)),
        ProcessInput::NAME => parsed(&arguments)
            .and_then(|arguments| process_input::run(&processes, arguments))
            .map(|report| json!(report)),
        ProcessSignal::NAME => parsed(&arguments)
            .and_then(|arguments| process_signal::run(&processes, &arguments))
            .map(|outcome| json!(outcome)),
        ProcessList::NAME => parsed::<process_list::Arguments>(&arguments)
            .map(|_| json!(process_list::run(&processes, 0))),
        other => panic!("{other}"),
    };
    let mut outcome = Map::new();
    match reply {
        Ok(mut reply) => {
            reply
                .as_object_mut()
                .unwrap()
                .shift_remove("wall_duration_ms");
            outcome.insert("reply".to_owned(), reply);
        }
        Err(error) => _ = outcome.insert("refusal".to_owned(), error.to_string().into()),
    }
    if let Some(started) = processes.started().first() {
        let mut shown = json!({
            "command": started.command,
            "workdir": started.workdir,
            "background": started.background,
        });
        match started.stdin {
            Stdin::Pipe => shown["stdin"] = "pipe".into(),
            Stdin::Terminal(_) => shown["stdin"] = "terminal".into(),
            Stdin::None | Stdin::Bytes(_) => {}
        }
        outcome.insert("started".to_owned(), shown);
    }
    let written = |(_, input)| match input {
        Input::Bytes(bytes) => json!(String::from_utf8(bytes).unwrap()),
        Input::Close => json!("(the end)"),
        Input::Resize(size) => json!([size.rows, size.columns]),
    };
    let written: Vec<_> = processes.inputs().into_iter().map(written).collect();
    if !written.is_empty() {
        outcome.insert("written".to_owned(), written.into());
    }
    let asked = processes
        .notices()
        .into_iter()
        .map(|(process, on)| match on {
            Trigger::Exit => json!({ "process": process, "on": "exit" }),
            Trigger::Output(ExpectedOutput { pattern, since }) => {
                json!({ "process": process, "on": "output", "pattern": pattern, "since": since })
            }
        });
    let asked: Vec<_> = asked.collect();
    if !asked.is_empty() {
        outcome.insert("notices".to_owned(), asked.into());
    }
    outcome
}

fn parsed<T: serde::de::DeserializeOwned + schemars::JsonSchema>(
    arguments: &str,
) -> Result<T, ToolError> {
    toolhost_sdk::testing::arguments(arguments)
}

#[test]
fn every_case_has_its_outcome() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cases.json");
    toolhost_sdk::testing::check_cases(path, outcome).unwrap();
}
