//! Signals to a call that runs on a server, and to the server.

use nix::sys::signal::Signal;

use std::io::{BufRead as _, BufReader};

use super::*;

fn interrupt(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, Signal::SIGINT).unwrap();
}

/// Starts a call of a command on a server, and returns when the command runs.
async fn calling(serving: &Serving, workspace: &Path, command: &str) -> (Child, u32) {
    let arguments =
        json!({ "command": format!("echo partial; echo $$ > pid; {command}"), "timeout": "1h" });
    let child = client()
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["call", "execute", &arguments.to_string()])
        .args(["--chat", "x", "--call", "c1", "--server", &serving.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = file(&workspace.join("pid")).await;
    (child, pid.trim().parse().unwrap())
}

#[tokio::test]
async fn an_interrupted_call_is_cancelled_on_its_server() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let serving = Serving::start(command);
    let (child, pid) = calling(&serving, workspace.path(), "exec sleep 1000").await;
    interrupt(&child);
    let output = finished(child).await;
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(json_of(&output)["output"], "partial\n");
    assert!(
        said.contains("cancelling call c1 of chat x")
            && said.contains("call c1 is over: cancelled"),
        "{said}"
    );
    until("its process is gone", || (!is_alive(pid)).then_some(())).await;
}

/// The second one leaves the call to the server, and says how to look at it and how to cancel it.
#[tokio::test]
async fn a_call_that_is_interrupted_twice_is_left_to_its_server() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    // A server that is stopped answers nothing, so that the first interruption cannot be over before the second.
    let (mut child, pid) = calling(&serving, workspace.path(), "exec sleep 1000").await;
    let server = nix::unistd::Pid::from_raw(i32::try_from(serving.child.id()).unwrap());
    nix::sys::signal::kill(server, Signal::SIGSTOP).unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    interrupt(&child);
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("cancelling call c1"), "{first}");
    interrupt(&child);
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(finished(child).await.status.code(), Some(1));
    nix::sys::signal::kill(server, Signal::SIGCONT).unwrap();
    let rest = rest.join("\n").replace(&serving.url, "URL");
    insta::assert_snapshot!(rest);
    // The printed commands work.
    let cancel = rest
        .lines()
        .find_map(|line| line.split_once("cancel it:"))
        .unwrap()
        .1;
    let cancelled = Command::new("sh")
        .args(["-c", &cancel.replace("URL", &serving.url)])
        .env("TOOLHOST_TOKEN", TOKEN)
        .output()
        .unwrap();
    if !text(&cancelled.stderr).contains("not found") {
        assert_eq!(json_of(&cancelled)["state"], "cancelled");
        until("its process is gone", || (!is_alive(pid)).then_some(())).await;
    }
    serving.signal(Signal::SIGTERM);
}

/// A server that lets calls go on waits for them no longer once it is told to end again.
#[tokio::test]
async fn a_second_signal_ends_the_draining() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("TOOLHOST_DRAIN", "1h");
    let mut serving = Serving::start(command);
    let (child, pid) = calling(&serving, workspace.path(), "exec sleep 1000").await;
    let own = nix::unistd::Pid::from_raw(i32::try_from(serving.child.id()).unwrap());
    nix::sys::signal::kill(own, Signal::SIGTERM).unwrap();
    while serving
        .request(reqwest::Method::GET, "/readyz")
        .send()
        .await
        .unwrap()
        .status()
        != 503
    {}
    assert!(is_alive(pid), "the call goes on");
    assert_eq!(serving.signal(Signal::SIGTERM).code(), Some(0));
    let output = finished(child).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    until_dead(pid).await;
}
