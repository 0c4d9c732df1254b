//! Paths that are closed to commands and to the tools for files alike, wherever the workspace is.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use toolhost_needs::needs;

use super::site::{Ground, OFF, SECRET, Site};
use crate::harness::{TOKEN, until};

/// The text for a tool that names a closed path.
const CLOSED: &str = toolhost_state::closed::REFUSAL;

/// The secrets below the home that a site does not have anyway.
const SECRETS: &[&str] = &[
    ".ssh/id_rsa",
    ".ssh/authorized_keys",
    ".config/gh/hosts.yml",
    ".config/toolhost/key",
    ".cache/toolhost/cache.key",
    "private/never",
    "secrets/plugin",
];

/// A path that is never to be reached, and a plugin with a secret.
const CONFIGURATION: &str = "
sandbox.never = ['@HOME/private']

[plugins.none]
component = 'none.wasm'
enabled = false
secrets = { key = { file = '@HOME/secrets/plugin' } }
";

/// Starts a server with the default configuration of its home, and the home as the workspace.
fn at_home(flags: &[&str], configuration: &str) -> Site {
    let ground = Ground::new();
    for secret in SECRETS {
        ground.write(&format!("home/{secret}"), SECRET);
    }
    let configuration = ground.text(configuration);
    ground.write("home/.config/toolhost/toolhost.toml", &configuration);
    let mut command = ground.command_in("home", "serve", flags);
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--workspace-anyway");
    ground.serve_command(command)
}

/// Calls a tool that must be refused because a path is closed.
async fn refused(site: &Site, tool: &str, arguments: Value) {
    let (status, reply) = site.put("support-1", tool, arguments.clone()).await;
    let text = reply.to_string();
    assert_eq!(status, 200, "{tool} {arguments}: {text}");
    assert_eq!(reply["is_error"], true, "{tool} {arguments}: {text}");
    assert!(text.contains(CLOSED), "{tool} {arguments}: {text}");
    assert!(!text.contains(SECRET), "{tool} {arguments}: {text}");
}

/// With all tools for files.
async fn is_closed(site: &Site, path: &str) {
    let edit = json!({ "path": path, "edits": [{ "old_text": "old", "new_text": "new" }] });
    refused(site, "read_file", json!({ "path": path })).await;
    refused(site, "write_file", json!({ "path": path, "content": "x" })).await;
    refused(site, "edit_files", json!({ "files": [edit] })).await;
}

#[tokio::test]
async fn tools_for_files_reach_no_key_of_a_home_that_is_the_workspace() {
    for flags in [OFF, &["--sandbox-no-namespaces"]] {
        let site = at_home(flags, CONFIGURATION);
        let home = site.path("home").display().to_string();
        let known = [
            ".aws/credentials",
            ".netrc",
            ".config/toolhost/toolhost.toml",
        ];
        for path in known.iter().chain(SECRETS) {
            is_closed(&site, path).await;
            is_closed(&site, &format!("{home}/./secrets/../{path}")).await;
        }
        // None of these exists.
        for path in [
            ".kube/config",
            ".ssh/config",
            ".config/op/new/deep",
            ".vault-token",
        ] {
            is_closed(&site, path).await;
            assert!(!Path::new(&home).join(path).exists(), "{path}");
        }
        // The files beside them are open.
        let write = json!({ "path": ".config/new/file", "content": "x" });
        let (_, reply) = site.put("support-1", "write_file", write).await;
        assert_eq!(reply["is_error"], false, "{reply}");
    }
}

/// Links that a command makes lead to nothing that it cannot reach itself.
#[needs(namespaces)]
#[tokio::test]
async fn links_of_a_command_open_no_closed_path() {
    let site = at_home(&[], "");
    let home = site.path("home").display().to_string();
    let script = format!(
        "ln -s .ssh one; ln -s '{home}/.netrc' two; mkdir sub; ln -s ../.config/gh sub/three; ln -s /proc/self/root four"
    );
    site.works(&script).await;
    for path in ["one/id", "one/new", "two", "sub/three/hosts.yml"] {
        is_closed(&site, path).await;
    }
    let through = json!({ "path": format!("four{home}/.ssh/id") });
    let (_, reply) = site.put("support-1", "read_file", through).await;
    assert_eq!(reply["is_error"], true, "{reply}");
    // No hard link, and no directory above that could be another one.
    for script in [
        "ln .netrc hard",
        "ln .ssh/id hard",
        "mv .config other",
        "mv .ssh other",
        "rm -r .config",
        "echo x > .config/toolhost/toolhost.toml",
        "cat .config/gh/hosts.yml",
        "cat .config/toolhost/key",
    ] {
        site.is_refused(script).await;
    }
    let left = std::fs::read_to_string(site.path("home/.config/gh/hosts.yml"));
    assert_eq!(left.unwrap(), SECRET);
}

