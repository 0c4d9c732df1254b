//! Logging in by a form and by a link, and the end of a login.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use super::*;
use crate::harness::serving::{self, Serving};

#[tokio::test]
async fn a_token_is_exchanged_for_a_cookie_with_its_rights() {
    let (_setup, server) = server().await;
    let mut browser = Browser::new(&server.url);
    assert_eq!(browser.get("/console/session").await.0, 401);
    let wrong = browser.log_in("wrong").await;
    assert_eq!(
        (wrong.status().as_u16(), browser.cookie.is_some()),
        (401, false)
    );

    let set = browser.log_in(READER).await;
    assert_eq!(set.status(), 204);
    assert_eq!(set.headers()["cache-control"], "no-store");
    let header = set.headers()[SET_COOKIE].to_str().unwrap();
    assert!(header.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=86400"));
    assert!(!header.contains(READER));
    let (status, session) = browser.get("/console/session").await;
    assert_eq!(status, 200);
    let ends = session["expires_at_unix_ms"].as_u64().unwrap();
    let expected = json!({
        "name": "reader", "scopes": ["read"], "chats": "a-", "tools": null, "workspaces": null,
        "expires_at_unix_ms": ends,
    });
    assert_eq!(session, expected);
    assert_eq!(browser.get("/v1/chats/a-1/calls").await.0, 200);
    let (status, problem) = browser.get("/v1/chats/b-1/calls").await;
    assert_eq!((status, &problem["code"]), (403, &"foreign_chat".into()));
    let ending = browser.request(Method::DELETE, "/v1/chats/a-1");
    let (status, problem) = answer(ending).await;
    assert_eq!((status, &problem["code"]), (403, &"missing_scope".into()));

    let out = browser.request(Method::POST, "/console/logout");
    let out = out.send().await.unwrap();
    assert_eq!(out.status(), 204);
    browser.keep(&out);
    assert_eq!(browser.cookie.as_deref(), Some("toolhost-console="));
    assert_eq!(browser.get("/console/session").await.0, 401);
}

#[tokio::test]
async fn a_login_ends_with_its_token_and_so_do_its_streams() {
    let setup = Setup::new().await;
    let tokens = tokens();
    let server = Server::with_tokens(setup.host.clone(), tokens.clone()).await;
    let mut browser = Browser::new(&server.url);
    browser.log_in(TOKEN).await;
    let mut stream = now::Stream::open(browser.request(Method::GET, "/v1/events")).await;
    assert_eq!(stream.next().await.unwrap()["calls"], json!([]));
    let fewer = Principal::new("all", [Scope::Read], None, None);
    tokens.replace([(Token::new(TOKEN).unwrap(), fewer)]);
    while stream.next().await.is_some() {}
    let (status, problem) = browser.get("/v1/tools").await;
    assert_eq!((status, &problem["code"]), (401, &"wrong_token".into()));
    // The token itself is valid, with its new rights.
    assert_eq!(browser.log_in(TOKEN).await.status(), 204);
    assert_eq!(browser.get("/v1/tools").await.0, 200);
}

#[tokio::test]
async fn what_is_no_login_is_a_problem() {
    let (_setup, server) = server().await;
    let browser = Browser::new(&server.url);
    let post = |body: &'static str| browser.request(Method::POST, "/console/login").body(body);
    for body in [
        "",
        "{}",
        r#"{"token":1}"#,
        r#"{"token":"a","more":1}"#,
        "[]",
    ] {
        let (status, problem) = answer(post(body)).await;
        assert_eq!(
            (status, &problem["code"]),
            (400, &"broken_request".into()),
            "{body}"
        );
    }
    let form = post("token=a").header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(answer(form).await.0, 415);
    let large = browser.request(Method::POST, "/console/login");
    let large = large.json(&json!({ "token": "x".repeat(20_000) }));
    assert_eq!(answer(large).await.0, 413);
    let foreign = post(r#"{"token":"a"}"#).header("origin", "http://localhost:1");
    let (status, problem) = answer(foreign).await;
    assert_eq!((status, &problem["code"]), (403, &"foreign_origin".into()));
}

#[tokio::test]
async fn the_console_is_where_the_server_leads_to() {
    let (_setup, server) = server().await;
    let mut browser = Browser::new(&server.url);
    for path in ["/", "/console"] {
        let response = browser.follow(path).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["location"]),
            (303, &"/console/".parse().unwrap())
        );
    }
    let wrong = browser.follow("/console/login?code=wrong").await;
    assert_eq!(wrong.status(), 303);
    assert_eq!(wrong.headers()["location"], "/console/#login-failed");
    assert!(browser.cookie.is_none());
}

