//! Who may use the files of a chat, and what is recorded of it.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use toolhost_call::approval::Approval;
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_core::FilesGrant;
use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_state::state_dir::StateDir;

use super::*;

#[tokio::test]
async fn a_token_needs_the_scope_and_the_tool() {
    let setup = Setup::new().await;
    std::fs::write(setup.root().join("file"), "x").unwrap();
    let of_tool = |tool: &str| {
        let tools = Some([tool.to_owned()].into());
        Principal::new(tool, [Scope::Call], None, tools)
    };
    let reader = Principal::new("reader", [Scope::Read], None, None);
    let of_chats = Principal::new("chats", [Scope::Call], Some("b".into()), None);
    let all = [
        (
            "token-of-a-reader-",
            reader,
            "missing_scope",
            "missing_scope",
        ),
        (
            "token-of-a-runner-",
            of_tool("execute"),
            "bounded_token",
            "bounded_token",
        ),
        (
            "token-of-other-chats",
            of_chats,
            "foreign_chat",
            "foreign_chat",
        ),
        (
            "token-of-read-file",
            of_tool("read_file"),
            "",
            "bounded_token",
        ),
        (
            "token-of-write-file",
            of_tool("write_file"),
            "bounded_token",
            "",
        ),
    ];
    let tokens = all.clone().map(|(token, principal, ..)| {
        let token = Token::new(token).unwrap();
        (token, principal)
    });
    let server = Server::with_tokens(setup.host.clone(), Tokens::new(tokens)).await;
    for (token, _, reads, writes) in all {
        let requests = [
            (Method::GET, reads),
            (Method::PUT, writes),
            (Method::DELETE, writes),
        ];
        for (method, expected) in requests {
            let url = format!("{}/v1/chats/a/files/file", server.url);
            let request = server.client.request(method.clone(), url);
            let request = request.bearer_auth(token).body("x");
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            if expected.is_empty() {
                assert!(status < 300, "{token} {method}: {status}");
                continue;
            }
            let body: Value = answer.json().await.unwrap();
            let refused = (status, &body["code"]);
            assert_eq!(refused, (403, &json!(expected)), "{token} {method}");
        }
    }
}

#[tokio::test]
async fn what_the_operator_offers_holds_here_as_well() {
    for (grant, reads) in [(FilesGrant::Read, 200), (FilesGrant::None, 403)] {
        let setup = Setup::with(|builder| builder.files(grant)).await;
        let path = setup.root().join("file");
        std::fs::write(&path, "x").unwrap();
        let server = Server::start(setup.host.clone()).await;
        assert_eq!(get(&server, "/file", &[]).await.status, reads);
        for method in [Method::PUT, Method::DELETE] {
            let answer = send(&server, method, "/file", &[], "y").await;
            assert_eq!(answer.code(), (403, "file_refused".into()));
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
    }
}

#[tokio::test]
async fn changes_are_asked_about_and_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let hook = directory.path().join("hook");
    let questions = directory.path().join("questions");
    let script = format!(
        "q=$(cat); echo \"$q\" >> {}; case $q in *secret*) echo 'not that'; exit 1;; esac",
        questions.display()
    );
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o700)).unwrap();
    let hook = vec![hook.display().to_string()];
    let approval = Approval::command("sh", hook, Duration::from_hours(1)).unwrap();
    let state = StateDir::open(&directory.path().join("audit")).unwrap();
    let audit = Audit::open(state, &Config::default(), &Metrics::default()).unwrap();
    let recorded = audit.clone();
    let setup = Setup::with(|builder| builder.approval(approval).audit(recorded)).await;
    let server = Server::start(setup.host.clone()).await;
    assert_eq!(put(&server, "/file", "four").await.status, 201);
    let refused = put(&server, "/secret", "x").await;
    assert_eq!(refused.code(), (403, "not_approved".into()));
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("not that"), "{detail}");
    std::fs::write(setup.root().join("secret"), "x").unwrap();
    let refused = send(&server, Method::DELETE, "/secret", &[], "").await;
    assert_eq!(refused.code(), (403, "not_approved".into()));
    let read = get(&server, "/secret", &[]).await;
    assert_eq!(read.status, 200, "reading asks nobody");
    let removed = send(&server, Method::DELETE, "/file", &[], "").await;
    assert_eq!(removed.status, 204);
    server.stop().await;
    assert!(audit.finish());
    assert_eq!(names(&setup.root()), ["secret".to_owned()].into());
    let lines = |path: &Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let asked = lines(&questions);
    let arguments: Vec<_> = asked.iter().map(|asked| &asked["arguments"]).collect();
    assert_eq!(
        json!(arguments),
        json!([
            { "path": "file", "bytes": 4 },
            { "path": "secret", "bytes": 1 },
            { "path": "secret", "delete": true, "recursive": false },
            { "path": "file", "delete": true, "recursive": false },
        ])
    );
    let by_name = |asked: &Value| asked["tool"] == "write_file" && asked["plugin"] == "http-api";
    assert!(asked.iter().all(by_name), "{asked:?}");
    let events = lines(&directory.path().join("audit/audit.jsonl"));
    let of = |name: &str, fields: &[&str]| -> Vec<Value> {
        let pick = |event: &Value| fields.iter().map(|field| event[*field].clone()).collect();
        let events = events.iter().filter(|event| event["event"] == name);
        events.map(pick).collect()
    };
    let digest = blake3::hash(b"four").to_hex().to_string();
    assert_eq!(
        of(
            "file_write",
            &["chat", "plugin", "size", "content", "certain"]
        ),
        [json!(["a", "http-api", 4, digest, true])]
    );
    assert_eq!(
        of("file_remove", &["chat", "path", "recursive", "certain"]),
        [json!(["a", "file", false, true])]
    );
    assert_eq!(of("approval_refused", &["tool"]).len(), 2);
}
