//! SIGHUP: files are read again, and nothing ends.

use nix::sys::signal::Signal;
use toolhost_needs::needs;

use super::*;

fn hang_up(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, Signal::SIGHUP).unwrap();
}

#[tokio::test]
async fn a_server_reads_its_files_again_and_ends_nothing() {
    let workspace = tempfile::tempdir().unwrap();
    for name in ["serve", "agent"] {
        let mut command = server(workspace.path());
        command.env("TOOLHOST_TOKEN", TOKEN).arg(name);
        let (mut serving, says) = Serving::logged(command, workspace.path().join("log")).await;
        hang_up(&serving.child);
        says("SIGHUP: the files of the configuration are read again").await;
        assert!(serving.child.try_wait().unwrap().is_none());
        if name == "serve" {
            let mut call = client();
            call.env("TOOLHOST_TOKEN", TOKEN).args([
                "call",
                "process_list",
                "--server",
                &serving.url,
            ]);
            assert_eq!(call.output().unwrap().status.code(), Some(0));
        }
        assert_eq!(serving.signal(Signal::SIGTERM).code(), Some(0));
    }
}

#[tokio::test]
async fn health_says_what_is_wrong_with_the_configuration_now() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("toolhost.toml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    write("keep_arguments = true\n");
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.arg("--config").arg(&path);
    let serving = Serving::start(command);
    for (text, status, said) in [
        ("keep_arguments = true\n", "ok", "toolhost.toml"),
        (
            "durability = 'power'\n",
            "warning",
            "durability, keep_arguments",
        ),
        (
            "keep_arguments = 7\n",
            "error",
            "line 1, column 1: keep_arguments",
        ),
        (
            "[tokens.a]\nfile = 'none'\nscopes = ['read']\n",
            "error",
            "tokens.a.file",
        ),
        ("keep_arguments = true\n", "ok", "toolhost.toml"),
    ] {
        write(text);
        let request = serving.request(reqwest::Method::GET, "/v1/health");
        let health: Value = request.send().await.unwrap().json().await.unwrap();
        let mut checks = health["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["name"] == "configuration");
        let check = check.unwrap_or_else(|| panic!("{health}"));
        assert_eq!(check["status"], status, "{check}");
        assert!(check["text"].as_str().unwrap().contains(said), "{check}");
    }
}

/// What `logrotate` does: the file gets another name, and the server a signal.
#[tokio::test]
async fn the_audit_trail_goes_on_in_a_new_file() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    let (serving, says) = Serving::logged(command, workspace.path().join("log")).await;
    let audit = workspace.path().join(".state/audit");
    let call = |id: &str| {
        let mut call = client();
        call.env("TOOLHOST_TOKEN", TOKEN);
        call.args([
            "call",
            "process_list",
            "--call",
            id,
            "--server",
            &serving.url,
        ]);
        assert_eq!(call.output().unwrap().status.code(), Some(0));
    };
    let has = async |name: &str, id: &str| {
        until("the line is there", || {
            let text = std::fs::read_to_string(audit.join(name)).unwrap_or_default();
            text.contains(&format!("\"{id}\"")).then_some(())
        })
        .await;
    };
    call("first");
    has("audit.jsonl", "first").await;
    std::fs::rename(
        audit.join("audit.jsonl"),
        audit.join("audit.jsonl-20261123"),
    )
    .unwrap();
    hang_up(&serving.child);
    says("SIGHUP").await;
    call("second");
    has("audit.jsonl", "second").await;
    let before = std::fs::read_to_string(audit.join("audit.jsonl-20261123")).unwrap();
    assert!(!before.contains("\"second\""));
}

/// Started with SIGHUP ignored, commands begin with its default action all the same.
#[test]
fn commands_begin_with_default_signals_under_nohup() {
    for more in [&[][..], &["--no-cgroup"]] {
        let workspace = tempfile::tempdir().unwrap();
        let program = toolhost(workspace.path());
        let mut command = Command::new("nohup");
        command.arg(program.get_program()).args(program.get_args());
        command.args(["call", "execute"]).args(more);
        // A shell cannot trap what it began with as ignored.
        command.arg(r#"{"command":"trap 'echo hup' HUP; kill -HUP $$"}"#);
        let output = command.current_dir(workspace.path()).output().unwrap();
        assert_eq!(
            json_of(&output)["output"],
            "hup\n",
            "{}",
            text(&output.stderr)
        );
    }
}

/// A server in a terminal that is closed ends in order, unless it was started to outlive it.
#[needs(program = "script")]
#[tokio::test]
async fn a_closed_terminal_ends_a_server_that_was_not_started_with_nohup() {
    for prefix in ["", "nohup "] {
        let workspace = tempfile::tempdir().unwrap();
        let log = workspace.path().join("log");
        let program = server(workspace.path());
        let words = [program.get_program()]
            .into_iter()
            .chain(program.get_args());
        let words: Vec<_> = words
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let line = format!(
            "exec {prefix}{} serve --listen 127.0.0.1:0 2>'{}'",
            words.join(" "),
            log.display()
        );
        let mut terminal = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("TOOLHOST_TOKEN", TOKEN)
            .current_dir(workspace.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let says = |what: &'static str| {
            let log = log.clone();
            async move {
                until(what, || {
                    let said = std::fs::read_to_string(&log).unwrap_or_default();
                    said.contains(what).then_some(())
                })
                .await;
            }
        };
        says("listening on ").await;
        let pid = std::fs::read_to_string(workspace.path().join(".state/lock")).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        terminal.kill().unwrap();
        terminal.wait().unwrap();
        if prefix.is_empty() {
            says("stopped, and ended what was still running").await;
        } else {
            says("SIGHUP: ").await;
            assert!(is_alive(pid));
            let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
            nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
        }
        until("it is gone", || (!is_alive(pid)).then_some(())).await;
    }
}
