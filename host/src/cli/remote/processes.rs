//! The processes of a server.

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Refusal, Server};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// The media type of raw output.
const RAW: &str = "application/octet-stream";

/// The most processes of a chat that one request returns.
const MOST_OF_CHAT: usize = 1000;

/// The most processes that an error names.
const NAMED: usize = 10;

/// A process, as far as the command line knows it.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct Process {
    pub(in crate::cli) id: String,
    /// Absent for a process that was started over the agent API without a chat.
    #[serde(default)]
    pub(in crate::cli) chat: Option<String>,
    #[serde(default)]
    pub(in crate::cli) call: Option<String>,
    pub(in crate::cli) command: String,
    pub(in crate::cli) status: String,
    #[serde(default)]
    pub(in crate::cli) exit_code: Option<i32>,
    #[serde(default)]
    pub(in crate::cli) signal: Option<String>,
    #[serde(default)]
    pub(in crate::cli) started_at_unix: Option<u64>,
    #[serde(default)]
    pub(in crate::cli) started_at_unix_ms: Option<u64>,
    #[serde(default)]
    pub(in crate::cli) usage: Option<Usage>,
    #[serde(default)]
    pub(in crate::cli) last_line: Option<String>,
    /// Whether its standard input is open; false in a list.
    #[serde(default)]
    pub(in crate::cli) takes_input: bool,
    /// What its terminal shows; `None` in a list, and without a terminal.
    #[serde(default)]
    pub(in crate::cli) screen: Option<Screen>,
}

/// What the terminal of a process shows.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::cli) struct Screen {
    pub(in crate::cli) text: String,
    /// Whether a program uses all of it.
    pub(in crate::cli) full: bool,
}

/// What a process and everything that it started use.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::cli) struct Usage {
    #[serde(default)]
    pub(in crate::cli) cpu_ms: u64,
    #[serde(default)]
    pub(in crate::cli) memory_bytes: u64,
    #[serde(default)]
    pub(in crate::cli) processes: u64,
}

/// A process, and all that the server says of it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Listed {
    pub(in crate::cli) process: Process,
    pub(in crate::cli) value: Value,
}

/// Output of a process, and where it lies.
pub(in crate::cli) struct Output {
    pub(in crate::cli) offset: u64,
    pub(in crate::cli) bytes: Vec<u8>,
    /// The number of bytes that were written so far.
    pub(in crate::cli) total: u64,
    /// Whether nothing can follow.
    pub(in crate::cli) end: bool,
}

/// A page of processes, and the place of the next one.
#[derive(Debug, Deserialize)]
struct Page {
    processes: Vec<Value>,
    #[serde(default)]
    next: Option<String>,
    #[serde(default)]
    unanswered: Vec<String>,
}

impl Process {
    /// Returns whether something of the process runs.
    pub(in crate::cli) fn is_live(&self) -> bool {
        matches!(self.status.as_str(), "running" | "lingering")
    }

    /// Returns whether the shell of the process runs.
    pub(in crate::cli) fn runs(&self) -> bool {
        self.status == "running"
    }

    /// Returns whether the shell of the process ended with another exit code than 0, or in a way that is not known.
    pub(in crate::cli) fn has_failed(&self) -> bool {
        !self.is_live() && self.exit_code != Some(0)
    }

    /// Returns when it was started, in milliseconds since 1970.
    pub(in crate::cli) fn started_ms(&self) -> Option<u64> {
        let seconds = self
            .started_at_unix
            .map(|started| started.saturating_mul(1000));
        self.started_at_unix_ms.or(seconds)
    }

    /// Returns the chat, which names the process in requests.
    pub(in crate::cli) fn chat(&self) -> anyhow::Result<ChatId> {
        let chat = self.chat.as_deref().with_context(|| {
            format!(
                "the process {} belongs to no chat: use the agent API, by which it was started",
                self.id
            )
        })?;
        Ok(chat.parse()?)
    }
}

impl Listed {
    fn new(mut value: Value, chat: Option<&ChatId>) -> anyhow::Result<Self> {
        // The list of one chat does not repeat its name.
        if let (Some(chat), Value::Object(fields)) = (chat, &mut value) {
            fields.insert("chat".into(), chat.as_str().into());
        }
        let process = Process::deserialize(&value);
        let process = process.context("the server's answer is no list of processes")?;
        Ok(Self { process, value })
    }
}

/// Adds to an error of a list of all chats what a token without a right to that can do.
fn hinted(error: anyhow::Error, chat: Option<&ChatId>) -> anyhow::Error {
    let is_bounded = |refusal: &Refusal| refusal.code == "bounded_token";
    match Refusal::within(&error).is_some_and(is_bounded) && chat.is_none() {
        true => error.context("cannot list the processes of all chats; name one with --chat"),
        false => error,
    }
}

