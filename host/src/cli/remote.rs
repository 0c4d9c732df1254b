//! `--server`: the client of a running server.

mod calls;
mod chats;
mod connection;
mod console;
mod events;
mod follow;
mod local;
mod now;
mod plugins;
mod processes;
mod trust;
mod workspaces;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::Common;
pub(super) use calls::{Content, Filter, Page};
pub(super) use chats::Chat;
use connection::{Answer, Endpoint};
pub(super) use events::Events;
pub(super) use follow::{Follower, Piece};
pub(super) use now::{Now, RunningCall, Snapshot};
pub(super) use processes::Process;
use toolhost_call::call::{Outcome, Request};
use toolhost_call::tool::{ErrorKind, Format};
use toolhost_plugin::shown;
use toolhost_state::id::{CallId, ChatId};

/// The server to use, and the token for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "A running server")]
pub(super) struct Remote {
    /// Use a running server: http://127.0.0.1:7411, https://tools.example.com, unix:/PATH, or `local` for the one that uses the
    /// state directory; processes then stay when a call ends
    #[arg(long, value_name = "URL", env = "TOOLHOST_SERVER")]
    server: Option<String>,
    /// A file with the token of the server, which others must not be able to read [default: the variable TOOLHOST_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file with the certificates of the authorities that the server's may be from, or with the server's own, also if that
    /// signed itself [default: those that the system trusts]
    #[arg(long, value_name = "FILE", env = "TOOLHOST_CA")]
    ca: Option<PathBuf>,
}

impl Remote {
    /// Returns whether a server was named.
    pub(super) fn is_named(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the server that was named, if one was.
    pub(super) fn server(&self, common: &Common) -> anyhow::Result<Option<Server>> {
        let token_file = self.token_file.as_deref();
        match self.server.as_deref() {
            None => Ok(None),
            Some(LOCAL) => local::required(common, token_file).map(Some),
            Some(url) => Server::new(url, token_file, self.ca.as_deref()).map(Some),
        }
    }

    /// Returns the server that was named, or else the one that uses the state directory.
    pub(super) fn required(&self, common: &Common) -> anyhow::Result<Server> {
        match self.server(common)? {
            Some(server) => Ok(server),
            None => local::required(common, self.token_file.as_deref()),
        }
    }

    /// Says on a terminal that a call of this process is in no list of the server that uses the state directory, if one does.
    pub(super) fn tell_of_server(&self, common: &Common) {
        if !std::io::stderr().is_terminal() || !matches!(local::found(common, None), Ok(Some(_))) {
            return;
        }
        toolhost_service::stderr::line(
            "toolhost: this call runs apart from the server that is running, and is in none of its lists: add --server local to have \
             that server run it",
        );
    }

    /// Returns the server that was named, or else the one that uses the state directory, if one does.
    pub(super) fn found(&self, common: &Common) -> anyhow::Result<Option<Server>> {
        match self.server(common)? {
            Some(server) => Ok(Some(server)),
            None => local::found(common, self.token_file.as_deref()),
        }
    }
}

/// The value of `--server` for the server that uses the state directory.
pub(super) const LOCAL: &str = "local";

/// A running server.
pub(super) struct Server {
    place: Endpoint,
    url: String,
    /// `None`: the server identifies the client by the Unix socket.
    token: Option<String>,
    token_file: Option<PathBuf>,
    /// A token for a socket that asks for one: its server has an approval hook.
    spare: Option<String>,
}

impl Server {
    fn new(url: &str, token_file: Option<&Path>, ca: Option<&Path>) -> anyhow::Result<Self> {
        let place = Endpoint::new(url, ca)?;
        let token = toolhost_service::token::configured(token_file)?;
        if token.is_none() && place.socket.is_none() {
            bail!("a server needs a token: set TOOLHOST_TOKEN or --token-file");
        }
        Ok(Self {
            place,
            url: url.to_owned(),
            token,
            token_file: token_file.map(Path::to_owned),
            spare: None,
        })
    }

