//! Checks that the reference does not have: access, paths outside of the workspace, and special files.

use toolhost_server::ServerParts;
use toolhost_workspace::files::FilesGrant;

use super::*;
use crate::harness::{Server, Setup};

/// A request of each endpoint about one path.
fn each(agent: &Agent, path: &str) -> Vec<(&'static str, RequestBuilder)> {
    vec![
        (
            "list-directory",
            agent.list_directory(&[("path", path)], &json!({})),
        ),
        ("resolve-path", agent.ask("resolve-path", &[("path", path)])),
        ("read-file", agent.ask("read-file", &[("path", path)])),
        (
            "read-file-lines",
            agent.ask("read-file-lines", &[("path", path)]),
        ),
        ("write-file", agent.write(&[("path", path)], "overwritten")),
        (
            "edit-files",
            agent.edit_one(path, &[replace("secret", "overwritten")]),
        ),
    ]
}

/// Checks that each endpoint refuses a path; `read-file-lines` does so in a reply that succeeds.
async fn each_refuses(agent: &Agent, path: &str, text: &str) {
    for (endpoint, request) in each(agent, path) {
        let (status, body) = reply(request).await;
        let (expected, said) = match endpoint {
            "read-file-lines" => (200, &body["error"]),
            _ => (403, &body["message"]),
        };
        assert_eq!(status, expected, "{endpoint} {path}: {body}");
        assert!(
            said.as_str().unwrap().contains(text),
            "{endpoint} {path}: {body}"
        );
    }
}

#[tokio::test]
async fn nobody_gets_in_without_the_token() {
    let agent = Agent::new().await;
    let path = agent.make("file", "secret");
    for (endpoint, request) in each(&agent, &path) {
        let (_, request) = request.build_split();
        for token in [None, Some("Bearer wrong")] {
            let mut request = request.as_ref().unwrap().try_clone().unwrap();
            request.headers_mut().remove("authorization");
            if let Some(token) = token {
                let token = token.parse().unwrap();
                request.headers_mut().insert("authorization", token);
            }
            let response = agent.server.client.execute(request).await.unwrap();
            assert_eq!(response.status(), 401, "{endpoint}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            let body: Value = response.json().await.unwrap();
            assert!(body["message"].is_string(), "{body}");
        }
    }
    assert_eq!(agent.text("file"), "secret");
}

#[tokio::test]
async fn what_is_outside_of_the_workspace() {
    let agent = Agent::new().await;
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let secret = outside.join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let secret = secret.to_str().unwrap();
    agent.link("to-file", secret);
    agent.link("to-directory", outside.to_str().unwrap());
    agent.link("to-nothing", outside.join("new").to_str().unwrap());
    agent.link("up", "..");
    agent.link("proc", "/proc/self/root");
    let root = agent.root().display().to_string();
    let is_outside = format!(" is outside of the workspace {root}");
    for path in [
        secret,
        "/",
        "/etc/passwd",
        &format!("/proc/self/root{secret}"),
        &format!("/proc/self/root{root}/file"),
        &agent.path("to-file"),
        &agent.path("to-directory/secret"),
        &agent.path("to-nothing"),
        &agent.path(&format!("proc{secret}")),
        &agent.path("../nothing"),
        &format!("{root}-not/file"),
    ] {
        each_refuses(&agent, path, &is_outside).await;
    }
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    let body = json!({ "path": [], "relativity": "root" });
    refused(agent.list_directory(&[], &body), 403, &is_outside).await;
    let body = json!({ "path": [".."], "relativity": "home" });
    refused(agent.list_directory(&[], &body), 403, &is_outside).await;
}

#[tokio::test]
async fn links_that_stay_inside_are_followed() {
    let agent = Agent::new().await;
    agent.directory("directory");
    let file = agent.make("directory/file", "inside\n");
    for (name, to) in [
        ("absolute", file.as_str()),
        ("relative", "directory/../directory/file"),
        ("through", &agent.path("directory/./file")),
    ] {
        let path = agent.link(name, to);
        let query = [("path", path.as_str())];
        let read = agent.ask("read-file", &query).send().await.unwrap();
        assert_eq!(read.text().await.unwrap(), "inside\n");
        let lines = ok(agent.ask("read-file-lines", &query)).await;
        assert_eq!(lines["content"], "1\tinside");
        let resolved = ok(agent.ask("resolve-path", &query)).await;
        assert_eq!(resolved["resolved_path"], file);
        ok(agent.edit_one(&path, &[replace("inside", "edited")])).await;
        assert_eq!(agent.text("directory/file"), "edited\n");
        ok(agent.write(&query, "inside\n")).await;
        assert_eq!(agent.text("directory/file"), "inside\n");
        assert_eq!(std::fs::read_link(&path).unwrap().to_str(), Some(to));
    }
}

/// Opening a pipe would wait for its other end: nobody is there.
#[tokio::test]
async fn pipes_and_devices_are_refused() {
    let agent = Agent::new().await;
    let fifo = agent.fifo("fifo");
    let socket = std::os::unix::net::UnixListener::bind(agent.root().join("socket")).unwrap();
    agent.link("link", "fifo");
    for name in ["fifo", "socket", "link"] {
        let path = agent.path(name);
        for (endpoint, request) in each(&agent, &path) {
            let (status, body) = reply(request).await;
            let (expected, said, text) = match endpoint {
                "resolve-path" => {
                    assert_eq!(status, 200, "{body}");
                    continue;
                }
                "list-directory" => (400, &body["message"], "is not a directory"),
                "read-file-lines" => (200, &body["error"], "not a file: "),
                _ => (400, &body["message"], ": not a file"),
            };
            assert_eq!(status, expected, "{endpoint} {name}: {body}");
            assert!(
                said.as_str().unwrap().contains(text),
                "{endpoint} {name}: {body}"
            );
        }
    }
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata(fifo).unwrap().file_type().is_fifo());
    drop(socket);
}

