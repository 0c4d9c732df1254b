//! The cases of the embedded plugin (`guest-tools/shell/cases.json`), through its component. Its own tests run them natively.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use toolhost_core::ChatId;
use toolhost_workspace::process::{
    Cause, Chunk, Command, Error, ExitStatus, Info, Saved, Signal, Snapshot, Started, State,
    Survivor, WaitOptions, Waited, Wake,
};
use toolhost_workspace::{Owner, Workspace};

use crate::harness::{Setup, call, request};

/// A workspace that does what a case says.
#[derive(Debug)]
struct Scripted {
    case: Value,
    started: Mutex<Vec<Value>>,
}

impl Scripted {
    fn script(&self) -> &Value {
        &self.case["process"]
    }

    fn output(&self) -> &[u8] {
        self.script()["prints"]
            .as_str()
            .unwrap_or_default()
            .as_bytes()
    }

    fn failure<T>(&self, name: &str) -> Option<Result<T, Error>> {
        let text = self.script()[name].as_str()?;
        Some(Err(Error::Failed(text.to_owned())))
    }

    fn state(&self) -> State {
        let exited = |code: Option<i64>, signal: Option<&str>| ExitStatus {
            code: code.map(|code| i32::try_from(code).unwrap()),
            signal: signal.map(str::to_owned),
            cause: Cause::Itself,
        };
        let script = self.script();
        if let Some(why) = script["is_lost"].as_str() {
            return State::Lost(why.to_owned());
        }
        if let Some(code) = script["lingers"].as_i64() {
            return State::Lingering(exited(Some(code), None));
        }
        match (script["exits"].as_i64(), script["is_ended_by"].as_str()) {
            (None, None) => State::Running,
            (code, signal) => State::Exited(exited(code, signal)),
        }
    }

    fn find<T: Send + 'static>(
        &self,
        id: &str,
        found: impl FnOnce() -> Result<T, Error>,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let result = if self.script()["id"] == id {
            found()
        } else {
            Err(Error::NotFound(id.to_owned()))
        };
        ready(result).boxed()
    }
}

impl Workspace for Scripted {
    fn root(&self) -> &Path {
        Path::new("/workspace")
    }

    fn start<'a>(
        &'a self,
        _: Owner<'a>,
        command: Command,
    ) -> BoxFuture<'a, Result<Started, Error>> {
        self.started.lock().unwrap().push(json!({
            "command": command.command,
            "workdir": command.workdir,
            "background": command.background,
        }));
        let result = match self.case["start_fails"].as_str() {
            Some(error) => Err(Error::Failed(error.to_owned())),
            None => Ok(Started {
                id: self.script()["id"].as_str().unwrap().to_owned(),
                is_new: true,
            }),
        };
        ready(result).boxed()
    }

    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        _: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        self.find(id, || Ok(chat.clone()))
    }

    fn wait<'a>(
        &'a self,
        _: Owner<'a>,
        id: &'a str,
        _: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        let total = self.output().len() as u64;
        let state = self.state();
        let wake = match self.script()["wait"].as_str() {
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
        self.find(id, || self.failure("wait_fails").unwrap_or(Ok(waited)))
    }

    fn snapshot<'a>(&'a self, _: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Snapshot, Error>> {
        let survivors = self.script()["survivors"].as_array().into_iter().flatten();
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
        };
        self.find(id, || {
            self.failure("snapshot_fails").unwrap_or(Ok(snapshot))
        })
    }

    fn read<'a>(
        &'a self,
        _: Owner<'a>,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        let start = usize::try_from(since).unwrap().min(self.output().len());
        let rest = &self.output()[start..];
        let data = rest[..rest.len().min(max)].to_vec();
        let chunk = Chunk {
            offset: start as u64,
            end: data.len() == rest.len() && self.state() != State::Running,
            data,
            total: self.output().len() as u64,
        };
        self.find(id, || Ok(chunk))
    }

    fn signal<'a>(
        &'a self,
        _: Owner<'a>,
        id: &'a str,
        _: Signal,
        _: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        self.find(id, || Ok(self.state()))
    }

    fn info<'a>(&'a self, _: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        let info = Info {
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
        };
        self.find(id, || Ok(info))
    }

    fn end<'a>(&'a self, _: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        self.find(id, || Ok(self.state()))
    }

    fn list<'a>(
        &'a self,
        _: Owner<'a>,
        _: bool,
        _: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        ready(Ok((Vec::new(), 0))).boxed()
    }

    fn end_chat<'a>(&'a self, _: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        ready(Ok(Vec::new())).boxed()
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
        });
        let setup = Setup::with(|builder| builder.workspace(workspace.clone())).await;
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
                seen.insert("reply".to_owned(), reply);
            }
            Err(error) => _ = seen.insert("refusal".to_owned(), error.message.clone().into()),
        }
        if let Some(started) = workspace.started.lock().unwrap().first() {
            seen.insert("started".to_owned(), started.clone());
        }
        assert_eq!(Some(&seen), case["outcome"].as_object(), "{}", case["name"]);
        setup.host.shutdown().await;
    }
    assert!(cases.len() > 40);
}
