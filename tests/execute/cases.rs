//! The cases of the embedded plugin (`guest-tools/shell/cases.json`), through its component. Its own tests run them natively.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use toolhost_call::call::Actor;
use toolhost_core::PublicAddress;
use toolhost_workspace::operation::{
    Answer, End, InfoOf, ListPorts, Open, Operation, Read, SendInput, SendSignal, Start,
    TakeSnapshot, Wait,
};
use toolhost_workspace::process::{
    Cause, Chunk, Command, Error, ExitStatus, Info, Input, Port, Saved, Screen, Shell, Snapshot,
    Started, State, Stdin, Survivor, Waited, Wake,
};
use toolhost_workspace::{Context, Workspace};

use crate::harness::{Setup, call, request};

/// A workspace that does what a case says.
#[derive(Debug)]
struct Scripted {
    case: Value,
    started: Mutex<Vec<Value>>,
    written: Mutex<Vec<Value>>,
}

/// The script of a process.
#[derive(Clone, Copy, Debug)]
struct Script<'a>(&'a Value);

impl<'a> Script<'a> {
    fn output(self) -> &'a [u8] {
        self.0["prints"].as_str().unwrap_or_default().as_bytes()
    }

    fn failure<T>(self, name: &str) -> Option<Result<T, Error>> {
        let text = self.0[name].as_str()?;
        Some(Err(Error::Failed(text.to_owned())))
    }

    fn state(self) -> State {
        let exited = |code: Option<i64>, signal: Option<&str>| ExitStatus {
            code: code.map(|code| i32::try_from(code).unwrap()),
            signal: signal.map(str::to_owned),
            cause: Cause::Itself,
        };
        if let Some(why) = self.0["is_lost"].as_str() {
            return State::Lost(why.to_owned());
        }
        if let Some(code) = self.0["lingers"].as_i64() {
            return State::Lingering(exited(Some(code), None));
        }
        match (self.0["exits"].as_i64(), self.0["is_ended_by"].as_str()) {
            (None, None) => State::Running,
            (code, signal) => State::Exited(exited(code, signal)),
        }
    }

    fn takes_input(self) -> bool {
        let is_open = self.0["takes_input"] == true || self.0["shows"].is_string();
        is_open && self.state() == State::Running
    }

    fn waited(self) -> Result<Waited, Error> {
        let total = self.output().len() as u64;
        let state = self.state();
        let wake = match self.0["wait"].as_str() {
            Some("matched") => Wake::Matched,
            None if state != State::Running => Wake::Ended,
            _ => Wake::TimedOut,
        };
        let waited = Waited {
            wake,
            state,
            total,
            match_end: (wake == Wake::Matched).then_some(total),
        };
        self.failure("wait_fails").unwrap_or(Ok(waited))
    }

    fn snapshot(self) -> Result<Snapshot, Error> {
        let survivors = self.0["survivors"].as_array().into_iter().flatten();
        let snapshot = Snapshot {
            state: self.state(),
            total: self.output().len() as u64,
            head: self.output().to_vec(),
            tail: Vec::new(),
            survivors: survivors
                .map(|one| Survivor {
                    pid: u32::try_from(one[0].as_u64().unwrap()).unwrap(),
                    command: one[1].as_str().unwrap().to_owned(),
                })
                .collect(),
            saved: Saved::None,
            denials: Vec::new(),
            takes_input: self.takes_input(),
            screen: self.0["shows"].as_str().map(|text| Screen {
                text: text.to_owned(),
                cursor: Some((1, 1)),
                alternate: self.0["alternate"] == true,
                application_keys: self.0["alternate"] == true,
                ..Screen::default()
            }),
        };
        self.failure("snapshot_fails").unwrap_or(Ok(snapshot))
    }

    fn chunk(self, since: u64, max: usize) -> Chunk {
        let start = usize::try_from(since).unwrap().min(self.output().len());
        let rest = &self.output()[start..];
        let data = rest[..rest.len().min(max)].to_vec();
        Chunk {
            offset: start as u64,
            end: data.len() == rest.len() && self.state() != State::Running,
            data,
            total: self.output().len() as u64,
        }
    }

    fn ports(self, id: &str) -> Vec<Port> {
        let ports = self.0["listens_on"].as_array().into_iter().flatten();
        let ports = ports.map(|port| Port {
            number: port[0].as_u64().unwrap().try_into().unwrap(),
            process: id.to_owned(),
        });
        ports.collect()
    }

    fn info(self, id: &str) -> Info {
        Info {
            id: id.to_owned(),
            command: "npm run dev".to_owned(),
            workdir: "/workspace".into(),
            background: true,
            key: None,
            state: self.state(),
            started: SystemTime::UNIX_EPOCH,
            exited: None,
            ran: Duration::ZERO,
            time_left: None,
            expired: false,
            last_output: None,
            total: self.output().len() as u64,
        }
    }
}