#[tokio::test]
async fn other_methods_are_refused() {
    let agent = Agent::new().await;
    for (method, endpoint) in [
        (Method::GET, "write-file"),
        (Method::POST, "read-file"),
        (Method::DELETE, "edit-files"),
    ] {
        let request = agent.server.request(method.clone(), &target(endpoint, &[]));
        refused(request, 405, &format!("{method} is not possible here.")).await;
    }
}

/// `serve --agent-api` reaches the same files as the tools.
#[tokio::test]
async fn a_host_offers_its_files() {
    let setup = crate::harness::Setup::new().await;
    std::fs::write(setup.root().join("file"), "content").unwrap();
    let surfaces = toolhost_server::ServerParts::from(setup.host.clone());
    let path = setup.root().join("file").display().to_string();
    let target = target("read-file", &[("path", &path)]);
    for (surfaces, status) in [(surfaces.clone(), 404), (surfaces.with_agent(), 200)] {
        let server = crate::harness::Server::start(surfaces).await;
        let response = server.request(Method::GET, &target).send().await.unwrap();
        assert_eq!(response.status(), status);
    }
}

/// What tools may not do, nobody may over HTTP.
#[tokio::test]
async fn an_operator_says_what_may_be_done() {
    let setup = Setup::with(|builder| builder.files(FilesGrant::Read)).await;
    let path = setup.root().join("file").to_str().unwrap().to_owned();
    std::fs::write(&path, "content").unwrap();
    let server = Server::start(ServerParts::from(setup.host.clone()).with_agent()).await;
    let request = |method, endpoint, body: &str| {
        let target = target(endpoint, &[("path", path.as_str())]);
        server.request(method, &target).body(body.to_owned())
    };
    let (status, body) = reply(request(Method::GET, "read-file-lines", "")).await;
    assert_eq!((status, &body["content"]), (200, &json!("1\tcontent")));
    for endpoint in ["write-file", "edit-files"] {
        let (status, body) = reply(request(Method::POST, endpoint, "{}")).await;
        assert_eq!(status, 403);
        assert_eq!(
            body["message"],
            "Files may be read here, not written: the server was started with --files read."
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
    let setup = Setup::with(|builder| builder.files(FilesGrant::None)).await;
    let server = Server::start(ServerParts::from(setup.host.clone()).with_agent()).await;
    let request = server.request(Method::GET, "/api/v0/read-file?path=/etc/passwd");
    assert_eq!(request.send().await.unwrap().status(), 404);
}
