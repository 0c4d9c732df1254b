//! Files that may not be read or written (rows of `NoPermissions`). Root may everything, and is somebody else here.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::sync::{Arc, Mutex, Weak};

use super::*;
use crate::cli::{Serving, server};
use crate::harness::{TOKEN, copy_for_others, with_code};

/// A user that nobody is.
const USER: u32 = 64_324;

/// `toolhost agent` as somebody who may not everything. Ended with the last test that uses it.
struct Limited {
    // First, so that it is ended before its directories are removed.
    serving: Serving,
    workspace: tempfile::TempDir,
    _program: tempfile::TempDir,
}

impl Limited {
    fn new() -> Arc<Self> {
        static SHARED: Mutex<Weak<Limited>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let limited = Arc::new(Self::start());
            *shared = Arc::downgrade(&limited);
            limited
        })
    }

    fn start() -> Self {
        let (workspace, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let user = nix::unistd::geteuid().is_root().then_some(USER);
        with_code(workspace.path().join(".state"), user);
        let usual = server(workspace.path());
        let mut command;
        if user.is_some() {
            chown(workspace.path(), Some(USER), Some(USER)).unwrap();
            command = std::process::Command::new(copy_for_others(directory.path()));
            command.env_clear().args(usual.get_args());
            command.uid(USER).gid(USER).current_dir("/");
        } else {
            command = usual;
        }
        command.env("TOOLHOST_TOKEN", TOKEN).arg("agent");
        Self {
            serving: Serving::of(command),
            workspace,
            _program: directory,
        }
    }

    /// Makes a directory for one test and returns its path.
    fn directory(&self, name: &str) -> String {
        let path = self.workspace.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(&path).unwrap();
        give(&path, 0o755)
    }

    fn request(&self, method: Method, target: &str) -> RequestBuilder {
        let client = crate::harness::http_client().build().unwrap();
        let url = format!("{}{target}", self.serving.url);
        client.request(method, url).bearer_auth(TOKEN)
    }

    fn get(&self, endpoint: &str, path: &str) -> RequestBuilder {
        self.request(Method::GET, &target(endpoint, &[("path", path)]))
    }

    fn write(&self, path: &str) -> RequestBuilder {
        let target = target("write-file", &[("path", path)]);
        self.request(Method::POST, &target).body("new")
    }

    fn edit(&self, paths: &[&str]) -> RequestBuilder {
        let file = |path: &&str| json!({ "path": path, "edits": [replace("old", "new")] });
        let files: Vec<_> = paths.iter().map(file).collect();
        let body = json!({ "files": files }).to_string();
        self.request(Method::POST, "/api/v0/edit-files").body(body)
    }
}

/// Gives something to the user, with this mode.
fn give(path: impl AsRef<std::path::Path>, mode: u32) -> String {
    let path = path.as_ref();
    if nix::unistd::geteuid().is_root() {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Makes a file of the user.
fn make(path: String, mode: u32) -> String {
    std::fs::write(&path, "old").unwrap();
    give(path, mode)
}

/// Opens a directory that was closed, so that it can be removed.
struct Closed(String);

impl Closed {
    fn new(path: String) -> Self {
        Self(give(path, 0o555))
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        give(&self.0, 0o755);
    }
}

#[tokio::test]
async fn read_no_permissions() {
    let limited = Limited::new();
    let path = make(limited.directory("read") + "/file", 0o000);
    let text = format!("open {path}: permission denied");
    refused(limited.get("read-file", &path), 403, &text).await;
}

#[tokio::test]
async fn read_lines_no_permissions() {
    let limited = Limited::new();
    let path = make(limited.directory("lines") + "/file", 0o000);
    let expected = json!({ "success": false, "error": format!("permission denied: {path}") });
    assert_eq!(ok(limited.get("read-file-lines", &path)).await, expected);
}

#[tokio::test]
async fn write_no_permissions_file() {
    let limited = Limited::new();
    let path = make(limited.directory("write-file") + "/file", 0o400);
    refused(limited.write(&path), 403, "permission denied").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[tokio::test]
async fn write_no_permissions_dir() {
    let limited = Limited::new();
    let directory = Closed::new(limited.directory("write-directory"));
    let path = format!("{}/file", directory.0);
    refused(limited.write(&path), 403, "permission denied").await;
    let path = format!("{}/nested/file", directory.0);
    refused(limited.write(&path), 403, "permission denied").await;
    assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 0);
}

#[tokio::test]
async fn edit_no_permissions() {
    let limited = Limited::new();
    let path = make(limited.directory("edit") + "/file", 0o400);
    refused(limited.edit(&[&path]), 403, "permission denied").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[tokio::test]
async fn edit_multi_error() {
    let limited = Limited::new();
    let directory = limited.directory("edit-several");
    let closed = make(format!("{directory}/closed"), 0o000);
    let good = make(format!("{directory}/good"), 0o644);
    let missing = format!("{directory}/missing");
    let request = limited.edit(&[&closed, &good, &missing]);
    let body = refused(request, 404, &format!("open {closed}: permission denied")).await;
    let expected = format!("open {missing}: no such file or directory");
    assert!(
        body["message"].as_str().unwrap().ends_with(&expected),
        "{body}"
    );
    assert_eq!(std::fs::read_to_string(&good).unwrap(), "old");
}

#[tokio::test]
async fn list_and_resolve_no_permissions() {
    let limited = Limited::new();
    let directory = limited.directory("list");
    std::fs::create_dir(format!("{directory}/below")).unwrap();
    let below = give(format!("{directory}/below"), 0o000);
    let target = target("list-directory", &[("path", &below)]);
    let request = limited.request(Method::POST, &target).body("{}");
    refused(request, 403, "permission denied").await;
    let request = limited.get("resolve-path", &format!("{below}/file"));
    refused(request, 403, "permission denied").await;
    give(&below, 0o755);
}