/// A server that was started with a token, and the link that it printed, without the address.
struct Printed {
    serving: Serving,
    line: Option<String>,
}

impl Printed {
    /// Starts a server, and reads its lines up to the one about the console, or to the end of its start.
    fn start(mut command: Command, arguments: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .env("TOOLHOST_TOKEN", TOKEN)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut line = |wanted: &str| {
            let found = lines.by_ref().map(Result::unwrap);
            let mut found = found.filter_map(|line| Some(line.strip_prefix(wanted)?.to_owned()));
            found.next().expect("it ended")
        };
        let url = line("listening on ");
        let line = match arguments.contains(&"--no-console") {
            true => None,
            false => Some(line("console: ").strip_prefix(&url).unwrap().to_owned()),
        };
        // Read on, so that the server is not slowed down.
        std::thread::spawn(move || lines.for_each(drop));
        let serving = Serving::started(child, url);
        Self { serving, line }
    }
}

#[tokio::test]
async fn a_printed_link_logs_in_once_and_a_login_outlives_its_server() {
    let workspace = tempfile::tempdir().unwrap();
    let command = || serving::server(workspace.path());
    let mut first = Printed::start(command(), &[]);
    let link = first.line.clone().unwrap();
    let mut browser = Browser::new(&first.serving.url);
    // A preview of the link leaves it valid.
    let preview = browser.request(Method::HEAD, &link).send().await.unwrap();
    assert!(preview.headers().get(SET_COOKIE).is_none());
    let response = browser.follow(&link).await;
    assert_eq!(response.headers()["location"], "/console/");
    assert_eq!(response.headers()["referrer-policy"], "no-referrer");
    let (status, session) = browser.get("/console/session").await;
    assert_eq!((status, &session["name"]), (200, &"token".into()));
    let again = Browser::new(&first.serving.url).follow(&link).await;
    assert_eq!(again.headers()["location"], "/console/#login-failed");
    first.serving.signal(Signal::SIGTERM);

    // A server with the same state directory and the same token takes the cookie.
    let mut second = Printed::start(command(), &["--no-console-link"]);
    assert_eq!(second.line.as_deref(), Some("/console/"));
    browser.url.clone_from(&second.serving.url);
    assert_eq!(browser.get("/v1/processes").await.0, 200);
    second.serving.signal(Signal::SIGTERM);
    let audit = workspace.path().join(".state/audit/audit.jsonl");
    let audit = std::fs::read_to_string(audit).unwrap();
    let logins = audit.lines().filter(|line| line.contains("console_login"));
    let logins: Vec<Value> = logins
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [login] = &*logins else {
        panic!("{audit}");
    };
    assert_eq!(
        (&login["principal"], &login["by"]),
        (&"token".into(), &"link".into())
    );
}

/// Asks for a link with a token.
async fn link(server: &Server, token: &str) -> (u16, Value) {
    let client = crate::harness::http_client().build().unwrap();
    let asked = client.post(format!("{}/console/links", server.url));
    answer(asked.bearer_auth(token)).await
}

#[tokio::test]
async fn a_link_has_the_rights_of_the_token_that_asks() {
    let (_setup, server) = server().await;
    for token in [READER, TOOLS] {
        let (status, problem) = link(&server, token).await;
        assert_eq!((status, &problem["code"]), (403, &"missing_scope".into()));
    }
    assert_eq!(link(&server, "wrong").await.0, 401);
    let (status, made) = link(&server, "another-token").await;
    assert_eq!((status, &made["token"]), (200, &"other".into()), "{made}");
    let mut browser = Browser::new(&server.url);
    browser.follow(made["path"].as_str().unwrap()).await;
    let (status, session) = browser.get("/console/session").await;
    assert_eq!((status, &session["name"]), (200, &"other".into()));
    // A login would otherwise last for ever.
    let asked = browser.request(Method::POST, "/console/links");
    let (status, problem) = answer(asked.header("toolhost-console", "1")).await;
    assert_eq!((status, &problem["code"]), (401, &"no_token".into()));
}

