//! MCP as clients speak it: the real program over pipes, and the server over real HTTP, both in raw JSON-RPC.

mod bounds;
mod cancelling;
mod changes;
mod chats;
mod content;
mod found;
mod library;
mod mistakes;
mod narrow;
mod outputs;
mod pipes;
mod resources;
mod restart;
mod sessions;
mod stateless;
mod tasks;
mod traces;
mod workspaces;

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use toolhost_core::Host;

use crate::harness::{PATIENCE, Server, Setup, TOKEN, file, shared_state, state_dir};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// What a client of the newest revision sends with each request.
fn with_meta(mut params: Value, more: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let fields = meta.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    params["_meta"] = meta;
    params
}

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": client })
}

fn execute(command: &str) -> Value {
    json!({ "name": "execute", "arguments": { "command": command, "timeout": "1h" } })
}

/// The program `toolhost mcp` and the client on the other end of its pipes.
struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What came in while something else was waited for.
    early: Vec<Value>,
    last: u64,
    workspace: TempDir,
}

impl Pipes {
    /// Starts the program so that it replies with structured content.
    fn start(arguments: &[&str]) -> Self {
        Self::start_as_is(&[&["--structured"], arguments].concat())
    }

    fn start_as_is(arguments: &[&str]) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let mut command = Command::from(crate::harness::serving::client());
        shared_state("mcp/toolhost");
        command
            .env("XDG_STATE_HOME", state_dir().join("mcp"))
            .args(["--log", "error", "mcp", "--workspace"])
            .arg(workspace.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            early: Vec::new(),
            last: 0,
            workspace,
        }
    }

    /// A client of revision 2025-11-25, after its handshake.
    async fn initialized(arguments: &[&str]) -> Self {
        let mut pipes = Self::start(arguments);
        pipes.request("initialize", initialize()).await;
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        pipes.send(&note).await;
        pipes
    }

    async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let written = tokio::time::timeout(PATIENCE, input.write_all(bytes));
        written.await.expect("nobody reads").unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    /// Sends a request and returns its id.
    async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request).await;
        id
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.reply(id).await
    }

    /// Calls a tool and returns the result.
    async fn call(&mut self, params: Value) -> Value {
        let reply = self.request("tools/call", params).await;
        assert!(reply.get("result").is_some(), "{reply}");
        reply["result"].clone()
    }

    /// Waits for the response to a request.
    async fn reply(&mut self, id: u64) -> Value {
        self.next(|message| message["id"] == id).await
    }

    async fn notification(&mut self, method: &str) -> Value {
        self.next(|message| message["method"] == method).await
    }

    /// Waits for a message, and keeps all others for later.
    async fn next(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&is_wanted) {
            return self.early.remove(at);
        }
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, self.output.read_line(&mut line));
            assert_ne!(read.await.expect("there is no message").unwrap(), 0);
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if is_wanted(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Waits for the pid that a command wrote into this file.
    async fn pid(&self, name: &str) -> u32 {
        pid(self.workspace.path().join(name)).await
    }

    /// Closes the pipe to the program, and returns what else it says until it ends by itself.
    async fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = String::new();
        let read = tokio::time::timeout(PATIENCE, self.output.read_to_string(&mut rest));
        read.await.expect("the program goes on").unwrap();
        assert!(self.child.wait().await.unwrap().success());
        let lines = rest.lines().map(|line| serde_json::from_str(line).unwrap());
        self.early.into_iter().chain(lines).collect()
    }
}

async fn pid(path: impl AsRef<Path>) -> u32 {
    file(path.as_ref()).await.trim().parse().unwrap()
}

/// A server and how MCP clients reach it.
struct Http {
    setup: Setup,
    server: Server,
    wire: Wire,
}

impl std::ops::Deref for Http {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl Http {
    async fn start() -> Self {
        Self::of(Setup::new().await).await
    }

    async fn of(setup: Setup) -> Self {
        let server = Server::start(setup.host.clone()).await;
        Self::with(setup, server)
    }

    fn with(setup: Setup, server: Server) -> Self {
        let wire = Wire::to(&server.url);
        Self {
            setup,
            server,
            wire,
        }
    }

    fn host(&self) -> &Host {
        &self.setup.host
    }
}

/// A client of MCP over HTTP.
struct Wire {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Wire {
    /// A client of a server, with the token of tests.
    fn to(server: &str) -> Self {
        Self {
            client: crate::harness::client(),
            url: format!("{server}/mcp"),
            token: TOKEN.to_owned(),
        }
    }

