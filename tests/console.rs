//! The console: logins, what a cookie may do, the stream of what runs, and the page in a browser.

mod browser;
mod csrf;
mod login;
mod now;
mod operators;

use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use toolhost_http::access::{Principal, Scope, Token, Tokens};

use crate::harness::{PATIENCE, Server, Setup, TOKEN};

/// The token of a reader of some chats.
const READER: &str = "token-of-a-reader";

/// The token of a caller of one tool.
const TOOLS: &str = "token-of-some-tools";

/// The tokens of the tests. Those without bounds are two, because one token may not have all readers of events.
fn tokens() -> Tokens {
    let token = |text: &str| Token::new(text).unwrap();
    let reader = Principal::new("reader", [Scope::Read], Some("a-".into()), None);
    let tools = Some(["read_file".to_owned()].into());
    Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (token("another-token"), Principal::unbounded("other")),
        (token(READER), reader),
        (
            token(TOOLS),
            Principal::new("tools", [Scope::Call], None, tools),
        ),
    ])
}

async fn server() -> (Setup, Server) {
    let setup = Setup::new().await;
    let server = Server::with_tokens(setup.host.clone(), tokens()).await;
    (setup, server)
}

fn execute(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}

/// A browser that follows no redirect, with the cookie that it was given last.
struct Browser {
    client: reqwest::Client,
    url: String,
    cookie: Option<String>,
}

impl Browser {
    fn new(url: &str) -> Self {
        let client = crate::harness::http_client().redirect(Policy::none());
        Self {
            client: client.timeout(PATIENCE).build().unwrap(),
            url: url.to_owned(),
            cookie: None,
        }
    }

    /// Begins a request with the cookie, and with the headers of a page of the console.
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.url));
        let request = request.header("sec-fetch-site", "same-origin");
        let request = match method {
            Method::GET => request,
            _ => request.header("toolhost-console", "1"),
        };
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }

    async fn log_in(&mut self, token: &str) -> Response {
        let request = self.request(Method::POST, "/console/login");
        let body = json!({ "token": token });
        let response = request.json(&body).send().await.unwrap();
        self.keep(&response);
        response
    }

    /// Follows a link to the console.
    async fn follow(&mut self, path: &str) -> Response {
        let response = self.request(Method::GET, path).send().await.unwrap();
        self.keep(&response);
        response
    }

    /// Keeps the cookie of a response.
    fn keep(&mut self, response: &Response) {
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = Some(pair.to_owned());
        }
    }

    /// Returns the status and the body of a `GET`.
    async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, path)).await
    }
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}