/// A token that may call tools in its chats cannot make another one that may do more.
#[tokio::test]
async fn no_tool_adds_a_token() {
    let site = at_home(OFF, "");
    let configuration = site.path("home/.config/toolhost/toolhost.toml");
    let before = std::fs::read_to_string(&configuration).unwrap();
    let evil = format!(
        "[tokens.evil]\nsha256 = '{}'\nscopes = ['call', 'admin']\n",
        "1".repeat(64)
    );
    for path in [
        ".config/toolhost/toolhost.toml",
        ".config/../.config/toolhost/toolhost.toml",
        &configuration.display().to_string(),
        ".config/toolhost/toolhost.lock",
    ] {
        let write = json!({ "path": path, "content": evil });
        refused(&site, "write_file", write).await;
    }
    assert_eq!(std::fs::read_to_string(&configuration).unwrap(), before);
    // The operator can: the server follows the file that was written in vain.
    std::fs::write(&configuration, evil).unwrap();
    let log = until("the tokens have changed", || {
        let audit = std::fs::read_to_string(site.path("state/audit/audit.jsonl")).ok()?;
        audit.contains("\"evil\"").then_some(audit)
    });
    let log = log.await;
    // The first change is the start.
    assert_eq!(log.matches("tokens_changed").count(), 2, "{log}");
}

/// The agent API has the same files.
#[tokio::test]
async fn the_agent_api_reaches_no_closed_path() {
    let site = at_home(&[&["--agent-api"], OFF].concat(), "");
    let home = site.path("home").display().to_string();
    for path in [
        ".ssh/id",
        ".netrc",
        ".ssh/new",
        ".config/toolhost/toolhost.toml",
    ] {
        let route = format!("/api/v0/read-file?path={home}/{path}");
        let response = site.request(Method::GET, &route).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_client_error(), "{path}: {status} {text}");
        assert!(text.contains(CLOSED), "{path}: {text}");
        let route = format!("/api/v0/write-file?path={home}/{path}");
        let request = site.request(Method::POST, &route).body("x");
        let response = request.send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_client_error(), "{path}: {status} {text}");
        assert!(text.contains(CLOSED), "{path}: {text}");
    }
}

/// As with `toolhost serve 2>server.log`: the log has a link that logs in with all rights.
#[needs(namespaces)]
#[tokio::test]
async fn the_log_of_the_server_is_closed() {
    let ground = Ground::new();
    let log = ground.path("work/server.log");
    let mut command = ground.command("serve", &[]);
    command.env("TOOLHOST_TOKEN", TOKEN).stdout(Stdio::null());
    let site = ground.serve_logged(command, log.clone()).await;
    let said = until("it tells the link", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("login?code=").then_some(said)
    });
    said.await;
    is_closed(&site, "server.log").await;
    // To root, it is empty; others cannot open it.
    for script in [
        "cat server.log",
        "ln server.log other && cat other",
        "mv server.log other && cat other",
        "grep -r login .",
    ] {
        let output = site.run(script).await.output;
        assert!(!output.contains("code="), "{script}: {output}");
    }
}

/// The program of the hook, if an operator keeps it in the workspace.
#[tokio::test]
async fn the_program_of_the_hook_cannot_be_replaced() {
    let ground = Ground::new();
    ground.write("home/hook.sh", "#!/bin/sh\nexit 0\n");
    let mode = PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(ground.path("home/hook.sh"), mode).unwrap();
    let mut command = ground.command_in("home", "serve", OFF);
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--workspace-anyway")
        .arg("--approval-command")
        .arg(ground.path("home/hook.sh"));
    let site = ground.serve_command(command);
    is_closed(&site, "hook.sh").await;
}

/// The paths of a command line mean what they meant where the server was started.
#[needs(namespaces)]
#[tokio::test]
async fn relative_paths_are_used_and_closed_like_others() {
    for workspace in ["work", "."] {
        let ground = Ground::new();
        ground.write("never/key", SECRET);
        ground.write("lent/file", "lent\n");
        ground.write("token", TOKEN);
        let flags = [
            "--sandbox-never=never",
            "--sandbox-read=lent",
            "--token-file=token",
            "--audit-dir=audit",
            "--workspace-anyway",
        ];
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(ground.path("token"), own).unwrap();
        let command = ground.relative_command(workspace, "serve", &flags);
        let site = ground.serve_command(command);
        let lent = site.path("lent/file");
        let reply = site.run(&format!("cat '{}'", lent.display())).await;
        assert_eq!((&*reply.output, reply.code), ("lent\n", Some(0)));
        for closed in ["never/key", "state/cache.key", "audit/audit.jsonl", "token"] {
            let path = site.path(closed);
            assert!(path.exists(), "{closed}");
            let reply = site.run(&format!("cat '{}'", path.display())).await;
            // Root reads what stands in the place of a closed file, and finds nothing.
            let is_closed = reply.code != Some(0) || reply.output.is_empty();
            assert!(is_closed, "{workspace}, {closed}: {}", reply.output);
            let (_, reply) = site.put("a", "read_file", json!({ "path": path })).await;
            assert_eq!(reply["is_error"], true, "{workspace}, {closed}: {reply}");
        }
    }
}
