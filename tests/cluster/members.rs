//! Servers of one database that forward requests, each behind an address that it keeps.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use reqwest::{RequestBuilder, Response};

use super::*;
use crate::harness::proxy::Proxy;
use crate::harness::serving::{Serving, server};
use crate::harness::{Certificate, TOKEN};

/// A token for chats that begin with `narrow-`.
pub(super) const NARROW: &str = "a-token-for-few-chats";

/// A server, started from the command line, behind an address that it keeps.
pub(super) struct Member {
    pub(super) directory: TempDir,
    pub(super) proxy: Proxy,
    pub(super) serving: Option<Serving>,
    /// The files of its certificate and its key, if it speaks TLS.
    tls: Option<[PathBuf; 2]>,
}

impl Member {
    /// Starts a server of a database.
    pub(super) async fn start(database: &str, name: &str) -> Self {
        Self::with(database, name, None, None).await
    }

    /// Starts a server that has this certificate, if it speaks TLS, and trusts this other one.
    pub(super) async fn with(
        database: &str,
        name: &str,
        certificate: Option<&Certificate>,
        trusted: Option<&Certificate>,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // It has no target before the server has an address.
        let proxy = Proxy::to("http://127.0.0.1:1").await;
        let ca = trusted.map(|trusted| format!("ca = {:?}\n", trusted.files[0]));
        let ca = ca.unwrap_or_default();
        let text = format!(
            "[store]\nurl = {database:?}\nconnections = 4\nname = {name:?}\naddress = {:?}\n[cluster]\nforward = true\n{ca}[tokens.narrow]\nfile = \"narrow.token\"\nscopes = [\"call\"]\nchats = \"narrow-\"\n",
            proxy.url.replace(
                "http",
                if certificate.is_some() {
                    "https"
                } else {
                    "http"
                }
            )
        );
        let token = directory.path().join("narrow.token");
        std::fs::write(&token, NARROW).unwrap();
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(directory.path().join("toolhost.toml"), text).unwrap();
        let mut member = Self {
            directory,
            proxy,
            serving: None,
            tls: certificate.map(|certificate| certificate.files.clone()),
        };
        member.run();
        member
    }

    /// Runs the server, which goes on with its state directory.
    pub(super) fn run(&mut self) {
        let mut command = server(self.directory.path());
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["--log", "error", "--config"]);
        command.arg(self.directory.path().join("toolhost.toml"));
        command.args(["serve", "--drain", "5m"]);
        if let Some([certificate, key]) = &self.tls {
            command.arg("--tls-cert").arg(certificate);
            command.arg("--tls-key").arg(key);
        }
        let serving = Serving::of(command);
        self.proxy.retarget(&serving.url);
        self.serving = Some(serving);
    }

    /// Kills the server.
    pub(super) fn kill(&mut self) {
        drop(self.serving.take());
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.serving.as_ref().unwrap().request(method, path)
    }

    pub(super) async fn put(&self, chat: &str, call: &str, body: Value) -> Response {
        let path = format!("/v1/chats/{chat}/calls/{call}");
        let request = self.request(Method::PUT, &path).json(&body);
        request.send().await.unwrap()
    }

    /// Puts a call that ends well, and returns its outcome.
    pub(super) async fn called(&self, chat: &str, call: &str, body: Value) -> Value {
        let (status, outcome) = read(self.put(chat, call, body).await).await;
        assert_eq!(status, 200, "{outcome}");
        outcome
    }

    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        read(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Waits until a line was written to a file of the workspace.
    pub(super) async fn begun(&self, file: &str) {
        crate::harness::file(&self.directory.path().join(file)).await;
    }
}

pub(super) async fn read(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Two servers of one database, of which the second has the chat `b`.
pub(super) async fn two() -> (String, Member, Member) {
    let database = postgres::database();
    let one = Member::start(&database, "one").await;
    let other = Member::start(&database, "other").await;
    other.called("b", "first", here("true")).await;
    (database, one, other)
}
