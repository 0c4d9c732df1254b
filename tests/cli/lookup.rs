//! `toolhost calls` and `toolhost show`: of a server, and of a state directory that no host uses.

use nix::sys::signal::Signal;

use super::*;

/// A command line that asks this server.
fn ask(serving: &Serving, arguments: &[&str]) -> Output {
    let mut command = client();
    command.args(arguments).args(["--server", &serving.url]);
    command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap()
}

/// A command line that reads this state directory.
fn read(state: &Path, arguments: &[&str]) -> Output {
    let mut command = client();
    command.args(arguments).arg("--state-dir").arg(state);
    command.output().unwrap()
}

async fn call(serving: &Serving, chat: &str, id: &str, command: &str) {
    let path = format!("/v1/chats/{chat}/calls/{id}");
    let body = json!({ "tool": "execute", "arguments": { "command": command } });
    let request = serving.request(reqwest::Method::PUT, &path).json(&body);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

fn lines(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout).lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn ids(output: &Output) -> Vec<String> {
    let lines = lines(output).into_iter();
    lines
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The command line for this question.
fn of<'q>(question: &[&'q str]) -> Vec<&'q str> {
    [&["calls", "--json"], question].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_the_same_from_a_server_and_at_rest() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.args(["serve", "--keep-arguments"]);
    let mut serving = Serving::of(command);
    call(&serving, "a", "good", "echo needle").await;
    call(&serving, "a", "bad", "echo two; echo lines; exit 3").await;
    call(&serving, "b", "good", "true").await;

    // The host that uses the directory is found and asked.
    let asked = read(&state, &["calls", "--json"]);
    assert_eq!(ids(&asked), ["good", "bad", "good"]);

    let questions: [(&[&str], &[&str]); 8] = [
        (&[], &["good", "bad", "good"]),
        (&["--limit", "1"], &["good"]),
        (&["--chat", "a"], &["bad", "good"]),
        (&["--failed"], &["bad"]),
        (&["--text", "needle"], &["good"]),
        (
            &["--tool", "execute", "--since", "1h"],
            &["good", "bad", "good"],
        ),
        (&["--tool", "nothing"], &[]),
        (&["--since", "0s"], &[]),
    ];
    let mut answers = Vec::new();
    for (question, expected) in questions {
        let output = ask(&serving, &of(question));
        assert_eq!(ids(&output), expected, "{question:?}");
        answers.push(lines(&output));
    }
    let shown = ask(&serving, &["show", "good", "--chat", "a", "--json"]);
    let shown = lines(&shown).remove(0);
    assert_eq!(shown["arguments"], json!({ "command": "echo needle" }));
    assert_eq!(shown["reply"]["structured"]["output"], "needle\n");
    assert_eq!(
        (&shown["chat"], &shown["token"]),
        (&json!("a"), &json!("token"))
    );
    let table = ask(&serving, &["calls"]);
    let page = ask(&serving, &["show", "bad"]);
    assert!(
        text(&page.stdout).contains("\n  output:\n    two\n    lines\n"),
        "{page:?}"
    );
    assert!(text(&page.stdout).contains("\n  command: echo two; echo lines; exit 3\n"));

    assert!(serving.signal(Signal::SIGTERM).success());
    for ((question, _), answer) in questions.iter().zip(&answers) {
        assert_eq!(&lines(&read(&state, &of(question))), answer, "{question:?}");
    }
    let at_rest = read(&state, &["show", "good", "--chat", "a", "--json"]);
    assert_eq!(lines(&at_rest), [shown]);
    assert_eq!(read(&state, &["calls"]).stdout, table.stdout);
    assert_eq!(read(&state, &["show", "bad"]).stdout, page.stdout);
    let table = text(&table.stdout).lines().collect::<Vec<_>>();
    assert!(
        table[0].starts_with("WHEN ") && table[0].ends_with(" STATE     TOOK"),
        "{table:?}"
    );
    assert!(
        table[2].contains("  a     bad   execute  error     "),
        "{table:?}"
    );
    assert_eq!(table.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_named_exactly() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let mut command = server(workspace.path());
    let mut serving = Serving::start({
        command.env("TOOLHOST_TOKEN", TOKEN);
        command
    });
    let odd = r#"%41?b#c&d="e"#;
    let encoded = "%2541%3Fb%23c%26d%3D%22e";
    call(&serving, "a", "twice", "true").await;
    call(&serving, "b", "twice", "true").await;
    call(&serving, "b", encoded, "echo odd").await;
    let check = |run: &dyn Fn(&[&str]) -> Output| {
        let several = run(&["show", "twice"]);
        let said = text(&several.stderr);
        assert_eq!(several.status.code(), Some(2));
        assert!(
            said.contains("--chat: a, b") || said.contains("--chat: b, a"),
            "{said}"
        );
        let one = run(&["show", "twice", "--chat", "b"]);
        assert_eq!(one.status.code(), Some(0));
        assert!(text(&one.stdout).contains("chat       b\n"));
        // This host keeps no arguments, and says how they are kept.
        assert!(text(&one.stdout).contains("--keep-arguments"));
        let shown = run(&["show", odd]);
        assert!(text(&shown.stdout).contains("output: odd"), "{shown:?}");
        for (missing, told) in [
            (&["show", "nothing"][..], r#"there is no call "nothing""#),
            (&["show", odd, "--chat", "a"], r#"in the chat "a""#),
        ] {
            let output = run(missing);
            assert_eq!(output.status.code(), Some(2));
            assert!(text(&output.stderr).contains(told), "{output:?}");
        }
    };
    check(&|arguments| ask(&serving, arguments));
    assert!(serving.signal(Signal::SIGTERM).success());
    check(&|arguments| read(&state, arguments));
}

/// A call that ran when its host was killed is unknown to a reader, and runs no more. The next host still finds it.
#[tokio::test(flavor = "multi_thread")]
async fn reading_settles_nothing() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    call(&serving, "a", "ended", "true").await;
    let body = json!({ "tool": "execute", "arguments": { "command": "echo runs > runs; exec sleep 1000" } });
    let request = serving
        .request(reqwest::Method::PUT, "/v1/chats/a/calls/ran")
        .json(&body);
    let calling = tokio::spawn(request.send());
    file(&workspace.path().join("runs")).await;
    let running = ask(&serving, &["calls", "--json", "--limit", "1"]);
    assert_eq!(lines(&running)[0]["state"], "running");
    serving.signal(Signal::SIGKILL);
    calling.await.unwrap().unwrap_err();
    let states = |output: &Output| -> Vec<_> {
        let lines = lines(output).into_iter();
        lines
            .map(|line| line["state"].as_str().unwrap().to_owned())
            .collect()
    };
    for _ in 0..2 {
        let output = read(&state, &["calls", "--json"]);
        assert_eq!(states(&output), ["unknown", "finished"]);
    }
    let shown = read(&state, &["show", "ran"]);
    assert!(
        text(&shown.stdout).contains("the host stopped while the call ran"),
        "{shown:?}"
    );
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let serving = Serving::start(command);
    let request = serving.request(reqwest::Method::GET, "/v1/chats/a/calls/ran");
    let settled: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(settled["state"], "unknown");
}

#[test]
fn a_directory_without_calls_is_told() {
    let base = tempfile::tempdir().unwrap();
    for command in [&["calls"][..], &["show", "x"]] {
        for state in ["missing", ""] {
            let output = read(&base.path().join(state), command);
            assert_eq!(output.status.code(), Some(2));
            let said = text(&output.stderr);
            assert!(
                said.contains("no host has kept calls") && said.contains("--server"),
                "{said}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    let refused = read(base.path(), &["calls", "--server", "http://127.0.0.1:1"]);
    let said = text(&refused.stderr);
    assert!(said.contains("--state-dir has no effect"), "{said}");
}

/// A call has ended when it did, however its host ends.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_call_stays_when_it_was() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let workspace = tempfile::tempdir().unwrap();
        let state = workspace.path().join(".state");
        let serve = || {
            let mut command = server(workspace.path());
            command.env("TOOLHOST_TOKEN", TOKEN);
            Serving::start(command)
        };
        let mut serving = serve();
        let now = toolhost_state::unix_time::now_ms;
        let began = now();
        call(&serving, "a", "1", "true").await;
        let replied = now();
        serving.signal(signal);
        let look = || {
            let line = lines(&read(&state, &["calls", "--json"])).remove(0);
            (
                line["began_at_unix_ms"].as_u64().unwrap(),
                line["ended_at_unix_ms"].as_u64().unwrap(),
            )
        };
        let (first, end) = look();
        assert!(
            began <= first && first <= end && end <= replied,
            "{signal}: {first} {end}"
        );
        assert_eq!(look(), (first, end), "{signal}, at the second look");
        // The next host adds what the earlier one left.
        serve().signal(Signal::SIGTERM);
        assert_eq!(look(), (first, end), "{signal}, after the next host");
    }
}
