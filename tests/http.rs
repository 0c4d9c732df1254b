//! The server, over real sockets.

mod access;
mod calls;
mod cancelling;
mod crash;
mod elsewhere;
mod ends;
pub(crate) mod events;
mod files;
mod formats;
mod hostile;
pub(crate) mod links;
mod lookup;
mod notices;
mod once;
mod openapi;
mod ports;
mod problems;
mod processes;
mod workspaces;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolhost_http::access::{Access, Token};
use toolhost_server::serve;

use crate::guest::{guest, options};
use crate::harness::{PATIENCE, Server, Setup, TOKEN, is_alive};

async fn server() -> (Setup, Server) {
    let setup = Setup::new().await;
    let mut server = Server::start(setup.host.clone()).await;
    for other in &setup.others {
        server.add(Server::start(other.clone()).await);
    }
    (setup, server)
}

fn execute(command: &str) -> Value {
    json!({ "tool": "execute", "arguments": { "command": command } })
}

/// Sends bytes on a connection of its own and returns everything that comes back until it is closed.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://"))
        .await
        .unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Who gets in: the token, and pages of one origin.
fn access() -> Access {
    Access {
        tokens: Token::new(TOKEN).unwrap().into(),
        origins: vec!["https://chat.example.com".into()],
        ..Access::default()
    }
}
