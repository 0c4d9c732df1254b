//! The modes and flags of the sandbox, and what each of them allows.

use std::net::TcpListener;
use std::process::Output;

use nix::sys::signal::Signal;
use serde_json::json;
use toolhost_needs::needs;

use super::site::{Ground, OFF, PLAIN, SECRET, Site};

const READ_ONLY: &[&str] = &["--sandbox=read-only", "--sandbox-no-namespaces"];

/// Scripts, and whether they succeed in the modes `workspace`, `read-only` and `off`.
const TABLE: &[(&str, [bool; 3])] = &[
    ("cat file", [true, true, true]),
    ("ls /usr/bin && cat /etc/passwd", [true, true, true]),
    ("echo x > new", [true, false, true]),
    ("rm new || mkdir directory", [true, false, true]),
    ("f=$(mktemp) && echo x > $f && rm $f", [true, true, true]),
    (
        "f=$(mktemp -p /dev/shm) && echo x > $f && rm $f",
        [true, true, true],
    ),
    ("cat ~/.gitconfig", [true, true, true]),
    ("echo x > ~/new", [true, false, true]),
    ("ls ~", [true, true, true]),
    ("cat @HOME/.cargo/registry/cached", [true, true, true]),
    ("echo x > @HOME/.cargo/registry/new", [false, false, true]),
    ("echo x > @HOME/new", [false, false, true]),
    ("ls @HOME", [false, false, true]),
    ("cat @HOME/.ssh/id", [false, false, true]),
    ("cat @OUTSIDE/secret", [false, false, true]),
    ("echo x > @OUTSIDE/new", [false, false, true]),
    ("cat @DATA/open", [false, false, true]),
    ("cat @STATE/cache.key > /dev/null", [false, false, true]),
    ("ls /tmp", [false, false, true]),
    ("kill -CONT @HOST", [false, false, true]),
    ("kill -CONT $$ && kill -CONT 0", [true, true, true]),
];

#[tokio::test]
async fn each_mode_allows_what_the_table_says() {
    for (mode, flags) in [PLAIN, READ_ONLY, OFF].into_iter().enumerate() {
        let site = Site::new(flags);
        for (script, expected) in TABLE {
            let reply = site.run(script).await;
            let succeeded = reply.code == Some(0);
            assert_eq!(succeeded, expected[mode], "{flags:?} {script}: {reply:?}");
        }
    }
}

/// The lines of a process about its rights.
fn rights(status: &str) -> Vec<&str> {
    let names = ["NoNewPrivs:", "Seccomp:", "CapBnd:", "CapPrm:"];
    let is_meant = |line: &&str| names.iter().any(|name| line.starts_with(name));
    status.lines().filter(is_meant).collect()
}

#[tokio::test]
async fn off_is_as_without_a_sandbox() {
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let site = Site::new(OFF);
    let status = site.works("cat /proc/self/status").await;
    assert_eq!(rights(&status), rights(&own));
    let site = Site::new(PLAIN);
    let status = site.works("cat /proc/self/status").await;
    let rights = rights(&status);
    assert!(rights.contains(&"NoNewPrivs:\t1"), "{rights:?}");
    assert!(rights.contains(&"Seccomp:\t2"), "{rights:?}");
}

/// Sockets of Unix go on: a command may need them to talk to itself.
#[needs(program = "python3")]
#[tokio::test]
async fn no_network_is_none_at_all() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connect = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {}))'",
        address.port()
    );
    let site = Site::new(PLAIN);
    site.works(&connect).await;
    let site = Site::new(&["--sandbox-network=none", "--sandbox-no-namespaces"]);
    site.fails(&connect, "not permitted").await;
    for socket in [
        "AF_INET, socket.SOCK_DGRAM",
        "AF_INET6, socket.SOCK_STREAM",
        "AF_NETLINK, socket.SOCK_RAW",
    ] {
        let script = format!("python3 -c 'import socket; socket.socket(socket.{socket})'");
        site.fails(&script, "not permitted").await;
    }
    site.works("python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen(); socket.socket(socket.AF_UNIX).connect(\"s\")'")
        .await;
}

/// Packets with headers of one's own need no network to be refused.
#[needs(program = "python3")]
#[tokio::test]
async fn raw_sockets_are_refused_with_a_network() {
    let site = Site::new(PLAIN);
    for socket in ["AF_INET, socket.SOCK_RAW, 1", "AF_PACKET, socket.SOCK_RAW"] {
        let script = format!("python3 -c 'import socket; socket.socket(socket.{socket})'");
        site.fails(&script, "not permitted").await;
    }
}