impl Server {
    /// Returns the processes of a chat, or of all chats: those that run first, each part newest first.
    pub(in crate::cli) async fn processes(
        &self,
        chat: Option<&ChatId>,
        running: bool,
    ) -> anyhow::Result<Vec<Listed>> {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let limit = match chat {
                Some(_) => MOST_OF_CHAT,
                None => 500,
            };
            let mut url = match chat {
                Some(chat) => self.place.url(&["v1", "chats", chat.as_str(), "processes"]),
                None => self.place.url(&["v1", "processes"]),
            };
            url.query_pairs_mut()
                .append_pair("running", if running { "true" } else { "false" })
                .append_pair("limit", &limit.to_string())
                .extend_pairs(after.iter().map(|after| ("after", after)));
            let answer = self.send(Method::GET, url, None).await;
            let answer = answer.map_err(|error| hinted(error, chat))?;
            let page: Page = answer
                .json()
                .context("the server's answer is no list of processes")?;
            for value in page.processes {
                all.push(Listed::new(value, chat)?);
            }
            after = page.next;
            if after.is_none() {
                if !page.unanswered.is_empty() {
                    let names = page.unanswered.join(", ");
                    stderr::line(format!(
                        "toolhost: the agents of {names} do not answer: their processes are missing"
                    ));
                }
                return Ok(all);
            }
        }
    }

    /// Returns the process whose id is this, or begins with it.
    pub(in crate::cli) async fn find_process(
        &self,
        id: &str,
        chat: Option<&ChatId>,
    ) -> anyhow::Result<Listed> {
        let mut all = self.processes(chat, false).await?;
        if let Some(exact) = all.iter().position(|one| one.process.id == id) {
            return Ok(all.swap_remove(exact));
        }
        all.retain(|one| one.process.id.starts_with(id));
        let Some(found) = all.pop().filter(|_| !id.is_empty()) else {
            bail!("there is no process {id:?}; `toolhost ps -a` lists those that there are");
        };
        if all.is_empty() {
            return Ok(found);
        }
        all.push(found);
        let more = if all.len() > NAMED { ", …" } else { "" };
        let ids = all.iter().take(NAMED).map(|one| one.process.id.as_str());
        let ids = ids.collect::<Vec<_>>().join(", ");
        bail!("several processes have ids that begin with {id:?}: {ids}{more}")
    }

    /// Returns how a process stands.
    pub(in crate::cli) async fn process(&self, chat: &ChatId, id: &str) -> anyhow::Result<Process> {
        let url = self
            .place
            .url(&["v1", "chats", chat.as_str(), "processes", id]);
        let answer = self.send(Method::GET, url, None).await?;
        answer.json().context("the server's answer is no process")
    }

    /// Returns at most `max` bytes of the output of a process, from a cursor on.
    pub(in crate::cli) async fn output(
        &self,
        chat: &ChatId,
        id: &str,
        since: u64,
        max: usize,
    ) -> anyhow::Result<Output> {
        let path = ["v1", "chats", chat.as_str(), "processes", id, "output"];
        let mut url = self.place.url(&path);
        url.query_pairs_mut()
            .append_pair("since", &since.to_string())
            .append_pair("max", &max.to_string());
        let answer = self.open(Method::GET, url, None, Some(RAW)).await?;
        let header = |name: &str| {
            let value = answer.headers().get(name);
            let text = value.and_then(|value| value.to_str().ok());
            text.with_context(|| format!("the server's answer lacks the header {name}"))
        };
        let offset = header("toolhost-output-offset")?.parse()?;
        let total = header("toolhost-output-total")?.parse()?;
        let end = header("toolhost-output-end")? == "true";
        let answer = self.place.read(answer).await?;
        Ok(Output {
            offset,
            bytes: answer.into_bytes(),
            total,
            end,
        })
    }

    /// Writes to the standard input of a process, ends it, or changes the size of its terminal.
    pub(in crate::cli) async fn input(
        &self,
        chat: &ChatId,
        id: &str,
        input: &Value,
    ) -> anyhow::Result<()> {
        let path = ["v1", "chats", chat.as_str(), "processes", id, "input"];
        let url = self.place.url(&path);
        self.send(Method::POST, url, Some(input.to_string()))
            .await?;
        Ok(())
    }

    /// Sends a signal to a process and to everything that it started, and returns how it stood.
    pub(in crate::cli) async fn signal(
        &self,
        chat: &ChatId,
        id: &str,
        signal: &str,
        grace_ms: Option<u64>,
    ) -> anyhow::Result<Value> {
        let path = ["v1", "chats", chat.as_str(), "processes", id, "signal"];
        let mut body = json!({ "signal": signal });
        if let (Some(grace), Value::Object(fields)) = (grace_ms, &mut body) {
            fields.insert("grace_ms".into(), grace.into());
        }
        let url = self.place.url(&path);
        let answer = self.send(Method::POST, url, Some(body.to_string())).await?;
        answer.json().context("the server's answer is not JSON")
    }
}
