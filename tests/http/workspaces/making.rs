//! The files with which a workspace begins: the operator approves them, the audit trail has them, and a token of some tools chooses none.

use std::collections::BTreeSet;
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolhost_call::approval::Approval;
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_needs::needs;
use toolhost_sandbox::Policy;
use toolhost_state::state_dir::StateDir;
use toolhost_workspace::process::Command;

use super::lives::repository;
use super::*;
use crate::harness::{PATIENCE, without_namespaces};

const SOME: &str = "token-of-some-tools";

/// A server with an audit trail, and with a hook that keeps the questions and refuses while there is a file `no`.
struct Overseen {
    spaces: Spaces,
    hook: TempDir,
    origin: TempDir,
}

impl Overseen {
    async fn new() -> Self {
        let (hook, origin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = "cat >> \"$1/asked\"; echo >> \"$1/asked\"; test ! -e \"$1/no\" || { echo not here; exit 1; }";
        std::fs::write(hook.path().join("hook"), script).unwrap();
        let arguments = ["hook", ""].map(|name| hook.path().join(name).display().to_string());
        let approval = Approval::command("sh", arguments.to_vec(), PATIENCE).unwrap();
        let directory = StateDir::open(&hook.path().join("audit")).unwrap();
        let audit = Audit::open(directory, &Config::default(), &Metrics::default()).unwrap();
        let policy = Policy {
            read: vec![origin.path().canonicalize().unwrap()],
            ..without_namespaces()
        };
        let base = tempfile::tempdir().unwrap();
        let directories = directories(&base);
        let change = |builder: Builder| {
            let builder = builder.directories(directories).sandbox(policy);
            builder.audit(audit).approval(approval)
        };
        let setup = Setup::with(change).await;
        let some = ["read_file".to_owned()]
            .into_iter()
            .collect::<BTreeSet<_>>();
        let tokens = Tokens::new([
            (Token::new(TOKEN).unwrap(), Principal::unbounded("all")),
            (
                Token::new(SOME).unwrap(),
                Principal::new("some", [Scope::Call], None, Some(some)),
            ),
        ]);
        let server = Server::with_tokens(setup.host.clone(), tokens).await;
        let spaces = Spaces {
            setup,
            server,
            base,
        };
        Self {
            spaces,
            hook,
            origin,
        }
    }

    fn refuse(&self) {
        std::fs::write(self.hook.path().join("no"), "").unwrap();
    }

    fn approve(&self) {
        std::fs::remove_file(self.hook.path().join("no")).unwrap();
    }

    async fn put(&self, name: &str, body: Value) -> Value {
        let path = format!("/v1/workspaces/{name}");
        self.spaces.done(Method::PUT, &path, Some(body)).await
    }

    /// Reads a file in a chat, which needs no approval.
    async fn read(&self, token: &str, workspace: &str, call: &str, file: &str) -> Value {
        let path = format!("/v1/chats/a/calls/{call}");
        let body =
            json!({ "tool": "read_file", "arguments": { "path": file }, "workspace": workspace });
        let (_, answer) = ask(&self.spaces.server, token, Method::PUT, &path, Some(body)).await;
        answer
    }

    /// The questions about workspaces.
    fn asked(&self) -> Vec<Value> {
        lines(&self.hook.path().join("asked"))
    }

    /// Ends the host, and returns the lines of the trail about what was made.
    async fn trail(self) -> Vec<Value> {
        self.spaces.setup.host.shutdown().await;
        let all = lines(&self.hook.path().join("audit/audit.jsonl")).into_iter();
        let about = |line: &Value| {
            let event = line["event"].as_str().unwrap();
            line["plugin"] == "workspace-provider" || event.starts_with("process")
        };
        all.filter(about).collect()
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn events(lines: &[Value]) -> Vec<&str> {
    let events = lines.iter().map(|line| line["event"].as_str().unwrap());
    events.collect()
}

#[needs(program = "git")]
#[tokio::test]
async fn a_clone_is_approved_and_recorded_whichever_call_needs_it() {
    let overseen = Overseen::new().await;
    repository(overseen.origin.path());
    let url = format!("file://{}", overseen.origin.path().display());
    overseen.put("z", json!({ "git": { "url": url } })).await;
    overseen.refuse();
    let refused = overseen.read(SOME, "z", "1", "file").await;
    assert_eq!(refused["error"]["kind"], "denied", "{refused}");
    assert_eq!(
        refused["error"]["message"],
        "the workspace \"z\" was not made: the call was not approved: not here"
    );
    assert!(!overseen.spaces.directory("z").exists());
    overseen.approve();
    let read = overseen.read(SOME, "z", "2", "file").await;
    assert!(read.to_string().contains("cloned"), "{read}");
    // Nothing is made any more.
    overseen.read(SOME, "z", "3", "file").await;
    let asked = overseen.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let hints = json!({ "read_only": false, "non_destructive": false, "idempotent": false, "closed_world": false });
    assert_eq!(
        asked[1],
        json!({
            "principal": "some", "chat": "a", "call": "2", "plugin": "workspace-provider", "tool": "workspace.create",
            "hints": hints, "arguments": { "workspace": "z", "git": { "url": url, "branch": null } },
        })
    );
    let trail = overseen.trail().await;
    assert_eq!(
        events(&trail),
        [
            "approval_asked",
            "approval_refused",
            "approval_asked",
            "approval_granted",
            "workspace_making",
            "process_start",
            "workspace_made",
        ],
        "{trail:?}"
    );
    for line in &trail[2..] {
        for (key, value) in [
            ("principal", "some"),
            ("chat", "a"),
            ("call", "2"),
            ("workspace", "z"),
        ] {
            assert_eq!(line[key], value, "{line}");
        }
    }
    assert_eq!(trail[4]["git"]["url"], url.as_str());
    assert!(trail[5]["process"].is_string() && trail[6]["error"].is_null());
}

#[tokio::test]
async fn a_template_is_approved_and_recorded_also_for_the_agent_api() {
    let overseen = Overseen::new().await;
    overseen.put("t", json!({ "template": "small" })).await;
    let bind = Some(json!({ "workspace": "t" }));
    overseen.spaces.done(Method::PUT, "/v1/chats/a", bind).await;
    overseen.refuse();
    let workspace = overseen.spaces.setup.host.workspace();
    let start = async || {
        let command = Command {
            command: "cat sub/file".into(),
            ..Command::default()
        };
        workspace.start(Some(&"a".parse().unwrap()), command).await
    };
    let refused = start().await.unwrap_err().to_string();
    assert!(
        refused.contains("was not made: the call was not approved"),
        "{refused}"
    );
    assert!(!overseen.spaces.directory("t").exists());
    overseen.approve();
    start().await.unwrap();
    let asked = &overseen.asked()[1];
    assert_eq!(
        asked["arguments"],
        json!({ "workspace": "t", "template": "small" })
    );
    assert_eq!(
        (&asked["principal"], &asked["call"]),
        (&json!("host"), &Value::Null)
    );
    let trail = overseen.trail().await;
    let made: Vec<_> = trail
        .iter()
        .filter(|line| line["template"] == "small")
        .collect();
    assert_eq!(made.len(), 2, "{trail:?}");
}

/// An HTTP server inside, which the client cannot reach: it answers 403 to everything.
async fn inside() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while stream
                    .read(&mut request)
                    .await
                    .is_ok_and(|length| length > 0)
                {
                    let answer = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

#[needs(program = "git")]
#[tokio::test]
async fn only_the_operator_learns_why_a_clone_failed() {
    let overseen = Overseen::new().await;
    let port = inside().await;
    let url = format!("http://me:s3cret@127.0.0.1:{port}/r.git");
    let put = overseen.put("z", json!({ "git": { "url": url } })).await;
    assert!(!put.to_string().contains("s3cret"), "{put}");
    let failed = overseen.read(TOKEN, "z", "1", "file").await;
    assert_eq!(
        failed["error"]["message"],
        "the workspace \"z\" cannot be used: the repository cannot be cloned; the operator's log says why"
    );
    let state = overseen
        .spaces
        .done(Method::GET, "/v1/workspaces/z", None)
        .await;
    assert_eq!(
        state["problem"],
        "the repository cannot be cloned; the operator's log says why"
    );
    let trail = overseen.trail().await;
    let made = trail.last().unwrap();
    assert_eq!(made["event"], "workspace_made");
    let error = made["error"].as_str().unwrap();
    assert!(
        error.contains("git clone ended with") && error.contains("403"),
        "{error}"
    );
    let text = json!(trail).to_string();
    assert!(
        text.contains("process_start") && !text.contains("s3cret"),
        "{text}"
    );
}

#[tokio::test]
async fn a_token_of_some_tools_makes_only_empty_workspaces() {
    let overseen = Overseen::new().await;
    for body in [
        json!({ "git": { "url": "https://example.com/r.git" } }),
        json!({ "template": "small" }),
    ] {
        let path = "/v1/workspaces/w";
        let (status, problem) =
            ask(&overseen.spaces.server, SOME, Method::PUT, path, Some(body)).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("bounded_token")),
            "{problem}"
        );
    }
    let path = "/v1/workspaces/w";
    let (status, _) = ask(&overseen.spaces.server, SOME, Method::PUT, path, None).await;
    assert_eq!(status, 200);
}
