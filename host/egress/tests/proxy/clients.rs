//! Tests with real clients, which find the proxy only by its environment variables. They cannot resolve the name of the server, but the
//! proxy can.

use std::process::Output;

use tempfile::TempDir;
use tokio::process::Command;
use toolhost_egress::variables;
use toolhost_needs::needs;

use super::servers::{files, mirror};
use super::support::Running;

/// Runs a shell command with the variables of the proxy, and a home of its own.
async fn run(running: &Running, command: &str) -> Output {
    let home = TempDir::new().unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(home.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .env("PROXY_PORT", running.port.to_string())
        .envs(std::env::var_os("PYENV_ROOT").map(|root| ("PYENV_ROOT", root)))
        .envs(variables(running.port))
        .kill_on_drop(true)
        .output();
    output.await.unwrap()
}

/// Runs a command that succeeds, and returns what it prints.
async fn printed(running: &Running, command: &str) -> String {
    let output = run(running, command).await;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that fails, and returns its errors and output.
async fn failed(running: &Running, command: &str) -> String {
    let output = run(running, command).await;
    assert!(!output.status.success(), "{command}");
    let output = [output.stderr, output.stdout].concat();
    String::from_utf8_lossy(&output).into_owned()
}

async fn mirrored() -> (Running, String) {
    let port = mirror("127.0.0.1").await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    (running, format!("upstream.test:{port}"))
}

#[needs(program = "curl")]
#[tokio::test]
async fn curl() {
    let (running, host) = mirrored().await;
    let url = format!("http://{host}/path");
    for options in [
        "",
        "--proxytunnel",
        "--proxy socks5h://127.0.0.1:$PROXY_PORT",
        "--http1.0",
        "--data hello",
        "-H 'Expect: 100-continue' --data hello",
    ] {
        let body = printed(&running, &format!("curl -sS --fail {options} {url}")).await;
        let method = if options.contains("data") {
            "POST"
        } else {
            "GET"
        };
        assert!(
            body.starts_with(&format!("{method} /path [")),
            "{options}: {body}"
        );
        assert_eq!(body.ends_with(" hello"), options.contains("data"), "{body}");
    }
    let both = printed(&running, &format!("curl -sS {url}1 {url}2")).await;
    assert!(
        both.contains("GET /path1 ") && both.contains("GET /path2 "),
        "{both}"
    );
    let head = printed(&running, &format!("curl -sS --head {url}")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");

    let refused = printed(&running, "curl -sS http://evil.test/").await;
    let text = "toolhost: commands may not reach evil.test:80: it is not in the list of hosts (sandbox_network)\n";
    assert_eq!(refused, text);
    let refused = failed(&running, "curl -sSv https://evil.test/").await;
    assert!(
        refused.contains("403 toolhost: commands may not reach evil.test:443: "),
        "{refused}"
    );
    let refused = failed(
        &running,
        "curl -sS --proxy socks5h://127.0.0.1:$PROXY_PORT http://evil.test/",
    )
    .await;
    assert!(refused.contains("(2)"), "{refused}");
}

#[needs(program = "wget")]
#[tokio::test]
async fn wget() {
    let (running, host) = mirrored().await;
    let body = printed(&running, &format!("wget -nv -O - http://{host}/path")).await;
    assert!(body.starts_with("GET /path ["), "{body}");
    let refused = failed(&running, "wget -nv -O - http://evil.test/").await;
    assert!(
        refused.contains("403: toolhost: commands may not reach evil.test:80: "),
        "{refused}"
    );
}

#[needs(program = "git", program = "curl")]
#[tokio::test]
async fn git() {
    let directory = TempDir::new().unwrap();
    let port = files(directory.path().to_owned()).await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    let origin = directory.path().display();
    let make = format!(
        "git init -q work && cd work && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m hello && \
         git clone -q --bare . {origin}/work.git && git -C {origin}/work.git update-server-info"
    );
    printed(&running, &make).await;
    let clone = format!(
        "git clone -q http://upstream.test:{port}/work.git got && git -C got log --format=%s"
    );
    assert_eq!(printed(&running, &clone).await, "hello\n");
    let refused = failed(&running, "git clone http://evil.test/work.git").await;
    assert!(refused.contains("403"), "{refused}");
}

#[needs(program = "python3")]
#[tokio::test]
async fn python() {
    let (running, host) = mirrored().await;
    let script = format!(
        "from urllib.request import urlopen; print(urlopen('http://{host}/path', data=b'hello').read().decode())"
    );
    let body = printed(&running, &format!("python3 -c \"{script}\"")).await;
    assert!(
        body.starts_with("POST /path [") && body.ends_with(" hello\n"),
        "{body}"
    );
    // The client opens a tunnel, as for TLS. Of the answer, Python shows only the reason phrase.
    let refused = failed(
        &running,
        "python3 -c \"from urllib.request import urlopen; urlopen('https://evil.test/')\"",
    )
    .await;
    assert!(
        refused
            .contains("403 toolhost: commands may not reach evil.test:443: it is not in the list"),
        "{refused}"
    );
}

#[needs(program = "npm")]
#[tokio::test]
async fn npm() {
    let directory = TempDir::new().unwrap();
    let port = files(directory.path().to_owned()).await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    let ping = |host: &str| {
        format!("npm ping --no-update-notifier --fetch-retries=0 --registry http://{host}/")
    };
    let output = run(&running, &ping(&format!("upstream.test:{port}"))).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("PONG"), "{said}");
    let refused = failed(&running, &ping("evil.test")).await;
    assert!(refused.contains("403"), "{refused}");
}
