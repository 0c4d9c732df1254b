//! `--server`: the client of a running server.

mod calls;
mod connection;
mod trust;
mod workspaces;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

pub(super) use calls::{Content, Filter, Page};
use connection::{Answer, Endpoint};
use toolhost_call::call::{Outcome, Request};
use toolhost_call::tool::Format;

/// The server to use, and the token for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "A running server")]
pub(super) struct Remote {
    /// Use a running server, such as http://127.0.0.1:7411, https://tools.example.com or unix:/PATH; processes then stay when a
    /// call ends
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
    pub(super) fn server(&self) -> anyhow::Result<Option<Server>> {
        let server = self.server.as_deref();
        let server =
            server.map(|url| Server::new(url, self.token_file.as_deref(), self.ca.as_deref()));
        server.transpose()
    }
}

/// A running server.
pub(super) struct Server {
    place: Endpoint,
    url: String,
    /// `None`: the server identifies the client by the Unix socket.
    token: Option<String>,
    token_file: Option<PathBuf>,
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
        })
    }

    pub(super) async fn tools(&self, format: Format, strict: bool) -> anyhow::Result<Value> {
        let mut url = self.place.url(&["v1", "tools"]);
        url.set_query(Some(&format!("format={format}&strict={strict}")));
        let answer = self.send(Method::GET, url, None).await?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Returns the plugins as the server describes them.
    pub(super) async fn plugins(&self) -> anyhow::Result<Value> {
        let url = self.place.url(&["v1", "plugins"]);
        let answer = self.send(Method::GET, url, None).await?;
        answer.json().context("the server's answer is not JSON")
    }

    /// Has the server load a plugin again.
    pub(super) async fn reload(&self, plugin: &str) -> anyhow::Result<()> {
        let url = self.place.url(&["v1", "plugins", plugin, "reload"]);
        self.send(Method::POST, url, None).await?;
        Ok(())
    }

    /// Returns the outcome of a call.
    pub(super) async fn call(&self, request: &Request) -> anyhow::Result<Outcome> {
        let arguments: &serde_json::value::RawValue =
            serde_json::from_str(request.arguments.as_str())?;
        let body = serde_json::to_string(&json!({ "tool": request.tool, "arguments": arguments }))?;
        let url = self.url(request);
        let sent = self.send(Method::PUT, url, Some(body)).await;
        let answer = sent.with_context(|| format!("call {}", request.id))?;
        answer.json().context("the server's answer is no outcome")
    }

    /// Cancels a call, and returns its outcome; `None` if it has not arrived, and will not run.
    pub(super) async fn cancel(&self, request: &Request) -> anyhow::Result<Option<Outcome>> {
        let url = self.url(request);
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
        let token = self.token.as_deref();
        let answer = self.place.ask(method, url, token, body).await;
        let answer = answer.with_context(|| format!("cannot reach {}", self.url))?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let problem: Value = answer.json().unwrap_or_default();
        let detail = problem
            .get("detail")
            .and_then(Value::as_str)
            .unwrap_or("no further details");
        bail!("the server answers {}: {detail}", answer.status)
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
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