impl Scripted {
    /// Returns what the script of a process says, if the case has the process.
    fn find<T>(
        &self,
        id: &str,
        says: impl FnOnce(Script<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let several = self.case["processes"].as_array().into_iter().flatten();
        let mut scripts = several.chain([&self.case["process"]]);
        let found = scripts.find(|script| script["id"] == id);
        found.map_or_else(
            || Err(Error::NotFound(id.to_owned())),
            |found| says(Script(found)),
        )
    }

    fn write(&self, script: Script<'_>, input: Input) -> Result<State, Error> {
        self.written.lock().unwrap().push(match input {
            Input::Bytes(bytes) => json!(String::from_utf8(bytes).unwrap()),
            Input::Close => json!("(the end)"),
            Input::Resize(size) => json!([size.rows, size.columns]),
        });
        script
            .failure("input_fails")
            .unwrap_or_else(|| Ok(script.state()))
    }

    fn start(&self, command: Command) -> Result<Started, Error> {
        let mut shown = json!({
            "command": command.command,
            "workdir": command.workdir,
            "background": command.background,
        });
        match command.stdin {
            Stdin::Pipe => shown["stdin"] = "pipe".into(),
            Stdin::Terminal(_) => shown["stdin"] = "terminal".into(),
            Stdin::None | Stdin::Bytes(_) => {}
        }
        self.started.lock().unwrap().push(shown);
        match self.case["start_fails"].as_str() {
            Some(error) => Err(Error::Failed(error.to_owned())),
            None => Ok(Started {
                id: self.case["process"]["id"].as_str().unwrap().to_owned(),
                is_new: true,
            }),
        }
    }

    fn answer(&self, operation: Operation) -> Answer {
        match operation {
            Operation::Start(Start { command, .. }) => Answer::Start(self.start(command)),
            Operation::Open(Open { chat, id, .. }) => Answer::Open(self.find(&id, |_| Ok(chat))),
            Operation::Wait(Wait { id, .. }) => {
                Answer::Wait(self.find(&id, |script| script.waited()))
            }
            Operation::TakeSnapshot(TakeSnapshot { id, .. }) => {
                Answer::TakeSnapshot(self.find(&id, |script| script.snapshot()))
            }
            Operation::Read(Read { id, since, max, .. }) => {
                Answer::Read(self.find(&id, |script| Ok(script.chunk(since, max))))
            }
            Operation::SendSignal(SendSignal { id, .. }) => {
                Answer::SendSignal(self.find(&id, |script| Ok(script.state())))
            }
            Operation::SendInput(SendInput { id, input, .. }) => {
                Answer::SendInput(self.find(&id, |script| self.write(script, input)))
            }
            Operation::ListPorts(ListPorts { process, .. }) => {
                let id = process.expect("each case is about one process");
                Answer::ListPorts(self.find(&id, |script| Ok(script.ports(&id))))
            }
            Operation::InfoOf(InfoOf { id, .. }) => {
                Answer::InfoOf(self.find(&id, |script| Ok(script.info(&id))))
            }
            Operation::End(End { id, .. }) => {
                Answer::End(self.find(&id, |script| Ok(script.state())))
            }
            Operation::List(_) => Answer::List(Ok((Vec::new(), 0))),
            Operation::EndChat(_) => Answer::EndChat(Ok(Vec::new())),
            other => other.failed(Error::Unavailable("no case asks for this".into())),
        }
    }
}

impl Workspace for Scripted {
    fn root(&self) -> &Path {
        Path::new("/workspace")
    }

    fn shell(&self) -> Shell {
        Shell::Bash
    }

    fn call<'a>(&'a self, _: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        Box::pin(ready(self.answer(operation)))
    }
}

#[tokio::test]
async fn every_case_has_its_outcome() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../guest-tools/shell/cases.json"
    );
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in &cases {
        let workspace = Arc::new(Scripted {
            case: case.clone(),
            started: Mutex::default(),
            written: Mutex::default(),
        });
        let setup = Setup::with(|builder| builder.workspace(workspace.clone())).await;
        // Where the script has addresses for people, the host has one.
        let url = case["process"]["listens_on"][0][1].as_str();
        if url.is_some() {
            setup.host.set_public_address(PublicAddress {
                origin: "http://127.0.0.1:7411".into(),
                ports: Some("http://localhost:7411".into()),
            });
        }
        let tool = case["tool"].as_str().unwrap();
        let outcome = call(&setup.host, request("chat", tool, &case["arguments"])).await;
        let mut seen = serde_json::Map::new();
        match &outcome.unwrap().result {
            Ok(reply) => {
                let mut reply: Value =
                    serde_json::from_str(reply.structured().unwrap().get()).unwrap();
                reply
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("wall_duration_ms");
                if let Some(id) = reply.get_mut("notice") {
                    assert!(id.as_str().unwrap().starts_with("notice_"), "{id}");
                    // Natively it is a number.
                    *id = "notice_1".into();
                }
                if let (Some(port), Some(url)) = (reply.pointer_mut("/ports/0"), url) {
                    let own = port["url"].as_str().unwrap();
                    assert!(own.starts_with("http://p5173-"), "{own}");
                    assert!(own.contains(".localhost:7411/?toolhost-link="), "{own}");
                    port["url"] = url.into();
                    port["expires_at_unix"] = 1_800_000_000.into();
                }
                seen.insert("reply".to_owned(), reply);
            }
            Err(error) => _ = seen.insert("refusal".to_owned(), error.message.clone().into()),
        }
        if let Some(started) = workspace.started.lock().unwrap().first() {
            seen.insert("started".to_owned(), started.clone());
        }
        let written = std::mem::take(&mut *workspace.written.lock().unwrap());
        if !written.is_empty() {
            seen.insert("written".to_owned(), written.into());
        }
        let chat = "chat".parse().unwrap();
        let asked = setup.host.notices(&chat, &Actor::default()).await;
        let asked = asked.iter().map(|notice| {
            let mut asked = json!({ "process": notice.process });
            let trigger = json!(notice.trigger);
            let fields = asked.as_object_mut().unwrap();
            fields.extend(trigger.as_object().unwrap().clone());
            asked
        });
        let asked: Vec<_> = asked.collect();
        if !asked.is_empty() {
            seen.insert("notices".to_owned(), asked.into());
        }
        assert_eq!(Some(&seen), case["outcome"].as_object(), "{}", case["name"]);
        setup.host.shutdown().await;
    }
    assert!(cases.len() > 40);
}
