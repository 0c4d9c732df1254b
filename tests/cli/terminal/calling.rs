//! `call` on a terminal.

use super::*;

const STEPS: &str = "command=echo one; printf '\\033[2Jtwo\\tx\\n'; until [ -e go ]; do sleep 0.01; done; echo three; exit 3";

/// A call on a terminal: in this process, or on a server.
fn call(site: &Site, is_here: bool, arguments: &[&str]) -> Terminal {
    let mut command = site.command(&["call", "execute"]);
    command.args(arguments);
    match is_here {
        // The log says that the state directory is in the workspace.
        true => command.args(["--log", "off"]),
        false => command.args(["--server", "local"]),
    };
    Terminal::start(&command, 80, 24)
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_shown_while_the_command_runs() {
    let site = Site::new();
    for is_here in [true, false] {
        let terminal = call(&site, is_here, &[STEPS, "timeout=1h"]);
        terminal.until_shown("one\n\\u{1b}[2Jtwo");
        let screen = terminal.until_shown("execute runs for");
        assert!(!screen.contains("three"), "{screen}");
        std::fs::write(site.path("go"), "").unwrap();
        let (status, screen, bytes) = terminal.ended().await;
        assert_eq!(status.code(), Some(1), "{screen}");
        insta::assert_snapshot!(if is_here { "here" } else { "on_server" }, masked(&screen));
        // No control character of the command has reached the terminal.
        assert!(!bytes.contains("\u{1b}[2J"), "{bytes}");
        std::fs::remove_file(site.path("go")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_cancels_the_call_and_tells_what_ended() {
    let site = Site::new();
    let command = "command=echo one; echo $$ > pid; exec sleep 1000";
    for is_here in [true, false] {
        let mut terminal = call(&site, is_here, &[command, "timeout=1h"]);
        terminal.until_shown("one");
        let pid: u32 = file(&site.path("pid")).await.trim().parse().unwrap();
        terminal.press("\u{3}");
        let (status, screen, _) = terminal.ended().await;
        assert_eq!(status.code(), Some(1), "{screen}");
        assert!(
            screen.contains("[execute] cancelled, ended by SIGTERM after"),
            "{screen}"
        );
        assert!(
            screen.contains("the call was cancelled, and SIGTERM ended the command"),
            "{screen}"
        );
        if !is_here {
            assert!(screen.contains("ended process "), "{screen}");
        }
        until_dead(pid).await;
        std::fs::remove_file(site.path("pid")).unwrap();
    }
}

/// A terminal gets JSON and texts only if these are asked for, and a pipe gets JSON.
#[tokio::test(flavor = "multi_thread")]
async fn other_styles_are_asked_for() {
    let site = Site::new();
    let on_terminal = |more: &'static [&'static str]| {
        let arguments = [&["command=echo hi"], more].concat();
        let terminal = call(&site, false, &arguments);
        async { terminal.ended().await.2 }
    };
    let json = on_terminal(&["--json"]).await;
    let reply: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(reply["output"], "hi\n");
    assert!(
        on_terminal(&["--text"])
            .await
            .starts_with("{\"success\":true")
    );
    let both = site.run(&["call", "execute", "command=true", "--text", "--json"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("--text and --json"), "{both:?}");
    let piped = site.run(&["call", "execute", "command=echo hi", "--server", "local"]);
    assert_eq!(json_of(&piped)["output"], "hi\n");
}

/// Other tools have replies without output that was shown before.
#[tokio::test(flavor = "multi_thread")]
async fn replies_are_shown_for_people() {
    let site = Site::new();
    std::fs::write(site.path("notes"), "first\nsecond\u{1b}[2J\n").unwrap();
    let mut command = site.command(&["call", "read_file", "path=notes", "limit:=1"]);
    command.args(["--server", "local"]);
    let terminal = Terminal::start(&command, 80, 24);
    let (status, screen, _) = terminal.ended().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    insta::assert_snapshot!(masked(&screen));
}

#[test]
fn arguments_are_keys_and_values() {
    let output = run(&[
        "call",
        "execute",
        "command=echo a=b",
        "run_in_background:=false",
    ]);
    assert_eq!(json_of(&output)["output"], "a=b\n");
    for (argument, told) in [
        ("echo", "write KEY=TEXT, KEY:=JSON, or one JSON object"),
        ("timeout:=x", "for a text write timeout=x"),
    ] {
        let output = run(&["call", "execute", argument]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(told), "{output:?}");
    }
}

/// The server says that it knows no such tool; the reason is at its plugins.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_the_server_refused_is_told() {
    let workspace = tempfile::tempdir().unwrap();
    let config = workspace.path().join("toolhost.toml");
    std::fs::write(&config, "[plugins.weather]\ncomponent = 'weather.wasm'\n").unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--config")
        .arg(&config);
    let serving = Serving::start(command);
    let site = Site { serving, workspace };
    let output = site.run(&["call", "forecast", "--server", "local"]);
    let said = text(&output.stderr).replace(site.workspace.path().to_str().unwrap(), "DIR");
    assert_eq!(output.status.code(), Some(2));
    for expected in [
        "there is no tool \"forecast\"; the tools are execute, ",
        "; the plugin weather does not load: ",
        "weather.wasm",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
