//! Sockets of programs outside of the sandbox, which commands were given one by one.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, PLAIN, SECRET, Site};
use crate::harness::{TOKEN, until};

/// A running `ssh-agent` with a key.
struct Agent(Child);

impl Agent {
    async fn start(ground: &Ground, socket: &Path) -> Self {
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let mut agent = Command::new("ssh-agent");
        agent.args(["-D", "-a"]).arg(socket).stdout(Stdio::null());
        let agent = Self(agent.spawn().unwrap());
        until("the agent listens", || socket.exists().then_some(())).await;
        let key = ground.path("outside/key");
        let mut made = Command::new("ssh-keygen");
        made.args(["-q", "-t", "ed25519", "-N", "", "-C", "a key", "-f"]);
        assert!(made.arg(&key).status().unwrap().success());
        let mut add = Command::new("ssh-add");
        add.arg(&key)
            .env("SSH_AUTH_SOCK", socket)
            .stderr(Stdio::null());
        assert!(add.status().unwrap().success());
        agent
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Serves commands that may use the agent at a socket, if the flags say so. A variable names the socket, or a link to it.
async fn serve(socket: &str, link: Option<&str>, flags: &[&str]) -> (Site, Agent) {
    let ground = Ground::new();
    let path = ground.path(socket);
    let agent = Agent::start(&ground, &path).await;
    let link = link.map(|link| ground.path(link));
    if let Some(link) = &link {
        symlink(&path, link).unwrap();
    }
    let mut command = ground.command("serve", flags);
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.env("SSH_AUTH_SOCK", link.unwrap_or(path));
    (ground.serve_command(command), agent)
}

async fn the_agent_answers(socket: &str, link: Option<&str>, flags: &[&str]) -> (Site, Agent) {
    let flags = [flags, &["--sandbox-socket=SSH_AUTH_SOCK"]].concat();
    let (site, agent) = serve(socket, link, &flags).await;
    let listed = site.works("ssh-add -l").await;
    assert!(listed.contains("a key"), "{listed}");
    (site, agent)
}

#[needs(namespaces, program = "ssh-agent")]
#[tokio::test]
async fn a_socket_is_lent_and_nothing_beside_it() {
    for (socket, link) in [
        ("data/keys/agent", None),
        ("home/.ssh/agent", None),
        ("data/keys/real", Some("home/.ssh/agent")),
    ] {
        let (site, _agent) = the_agent_answers(socket, link, DEFAULT).await;
        let listed = site.works("ls -A $(dirname $SSH_AUTH_SOCK)").await;
        assert_eq!(listed, "agent");
        // It can be used, and not replaced.
        site.run("rm -f $SSH_AUTH_SOCK; mv $SSH_AUTH_SOCK other")
            .await;
        site.works("ssh-add -l").await;
    }
}

#[needs(namespaces)]
#[tokio::test]
async fn a_socket_below_a_closed_directory_is_below_no_other() {
    let ground = Ground::new();
    for name in ["closed", "other", "third"] {
        ground.write(&format!("data/{name}/key"), SECRET);
    }
    let _listener = UnixListener::bind(ground.path("data/closed/agent")).unwrap();
    let site = ground.serve(&[
        "--sandbox-read=@DATA",
        "--sandbox-never=@DATA/closed",
        "--sandbox-never=@DATA/other",
        "--sandbox-never=@DATA/third",
        "--sandbox-socket=@DATA/closed/agent",
    ]);
    let listed = site.works("cd @DATA; ls -A closed other third").await;
    assert_eq!(listed, "closed:\nagent\n\nother:\n\nthird:");
    let script = "cd @DATA; for name in closed other third; do ! touch $name/x || exit 1; done";
    site.works(script).await;
}

#[needs(program = "ssh-agent")]
#[tokio::test]
async fn a_socket_is_lent_without_namespaces() {
    let (site, _agent) = the_agent_answers("data/keys/agent", None, PLAIN).await;
    site.works("! ls $(dirname $SSH_AUTH_SOCK)").await;
}

#[needs(namespaces, program = "ssh-agent")]
#[tokio::test]
async fn a_socket_that_was_not_given_is_not_there() {
    let (site, _agent) = serve("data/agent", None, DEFAULT).await;
    site.works("test -z \"$SSH_AUTH_SOCK\"").await;
    let reply = site.run("SSH_AUTH_SOCK=@DATA/agent ssh-add -l").await;
    assert_ne!(reply.code, Some(0), "{reply:?}");
    let note = "commands were given no socket of an agent for keys";
    let arguments = json!({ "command": "ssh-add -l" });
    let (_, reply) = site.put("a", "execute", arguments).await;
    assert!(reply.to_string().contains(note), "{reply}");
}

#[test]
fn what_names_no_socket_is_an_error() {
    let ground = Ground::new();
    for (value, error) in [
        (None, "environment variable not found in the environment"),
        (Some("relative"), "no absolute path"),
    ] {
        let mut command = ground.command("sandbox", &["explain", "--sandbox-socket=SSH_AUTH_SOCK"]);
        command.env_remove("SSH_AUTH_SOCK");
        command.envs(value.map(|value| ("SSH_AUTH_SOCK", value)));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(error), "{text}");
    }
}
