//! `toolhost workspaces`: of a server, and of a state directory that no host uses.

use nix::sys::signal::Signal;

use super::*;

fn ask(serving: &Serving, arguments: &[&str]) -> Output {
    let mut command = client();
    command.arg("workspaces").args(arguments);
    command.args(["--server", &serving.url, "--json"]);
    command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap()
}

fn read(state: &Path, arguments: &[&str]) -> Output {
    let mut command = client();
    command.arg("workspaces").args(arguments);
    command.arg("--state-dir").arg(state).output().unwrap()
}

fn one(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_str(text(&output.stdout)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_made_listed_and_removed() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let config = workspace.path().join("toolhost.toml");
    let root = workspace.path().join("root");
    std::fs::write(
        &config,
        format!("[workspaces]\nroot = '{}'\n", root.display()),
    )
    .unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--config")
        .arg(&config);
    let mut serving = Serving::start(command);

    let made = one(&ask(
        &serving,
        &["create", "team-a/web", "--idle", "30days"],
    ));
    assert_eq!(
        (&made["name"], &made["idle_seconds"]),
        (&json!("team-a/web"), &json!(2_592_000))
    );
    one(&ask(&serving, &["create", "team-a/api"]));
    let call =
        json!({ "tool": "execute", "arguments": { "command": "true" }, "workspace": "team-a/web" });
    let request = serving
        .request(reqwest::Method::PUT, "/v1/chats/a/calls/1")
        .json(&call);
    assert_eq!(request.send().await.unwrap().status(), 200);

    let people = |arguments: &[&str]| {
        let mut command = client();
        command.arg("workspaces").args(arguments);
        command.args(["--server", &serving.url]);
        let output = command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap();
        (
            output.status.code(),
            [text(&output.stdout), text(&output.stderr)].concat(),
        )
    };
    let (_, table) = people(&["list"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    for (line, begin) in lines
        .iter()
        .zip(["NAME ", "default ", "team-a/api ", "team-a/web "])
    {
        assert!(line.starts_with(begin), "{table}");
    }
    let shown = one(&ask(&serving, &["show", "team-a/web"]));
    assert_eq!(
        (&shown["state"], &shown["chats"]),
        (&json!("open"), &json!(1)),
        "{shown}"
    );
    let (_, shown) = people(&["show", "team-a/web"]);
    assert!(
        shown.starts_with("name       team-a/web\n")
            && shown.contains("\nidle       removed after 30days without use\n"),
        "{shown}"
    );
    let (_, made) = people(&["create", "team-b"]);
    assert!(
        made.starts_with("name       team-b\nprovider   directory\n"),
        "{made}"
    );
    let (_, removed) = people(&["rm", "team-b"]);
    assert_eq!(removed, "the workspace team-b is removed, with its files\n");
    for arguments in [["show", "team-b"], ["delete", "team-b"]] {
        let (code, said) = people(&arguments);
        let advice = "make it with `toolhost workspaces create team-b`";
        assert!(code == Some(2) && said.contains(advice), "{said}");
    }
    let removed = one(&ask(&serving, &["delete", "team-a/api"]));
    assert_eq!(removed, json!({ "ended": [] }));
    for (arguments, said) in [
        (&["show", "team-a/api"][..], "there is no workspace"),
        (
            &["delete", "team-a/api", "--force"],
            "there is no workspace",
        ),
        (&["create", "a/../b"], "the name of a workspace"),
        (
            &["create", "w", "--template", "none"],
            "there is no template",
        ),
    ] {
        let refused = ask(&serving, arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&refused.stderr).contains(said),
            "{}",
            text(&refused.stderr)
        );
    }
    assert!(serving.signal(Signal::SIGTERM).success());

    let found = one(&read(&state, &["list", "--json"]));
    assert_eq!(
        (&found["name"], &found["chats"]),
        (&json!("team-a/web"), &json!(1)),
        "{found}"
    );
    assert_eq!(one(&read(&state, &["show", "team-a/web", "--json"])), found);
    for arguments in [
        &["show", "team-a/api"][..],
        &["create", "w"],
        &["delete", "team-a/web"],
    ] {
        assert_eq!(
            read(&state, arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}