/// Runs `toolhost console`, and returns the exit code and what it said.
async fn console(more: impl FnOnce(&mut Command)) -> (Option<i32>, String) {
    let mut command = crate::harness::serving::client();
    more(command.arg("console"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn a_new_link_is_printed_for_a_server_that_runs() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let mut server = Printed::start(serving::server(workspace.path()), &["--no-console-link"]);
    let url = server.serving.url.clone();
    let by_socket = console(|command| _ = command.env("TOOLHOST_STATE_DIR", &state)).await;
    let by_address = console(|command| {
        command.args(["--server", &url, "--json"]);
        command.env("TOOLHOST_TOKEN", TOKEN);
    });
    let (code, said) = by_address.await;
    let object: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &object["token"]), (Some(0), &"token".into()));
    assert!(object["expires_at_unix_ms"].is_u64(), "{object}");
    let links = [by_socket.1.trim(), object["url"].as_str().unwrap()];
    for link in links {
        let path = link.strip_prefix(&url).unwrap_or_else(|| panic!("{link}"));
        let mut browser = Browser::new(&url);
        browser.follow(path).await;
        let (status, session) = browser.get("/console/session").await;
        assert_eq!((status, &session["name"]), (200, &"token".into()));
        let again = Browser::new(&url).follow(path).await;
        assert_eq!(again.headers()["location"], "/console/#login-failed");
    }
    let (code, said) = console(|command| {
        command.args(["--server", &url]);
        command.env("TOOLHOST_TOKEN", "wrong");
    })
    .await;
    assert_eq!(code, Some(2), "{said}");
    server.serving.signal(Signal::SIGTERM);
    let audit = std::fs::read_to_string(state.join("audit/audit.jsonl")).unwrap();
    let made = audit.lines().filter(|line| line.contains("console_link"));
    let made = made.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let made: Vec<_> = made
        .map(|line| (line["principal"].clone(), line["token"].clone()))
        .collect();
    assert_eq!(
        made,
        [
            ("local".into(), "token".into()),
            ("token".into(), "token".into())
        ]
    );
}

/// A server with the tokens of its configuration alone, as docs/operating.md sets it up.
#[tokio::test]
async fn a_link_at_the_socket_has_the_rights_of_an_operator() {
    use std::os::unix::fs::PermissionsExt;
    for (scopes, expected) in [("['call']", Some(2)), ("['call', 'admin']", Some(0))] {
        let workspace = tempfile::tempdir().unwrap();
        let [config, token] = ["toolhost.toml", "token"].map(|name| workspace.path().join(name));
        std::fs::write(&token, TOKEN).unwrap();
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
        let section = format!("[tokens.operator]\nfile = 'token'\nscopes = {scopes}\n");
        std::fs::write(&config, section).unwrap();
        let mut command = serving::server(workspace.path());
        command.arg("--config").arg(&config);
        let server = Serving::start(command);
        let state = workspace.path().join(".state");
        let (code, said) = console(|command| _ = command.env("TOOLHOST_STATE_DIR", &state)).await;
        assert_eq!(code, expected, "{said}");
        if code != Some(0) {
            assert!(said.contains("--scope call --scope admin"), "{said}");
            continue;
        }
        let mut browser = Browser::new(&server.url);
        browser
            .follow(said.trim().strip_prefix(&server.url).unwrap())
            .await;
        let (status, session) = browser.get("/console/session").await;
        assert_eq!((status, &session["name"]), (200, &"operator".into()));
    }
}

#[tokio::test]
async fn a_server_without_a_console_has_no_logins() {
    let workspace = tempfile::tempdir().unwrap();
    let mut server = Printed::start(serving::server(workspace.path()), &["--no-console"]);
    let mut browser = Browser::new(&server.serving.url);
    let response = browser.log_in(TOKEN).await;
    assert_eq!(response.status(), 401);
    let root = browser.follow("/").await;
    assert_eq!(root.headers()["location"], "/docs/");
    // A cookie counts for nothing.
    browser.cookie = Some("toolhost-console=x".into());
    let (status, problem) = browser.get("/v1/tools").await;
    assert_eq!((status, &problem["code"]), (401, &"no_token".into()));
    let state = workspace.path().join(".state");
    let (code, said) = console(|command| _ = command.env("TOOLHOST_STATE_DIR", &state)).await;
    assert!(
        code == Some(2) && said.contains("started with --no-console"),
        "{said}"
    );
    server.serving.signal(Signal::SIGTERM);
}
