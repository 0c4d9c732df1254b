//! Unix sockets: with and without a token, and from the command line.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tokio::net::UnixStream;
use toolhost_http::Listener;
use toolhost_needs::needs;

use super::*;
use crate::harness::serving::{Serving, server as program};

async fn ask(path: &Path, headers: &str) -> u16 {
    let stream = UnixStream::connect(path).await.unwrap();
    exchange(stream, headers).await
}

/// Asks how the server is, without a token, and returns all of the answer.
async fn health(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_private_socket_knows_who_asks() {
    let setup = Setup::new().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::unix(path.clone(), 0o600).unwrap();
    assert_eq!(listener.url().unwrap(), format!("unix:{}", path.display()));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let host = setup.host.clone();
    let served = tokio::spawn(serve(listener, host, access(), async {
        _ = stopped.await;
    }));
    let right = format!("authorization: Bearer {TOKEN}\r\n");
    for (headers, expected) in [
        ("host: localhost\r\n", 200),
        (&format!("host: localhost\r\n{right}"), 200),
        // Who sends a token is who has it.
        ("host: localhost\r\nauthorization: Bearer wrong\r\n", 401),
        ("host: evil.example\r\n", 403),
        ("host: localhost\r\norigin: http://evil.example\r\n", 403),
        ("", 400),
    ] {
        assert_eq!(ask(&path, headers).await, expected, "{headers}");
    }
    let health = health(&path).await;
    assert!(health.contains("\"workspace\""), "{health}");
    _ = stop.send(());
    served.await.unwrap().unwrap();
    assert!(!path.exists(), "the socket outlives its server");
}

/// Without a token, a command could call tools in any chat.
#[needs(program = "curl")]
#[tokio::test]
async fn a_command_needs_a_token() {
    let setup = Setup::new().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::unix(path.clone(), 0o600).unwrap();
    let host = setup.host.clone();
    tokio::spawn(serve(listener, host, access(), std::future::pending()));
    let ask = |headers: &str| {
        let path = path.display();
        format!(
            "curl --silent --output /dev/null --write-out '%{{http_code}}' --unix-socket {path} {headers} http://localhost/v1/tools"
        )
    };
    for (headers, status) in [
        (String::new(), "401"),
        (format!("-H 'authorization: Bearer {TOKEN}'"), "200"),
    ] {
        let reply = setup.execute(&ask(&headers)).await;
        assert_eq!(reply["output"], status, "{reply}");
        // The same when the process that connected has left its shell.
        let reply = setup.execute(&format!("setsid {}", ask(&headers))).await;
        assert_eq!(reply["output"], status, "{reply}");
    }
}

#[tokio::test]
async fn a_socket_for_others_needs_a_token() {
    let setup = Setup::new().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::unix(path.clone(), 0o660).unwrap();
    assert!(listener.needs_token());
    let host = setup.host.clone();
    tokio::spawn(serve(listener, host, access(), std::future::pending()));
    assert_eq!(ask(&path, "host: localhost\r\n").await, 401);
    let health = health(&path).await;
    assert!(health.ends_with("{\"status\":\"ok\"}"), "{health}");
    let right = format!("host: localhost\r\nauthorization: Bearer {TOKEN}\r\n");
    assert_eq!(ask(&path, &right).await, 200);
}

#[tokio::test]
async fn a_private_socket_with_an_approval_hook_needs_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = Listener::unix(path.clone(), 0o600).unwrap();
    assert!(!listener.needs_token());
    let listener = listener.with_tokens_only();
    assert!(listener.needs_token());
    let setup = Setup::new().await;
    let host = setup.host.clone();
    tokio::spawn(serve(listener, host, access(), std::future::pending()));
    assert_eq!(ask(&path, "host: localhost\r\n").await, 401);
    let right = format!("host: localhost\r\nauthorization: Bearer {TOKEN}\r\n");
    assert_eq!(ask(&path, &right).await, 200);
    // As the program does it.
    let other = directory.path().join("other");
    let mut command = program(directory.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let unix = format!("unix:{}", other.display());
    command.args(["serve", "--approval-command", "true", "--listen", &unix]);
    let _serving = Serving::of(command);
    assert_eq!(ask(&other, "host: localhost\r\n").await, 401);
    assert_eq!(ask(&other, &right).await, 200);
}

/// Another user is a stranger, if the mode of the socket is changed by hand as well.
#[needs(root)]
#[test]
fn another_user_is_not_known() {
    let base = tempfile::tempdir().unwrap();
    crate::harness::copy_for_others(base.path());
    let path = base.path().join("socket");
    let mut command = program(base.path());
    let _serving = Serving::of({
        command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
        command
            .arg("--listen")
            .arg(format!("unix:{}", path.display()));
        command
    });
    let call = |user: u32| {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(base.path().join("toolhost"));
        command.env_clear().uid(user).gid(user).arg("tools");
        command
            .arg("--server")
            .arg(format!("unix:{}", path.display()));
        let output = command.current_dir("/").output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    };
    assert_eq!(call(0).0, Some(0));
    let (code, stderr) = call(65534);
    assert!(
        code == Some(2) && stderr.contains("Permission denied"),
        "{stderr}"
    );
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    let (code, stderr) = call(65534);
    assert!(code == Some(2) && stderr.contains("401"), "{stderr}");
}

#[tokio::test]
async fn the_command_line_uses_a_socket_without_a_token() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("socket");
    let name = format!("unix:{}", path.display());
    // What a server that was killed has left behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut command = program(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.args(["serve", "--listen", &name]);
    let mut serving = Serving::of(command);
    let call = |server: &str| {
        let mut command = crate::harness::serving::client();
        command.args([
            "call",
            "execute",
            r#"{"command":"echo hi"}"#,
            "--server",
            server,
        ]);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, reply, _) = call(&name);
    assert!(
        code == Some(0) && reply.contains(r#""output":"hi\n""#),
        "{reply}"
    );
    // The address beside it needs one, and so says who would ask there.
    let (code, _, said) = call(
        &serving
            .stderr
            .lines()
            .last()
            .unwrap()
            .replace("listening on ", ""),
    );
    assert_eq!(
        code,
        Some(if serving.url.starts_with("unix:") {
            0
        } else {
            2
        }),
        "{said}"
    );
    // Another server finds it taken.
    let mut second = program(&workspace.path().join("second"));
    second.env("TOOLHOST_TOKEN", TOKEN);
    let second = second.args(["agent", "--listen", &name]).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("a server listens there already"), "{said}");
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(!path.exists());
    let (code, _, said) = call(&name);
    assert!(
        code == Some(2) && said.contains("cannot reach unix:"),
        "{said}"
    );
}

/// Where only a private socket is, there is nobody for whom a token would have to be made.
#[test]
fn a_private_socket_alone_makes_no_token() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("socket");
    let mut command = program(workspace.path());
    command
        .arg("agent")
        .arg("--listen")
        .arg(format!("unix:{}", path.display()));
    let mut child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let lines = std::io::BufRead::lines(stderr).map(Result::unwrap);
    let said: Vec<_> = lines
        .take_while(|line| !line.starts_with("listening on "))
        .collect();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().try_into().unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(said.iter().all(|line| !line.contains("token")), "{said:?}");
}