    pub(super) async fn tools(
        &self,
        format: Format,
        strict: bool,
        chat: Option<&ChatId>,
    ) -> anyhow::Result<Value> {
        let mut url = self.place.url(&["v1", "tools"]);
        url.set_query(Some(&format!("format={format}&strict={strict}")));
        if let Some(chat) = chat {
            url.query_pairs_mut().append_pair("chat", chat.as_str());
        }
        let answer = self.send(Method::GET, url, None).await?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Returns the outcome of a call.
    pub(super) async fn call(&self, request: &Request) -> anyhow::Result<Outcome> {
        let arguments: &serde_json::value::RawValue =
            serde_json::from_str(request.arguments.as_str())?;
        let body = serde_json::to_string(&json!({ "tool": request.tool, "arguments": arguments }))?;
        let url = self.url(request);
        let sent = self.send(Method::PUT, url, Some(body)).await;
        let answer = sent.with_context(|| format!("call {}", request.id))?;
        let outcome: Outcome = answer.json().context("the server's answer is no outcome")?;
        match &outcome.result {
            // On the command line, a person made the name up and not a model.
            Err(error) if error.kind == ErrorKind::UnknownTool => {
                let error = self.with_failed_plugins(&error.message).await;
                Err(error.context(format!("call {}", request.id)))
            }
            _ => Ok(outcome),
        }
    }

    /// Cancels a call, and returns its outcome; `None` if it has not arrived, and will not run.
    pub(super) async fn cancel(
        &self,
        chat: &ChatId,
        id: &CallId,
    ) -> anyhow::Result<Option<Outcome>> {
        let url = self
            .place
            .url(&["v1", "chats", chat.as_str(), "calls", id.as_str()]);
        let answer = self.send(Method::DELETE, url, None).await?;
        if answer.status == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let outcome = answer.json().context("the server's answer is no outcome")?;
        Ok(Some(outcome))
    }

    /// Returns command lines that look at a call and that cancel it.
    pub(super) fn commands(&self, request: &Request) -> [String; 2] {
        let token = match (&self.token_file, &self.token) {
            (Some(file), _) => {
                format!(
                    " -H \"Authorization: Bearer $(cat {})\"",
                    quoted(&file.to_string_lossy())
                )
            }
            (None, Some(_)) => " -H \"Authorization: Bearer $TOOLHOST_TOKEN\"".to_owned(),
            (None, None) => String::new(),
        };
        let option = |name: &str, path: Option<&PathBuf>| {
            let path = path.map(|path| format!(" {name} {}", quoted(&path.to_string_lossy())));
            path.unwrap_or_default()
        };
        let ca = option("--cacert", self.place.ca.as_ref());
        let socket = option("--unix-socket", self.place.socket.as_ref());
        let url = quoted(self.url(request).as_str());
        ["", " -X DELETE"].map(|method| format!("curl -sS{method}{ca}{socket}{token} {url}"))
    }

    /// Returns the URL of a call.
    fn url(&self, request: &Request) -> Url {
        let (chat, id) = (request.chat.as_str(), request.id.as_str());
        self.place.url(&["v1", "chats", chat, "calls", id])
    }

    async fn send(&self, method: Method, url: Url, body: Option<String>) -> anyhow::Result<Answer> {
        let answer = self.open(method, url, body, None).await?;
        let answer = self.place.read(answer).await;
        answer.with_context(|| format!("cannot reach {}", self.url))
    }

    /// Sends a request, and returns the answer before its body has come. With `accept`, the client wants this media type.
    async fn open(
        &self,
        method: Method,
        url: Url,
        body: Option<String>,
        accept: Option<&str>,
    ) -> anyhow::Result<Response> {
        let cannot = || format!("cannot reach {}", self.url);
        let ask = async |token: Option<&str>| {
            let asked = self.place.ask(&method, &url, token, &body, accept);
            asked.await.with_context(cannot)
        };
        let mut answer = ask(self.token.as_deref()).await?;
        if let (StatusCode::UNAUTHORIZED, Some(spare)) = (answer.status(), &self.spare) {
            answer = ask(Some(spare)).await?;
        }
        if answer.status().is_success() {
            return Ok(answer);
        }
        let answer = self.place.read(answer).await.with_context(cannot)?;
        Err(Refusal::of(&answer).into())
    }
}

/// An answer that is no success.
#[derive(Debug, thiserror::Error)]
#[error("the server answers {status}: {detail}")]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The kind of the problem, as docs/http.md lists them; empty if the answer is no problem document.
    pub(super) code: String,
    detail: String,
}

impl Refusal {
    fn of(answer: &Answer) -> Self {
        let problem: Value = answer.json().unwrap_or_default();
        let text = |key: &str| problem.get(key).and_then(Value::as_str);
        Self {
            status: answer.status,
            code: text("code").unwrap_or_default().to_owned(),
            // The server quotes names that clients chose.
            detail: shown(text("detail").unwrap_or("no further details")),
        }
    }

    /// Returns the refusal that an error is about, if it is about one.
    pub(super) fn within(error: &anyhow::Error) -> Option<&Self> {
        error.downcast_ref()
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:%@+=,".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted("http://[::1]:1/a%20b"), "'http://[::1]:1/a%20b'");
        assert_eq!(quoted("/a/b"), "/a/b");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
