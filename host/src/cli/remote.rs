//! The client half of `--server`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use super::token;
use crate::call::Request;
use crate::tool::Format;

/// Which server to use, and how to be let in.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// Use a running server, such as http://127.0.0.1:7411; processes then stay when a call ends
    #[arg(long, value_name = "URL", env = "TOOLHOST_SERVER")]
    server: Option<String>,
    /// A file with the token of the server [default: the variable TOOLHOST_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Remote {
    /// Returns whether a server was named.
    pub(super) fn is_named(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the server that was named, if one was.
    pub(super) fn server(&self) -> anyhow::Result<Option<Server>> {
        let server = self
            .server
            .as_deref()
            .map(|url| Server::new(url, self.token_file.as_deref()));
        server.transpose()
    }
}

/// A running server.
pub(super) struct Server {
    client: Client,
    url: String,
    token: String,
}

impl Server {
    fn new(url: &str, token_file: Option<&Path>) -> anyhow::Result<Self> {
        if !url.starts_with("http://") {
            bail!("{url:?} cannot be reached: name a server as http://HOST:PORT");
        }
        let token = token::configured(token_file)?;
        let token = token.context("a server wants a token: set TOOLHOST_TOKEN or --token-file")?;
        // Calls take as long as they take, and a proxy of the environment has no business with a tool server.
        let client = Client::builder().no_proxy().build()?;
        Ok(Self {
            client,
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    pub(super) async fn tools(&self, format: Format) -> anyhow::Result<Value> {
        let response = self
            .send(Method::GET, &format!("/v1/tools?format={format}"), None)
            .await?;
        response
            .json()
            .await
            .context("the server's answer is not JSON")
    }

    /// Returns the plugins of the server, as it describes them.
    pub(super) async fn plugins(&self) -> anyhow::Result<Value> {
        let response = self.send(Method::GET, "/v1/plugins", None).await?;
        let answer = response.json().await;
        answer.context("the server's answer is not JSON")
    }

    /// Returns the outcome of a call as the server describes it.
    pub(super) async fn call(&self, request: &Request) -> anyhow::Result<Value> {
        let arguments: &serde_json::value::RawValue =
            serde_json::from_str(request.arguments.as_str())?;
        let body = serde_json::to_string(&json!({ "tool": request.tool, "arguments": arguments }))?;
        let path = format!(
            "/v1/chats/{}/calls/{}",
            request.chat,
            escape(request.id.as_str())
        );
        let sent = self.send(Method::PUT, &path, Some(body)).await;
        let response = sent.with_context(|| format!("call {}", request.id))?;
        let lost = || {
            format!(
                "the answer was lost; repeat with `--call {}` to get it",
                request.id
            )
        };
        response.json().await.with_context(lost)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> anyhow::Result<Response> {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let response = request
            .send()
            .await
            .with_context(|| format!("cannot reach {}", self.url))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let problem: Value = response.json().await.unwrap_or_default();
        let detail = problem
            .get("detail")
            .and_then(Value::as_str)
            .unwrap_or("no further details");
        bail!("the server answers {status}: {detail}")
    }
}

/// Percent-encodes what is not unreserved in a path: an id may contain `?`, `#` and `%`.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_escaped_in_paths() {
        assert_eq!(escape("call_7Qx-1.~"), "call_7Qx-1.~");
        assert_eq!(escape("a?b#c%d"), "a%3Fb%23c%25d");
    }
}
