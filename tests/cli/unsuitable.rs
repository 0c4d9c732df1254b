//! Workspaces that are refused: homes, `/`, and directories with the files of Toolhost.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::harness::serving::client;
use crate::harness::with_code;

/// A home with a project, and a state directory beside it.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("home/project")).unwrap();
        symlink("home", base.path().join("link")).unwrap();
        with_code(base.path().join("state"), None);
        Self { base }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Returns a command in a directory, with the state directory beside the home.
    fn command(&self, directory: &Path) -> Command {
        let mut command = client();
        command
            .current_dir(directory)
            .env("HOME", self.path("home"))
            .env_remove("XDG_CACHE_HOME")
            .env("TOOLHOST_STATE_DIR", self.path("state"))
            .stdin(Stdio::null());
        command
    }

    /// Asserts that a command fails with an error, and that this says what to do.
    #[track_caller]
    fn is_refused(&self, command: &mut Command, reason: &str) {
        let Output { status, stderr, .. } = command.output().unwrap();
        let text = String::from_utf8(stderr).unwrap();
        let base = self.base.path().canonicalize().unwrap();
        let shown = text.replace(base.to_str().unwrap(), "BASE");
        let shown = shown.replace(self.base.path().to_str().unwrap(), "BASE");
        assert_eq!(status.code(), Some(2), "{shown}");
        assert_eq!(
            shown.trim_end(),
            format!(
                "toolhost: {reason}; choose a directory below with --workspace, or open this one with --workspace-anyway"
            )
        );
    }
}

#[track_caller]
fn works(command: &mut Command) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn every_command_with_tools_refuses_a_home() {
    let place = Place::new();
    let home = place.path("home");
    let reason = "the workspace BASE/home is the home of this user";
    for arguments in [
        &["call", "process_list"][..],
        &["mcp"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["agent", "--listen", "127.0.0.1:0"],
    ] {
        place.is_refused(place.command(&home).args(arguments), reason);
    }
}

#[test]
fn directories_around_a_home_or_files_of_toolhost_are_refused() {
    let place = Place::new();
    let configuration = place.path("home/project/conf/toolhost.toml");
    std::fs::create_dir(place.path("home/project/conf")).unwrap();
    std::fs::write(&configuration, "").unwrap();
    let call = |workspace: &Path| {
        let mut command = place.command(&place.path("home/project"));
        command.arg("--workspace").arg(workspace);
        command.args(["call", "process_list"]);
        command
    };
    let refused = |workspace: &str, reason: &str| {
        place.is_refused(&mut call(&place.path(workspace)), reason);
    };
    place.is_refused(
        &mut call(Path::new("/")),
        "the workspace / is the whole file system",
    );
    refused("link", "the workspace BASE/link is the home of this user");
    refused(".", "the workspace BASE contains the home BASE/home");
    refused(
        "state",
        "the workspace BASE/state is the state directory of this user",
    );
    // A configuration and code that are not there yet.
    for (workspace, reason) in [
        (
            ".config",
            "contains the configuration BASE/home/.config/toolhost",
        ),
        (
            ".cache",
            "contains the code cache BASE/home/.cache/toolhost",
        ),
    ] {
        let workspace = format!("home/{workspace}");
        std::fs::create_dir(place.path(&workspace)).unwrap();
        let reason = format!("the workspace BASE/{workspace} {reason}");
        refused(&workspace, &reason);
    }
    for workspace in ["home/project", "home/project/conf"] {
        let mut command = call(&place.path(workspace));
        let reason = format!(
            "the workspace BASE/{workspace} contains the configuration BASE/home/project/conf/toolhost.toml"
        );
        place.is_refused(command.arg("--config").arg(&configuration), &reason);
    }
    // The home that the system knows.
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid());
    if let Some(user) = user.unwrap().filter(|user| user.dir.is_dir()) {
        let mut command = call(&user.dir);
        let known = user.dir.display();
        place.is_refused(
            &mut command,
            &format!("the workspace {known} is the home of this user"),
        );
    }
}

#[test]
fn files_on_which_the_host_relies_are_not_taken_from_the_workspace() {
    let place = Place::new();
    let workspace = place.path("home/project");
    std::fs::create_dir(place.path("keys")).unwrap();
    std::fs::write(place.path("keys/file"), "").unwrap();
    symlink(place.path("keys/file"), workspace.join("link")).unwrap();
    symlink(place.path("keys"), workspace.join("keys")).unwrap();
    std::fs::write(workspace.join("file"), "").unwrap();
    let configuration = place.path("keys/toolhost.toml");
    let serve = &["serve", "--listen", "127.0.0.1:0"][..];
    let agent = &["agent", "--listen", "127.0.0.1:0"][..];
    for name in ["file", "link", "keys/file"] {
        let file = workspace.join(name);
        let given = file.to_str().unwrap();
        let reason = format!(
            "the workspace BASE/home/project contains BASE/home/project/{name}, on which the host relies"
        );
        for (arguments, option) in [
            (serve, "--token-file"),
            (serve, "--approval-command"),
            (serve, "--audit-dir"),
            (agent, "--token-file"),
            (agent, "--approval-command"),
        ] {
            let mut command = place.command(&workspace);
            place.is_refused(command.args(arguments).args([option, given]), &reason);
        }
        let tokens = format!("[tokens.a]\nfile = \"{given}\"\nscopes = [\"call\"]\n");
        std::fs::write(&configuration, tokens).unwrap();
        for arguments in [&["call", "process_list"][..], serve, agent] {
            let mut command = place.command(&workspace);
            let command = command.arg("--config").arg(&configuration);
            place.is_refused(command.args(arguments), &reason);
        }
    }
    let mut command = place.command(&workspace);
    let hook = workspace.join("file");
    let call = command.args(["call", "--approval-command"]).arg(hook);
    works(call.args(["--workspace-anyway", "process_list"]));
}

#[test]
fn a_workspace_that_the_operator_wants_anyway_is_taken() {
    let place = Place::new();
    let home = place.path("home");
    let call = ["call", "process_list"];
    works(place.command(&home.join("project")).args(call));
    works(place.command(&home).args(call).arg("--workspace-anyway"));
    works(place.command(&home).arg("--workspace-anyway").args(call));
    works(
        place
            .command(&home)
            .args(call)
            .env("TOOLHOST_WORKSPACE_ANYWAY", "1"),
    );
    let configuration = home.join(".config/toolhost/toolhost.toml");
    std::fs::create_dir_all(configuration.parent().unwrap()).unwrap();
    std::fs::write(&configuration, "workspace_anyway = true\n").unwrap();
    works(place.command(&home).args(call));
}

#[test]
fn the_doctor_says_so() {
    let place = Place::new();
    let home = place.path("home");
    let doctor = |arguments: &[&str]| {
        let mut command = place.command(&home);
        let output = command.args(["doctor", "--json"]).args(arguments);
        let output = output.output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = found["checks"].as_array().unwrap().clone();
        let workspace = checks
            .into_iter()
            .find(|check| check["name"] == "workspace");
        (output.status.code(), workspace.unwrap())
    };
    let (code, check) = doctor(&[]);
    assert_eq!((code, &check["status"]), (Some(2), &"failed".into()));
    let advice = check["advice"].as_str().unwrap();
    assert!(advice.contains("--workspace-anyway"), "{advice}");
    let (code, check) = doctor(&["--workspace-anyway"]);
    assert_eq!((code, &check["status"]), (Some(0), &"warning".into()));
    let text = check["text"].as_str().unwrap();
    assert!(text.ends_with("is the home of this user"), "{text}");
}