#[tokio::test]
async fn paths_can_be_added_and_taken_away() {
    let site = Site::new(&["--sandbox-read=@DATA", "--sandbox-no-namespaces"]);
    site.works("cat @DATA/open @DATA/keys/key").await;
    site.fails("echo x > @DATA/new", "/new: ").await;
    let site = Site::new(&[
        "--sandbox-read=@DATA",
        "--sandbox-never=@DATA/keys",
        "--sandbox-no-namespaces",
    ]);
    site.works("cat @DATA/open").await;
    site.fails("cat @DATA/keys/key", "denied").await;
    site.fails("ls @DATA/keys", "denied").await;
    site.fails("ln -s @DATA/keys keys && cat keys/key", "denied")
        .await;
    let site = Site::new(&["--sandbox-write=@DATA"]);
    site.works("echo x > @DATA/new && rm @DATA/new").await;
    let site = Site::new(&[
        "--sandbox=read-only",
        "--sandbox-write=@DATA",
        "--sandbox-no-namespaces",
    ]);
    site.works("cat @DATA/open").await;
    site.fails("echo x > @DATA/new", "/new: ").await;
    // A list of flags does not open what is never granted.
    let site = Site::new(&[
        "--sandbox-read=@HOME",
        "--sandbox-write=@STATE",
        "--sandbox-no-namespaces",
    ]);
    site.works("cat @HOME/.gitconfig").await;
    site.fails("cat @HOME/.ssh/id", "denied").await;
    site.fails("cat @STATE/cache.key", "denied").await;
}

#[tokio::test]
async fn limits_hold() {
    let site = Site::new(&[
        "--sandbox-file-size=1MiB",
        "--sandbox-memory=1GiB",
        "--sandbox-cpu=100s",
    ]);
    let limits = site.works("sh -c 'ulimit -f; ulimit -d; ulimit -t'").await;
    assert_eq!(limits, "2048\n1048576\n100");
    site.fails("ulimit -t 200", "").await;
    site.fails("head -c 2M /dev/zero > big", "").await;
    assert_eq!(site.path("work/big").metadata().unwrap().len(), 1 << 20);
}

/// Starts a server that should not start.
fn refused(workspace: &str, flags: &[&str]) -> String {
    let ground = Ground::new();
    ground.write("work/private/key", SECRET);
    let mut command = ground.command_in(workspace, "serve", flags);
    let output = command.args(["--listen", "127.0.0.1:0"]).output();
    let Output { status, stderr, .. } = output.unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    said
}

#[test]
fn a_sandbox_that_is_required_and_cannot_hold_is_an_error() {
    // No rule can take a path away below a directory in which commands may write.
    let said = refused(
        "work",
        &[
            "--sandbox-required",
            "--sandbox-never=@WORK/private",
            "--sandbox-no-namespaces",
        ],
    );
    assert!(said.contains("the sandbox is required"), "{said}");
    assert!(said.contains("work/private"), "{said}");
    let flags = [
        "--sandbox-required",
        "--sandbox-no-namespaces",
        "--workspace-anyway",
    ];
    let said = refused("home", &flags);
    assert!(said.contains("home/.aws"), "{said}");
}

#[test]
fn what_cannot_hold_and_is_not_required_is_a_warning() {
    let ground = Ground::new();
    ground.write("work/private/key", SECRET);
    let site = ground.serve(&["--sandbox-never=@WORK/private", "--sandbox-no-namespaces"]);
    let mut serving = site.serving;
    assert!(serving.signal(Signal::SIGTERM).success());
    let rest = serving.rest();
    let said = format!("{}{rest}", serving.stderr);
    assert!(
        said.contains("the sandbox of commands does not enforce the whole policy"),
        "{said}"
    );
    assert!(said.contains("work/private"), "{said}");
}