    fn with_method(&self, method: reqwest::Method) -> reqwest::RequestBuilder {
        let request = self.client.request(method, &self.url);
        request.bearer_auth(&self.token)
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        let request = self.with_method(reqwest::Method::POST);
        request
            .header("accept", "application/json, text/event-stream")
            .header("toolhost-structured", "true")
            .json(message)
    }

    /// Sends a request of the newest revision, and returns what comes back.
    async fn send(&self, method: &str, params: Value, meta: Value) -> Events {
        let name = ["name", "uri", "taskId"].map(|key| params[key].as_str().map(str::to_owned));
        let name = name.into_iter().flatten().next();
        let params = with_meta(params, meta);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self
            .post(&message)
            .header("mcp-protocol-version", NEW)
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        Events::of(request.send().await.unwrap())
    }

    /// The same, and returns the response to it.
    async fn request(&self, method: &str, params: Value, meta: Value) -> Value {
        self.send(method, params, meta).await.reply(1).await
    }

    /// Begins a session and returns its id.
    async fn session(&self) -> String {
        let (status, id, reply) = self.try_session().await;
        assert_eq!(
            (status, reply["result"]["protocolVersion"].as_str()),
            (200, Some(OLD))
        );
        let id = id.unwrap();
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let accepted = self.within(&id, &note).await.response.status();
        assert_eq!(accepted, 202);
        id
    }

    async fn try_session(&self) -> (u16, Option<String>, Value) {
        self.try_session_with(initialize()).await
    }

    async fn try_session_with(&self, params: Value) -> (u16, Option<String>, Value) {
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post(&message).send().await.unwrap();
        let id = response.headers().get("mcp-session-id");
        let id = id.map(|id| id.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        if status != 200 {
            return (status, id, response.json().await.unwrap());
        }
        (status, id, Events::of(response).reply(0).await)
    }

    /// Sends a message within a session.
    async fn within(&self, session: &str, message: &Value) -> Events {
        let request = self
            .post(message)
            .header("mcp-session-id", session)
            .header("mcp-protocol-version", OLD);
        Events::of(request.send().await.unwrap())
    }

    /// Opens a stream of a session: the standalone one, or the one of this event.
    async fn listen(&self, session: &str, last: Option<&str>) -> Events {
        let mut request = self
            .with_method(reqwest::Method::GET)
            .header("mcp-session-id", session)
            .header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        Events::of(request.send().await.unwrap())
    }

    /// Ends a session, and returns the status of the answer.
    async fn end(&self, session: &str) -> u16 {
        let request = self.with_method(reqwest::Method::DELETE);
        let ended = request.header("mcp-session-id", session).send().await;
        ended.unwrap().status().as_u16()
    }

    /// Sends a request within a session, and returns the response to it.
    async fn ask(&self, session: &str, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.within(session, &message).await.reply(1).await
    }
}

/// The messages of a response: one as JSON, or any number as events.
struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// The id of the last event, from where to go on.
    last: Option<String>,
}

impl Events {
    fn of(response: reqwest::Response) -> Self {
        Self {
            response,
            buffer: Vec::new(),
            last: None,
        }
    }

    fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    async fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("there is no response");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Waits for the next message; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        let is_events = self.response.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/event-stream");
        loop {
            let end = self.buffer.windows(2).position(|end| end == b"\n\n");
            if let Some(end) = end.filter(|_| is_events) {
                let event: Vec<_> = self.buffer.drain(..end + 2).collect();
                let event = String::from_utf8(event).unwrap();
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
                self.last = field("id:")
                    .map(|id| id.trim().to_owned())
                    .or(self.last.take());
                let data = field("data:");
                match data.map(str::trim).filter(|data| !data.is_empty()) {
                    Some(data) => return Some(serde_json::from_str(data).unwrap()),
                    // Where to go on if the connection is lost, or a sign of life.
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            match chunk.expect("there is no message").ok().flatten() {
                Some(chunk) => self.buffer.extend(chunk),
                None if self.buffer.is_empty() || is_events => return None,
                None => {
                    let body = std::mem::take(&mut self.buffer);
                    return Some(serde_json::from_slice(&body).unwrap());
                }
            }
        }
    }
}