#[test]
fn a_sandbox_that_is_off_is_a_warning() {
    let warning = "the sandbox is off";
    for (flags, expected) in [(OFF, 1), (PLAIN, 0)] {
        let site = Site::new(flags);
        assert_eq!(site.serving.stderr.matches(warning).count(), expected);
        let ground = Ground::new();
        let mut command = ground.command("call", flags);
        command.args(["execute", r#"{"command":"true"}"#]);
        let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert_eq!(said.matches(warning).count(), expected, "{said}");
    }
}

#[test]
fn a_sandbox_that_holds_can_be_required() {
    let site = Site::new(&["--sandbox-required"]);
    assert!(!site.serving.stderr.contains("does not enforce"));
}

#[test]
fn a_workspace_that_commands_must_not_reach_is_an_error() {
    let said = refused("home/.ssh", &[]);
    assert!(said.contains("home/.ssh"), "{said}");
    assert!(said.contains("cannot be a workspace"), "{said}");
}

/// A single call has the same sandbox, and the same flags.
#[test]
fn a_call_without_a_server_is_confined() {
    let ground = Ground::new();
    let call = |flags: &[&str], script: &str| {
        let arguments = json!({ "command": script }).to_string();
        let mut command = ground.command("call", flags);
        command.args(["execute", &arguments]);
        command.output().unwrap().status.code()
    };
    let secret = ground.path("outside/secret");
    let read = format!("cat '{}'", secret.display());
    assert_eq!(call(OFF, &read), Some(0));
    assert_eq!(call(PLAIN, &read), Some(1));
    assert_eq!(call(PLAIN, "cat file; echo x > new"), Some(0));
    assert_eq!(call(READ_ONLY, "echo x > new"), Some(1));
}

/// The configuration has the flags as keys, and a variable names them as well.
#[test]
fn the_mode_comes_from_a_flag_a_variable_or_the_configuration() {
    let ground = Ground::new();
    ground.write("config/toolhost.toml", "[sandbox]\nmode = 'read-only'\n");
    let code = |change: &dyn Fn(&mut std::process::Command)| {
        let mut command = ground.command("call", &[]);
        command
            .arg("--config")
            .arg(ground.path("config/toolhost.toml"));
        change(&mut command);
        command.args(["execute", r#"{"command":"echo x > new"}"#]);
        command.output().unwrap().status.code()
    };
    assert_eq!(code(&|_| {}), Some(1));
    let variable = |command: &mut std::process::Command| {
        command.env("TOOLHOST_SANDBOX", "workspace");
    };
    assert_eq!(code(&variable), Some(0));
    let flag = |command: &mut std::process::Command| {
        command.env("TOOLHOST_SANDBOX", "workspace");
        command.arg("--sandbox=read-only");
    };
    assert_eq!(code(&flag), Some(1));
}

/// The agent API has no model to tell.
#[tokio::test]
async fn a_denial_to_a_command_of_the_agent_api_is_in_the_audit_trail() {
    let ground = Ground::new();
    let mut command = ground.command("agent", &[]);
    command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
    let site = ground.serve_command(command);
    let command = site.script("cat @HOME/.ssh/id");
    let request = site.request(reqwest::Method::POST, "/api/v0/processes/start");
    let request = request.json(&json!({ "command": command }));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let told = site.text("@HOME/.ssh/id is closed to commands (never)");
    let trail = site.path("state/audit/audit.jsonl");
    crate::harness::until("the denial is in the audit trail", || {
        let text = std::fs::read_to_string(&trail).ok()?;
        let mut lines = text.lines().filter(|line| line.contains("command_denied"));
        lines.any(|line| line.contains(&told)).then_some(())
    })
    .await;
}

/// The model and the operator are told by which rule.
#[tokio::test]
async fn a_denial_is_explained_to_the_model_and_in_the_audit_trail() {
    let site = Site::new(&[]);
    let script = site.script("cat @HOME/.ssh/id");
    let (status, body) = site.put("a", "execute", json!({ "command": script })).await;
    assert_eq!(status, 200, "{body}");
    let told = site.text("@HOME/.ssh/id is closed to commands (never)");
    assert!(body.to_string().contains(&told), "{body}");
    let (_, body) = site
        .put("a", "execute", json!({ "command": "cat none; echo works" }))
        .await;
    assert!(!body.to_string().contains("sandbox"), "{body}");
    let ground = site.end(Signal::SIGTERM);
    let files = std::fs::read_dir(ground.path("state/audit"))
        .unwrap()
        .flatten();
    let text: String = files
        .map(|file| std::fs::read_to_string(file.path()).unwrap())
        .collect();
    let denials = text.lines().filter(|line| line.contains("command_denied"));
    let denials: Vec<_> = denials.collect();
    assert_eq!(denials.len(), 1, "{text}");
    assert!(denials[0].contains(&told), "{denials:?}");
}
