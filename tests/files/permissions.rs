//! Refusals of the operating system. Root is allowed everything, so that root runs these as another user.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::harness::{copy_for_others, program, with_code};

/// A user that nobody is.
const NOBODY: u32 = 64_331;

/// A workspace of a user that is not root.
struct User {
    directory: tempfile::TempDir,
    program: PathBuf,
    uid: Option<u32>,
}

impl User {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let is_root = nix::unistd::geteuid().is_root();
        let program = if is_root {
            copy_for_others(directory.path())
        } else {
            program().to_path_buf()
        };
        let user = Self {
            directory,
            program,
            uid: is_root.then_some(NOBODY),
        };
        std::fs::create_dir(user.path("workspace")).unwrap();
        user.own(&user.path("workspace"), 0o700);
        with_code(user.path("state"), user.uid);
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn own(&self, path: &Path, mode: u32) {
        chown(path, self.uid, self.uid).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn make(&self, name: &str, mode: u32) {
        let path = self.path("workspace").join(name);
        std::fs::write(&path, "old\n").unwrap();
        self.own(&path, mode);
    }

    /// Calls a tool as the user, and returns what is printed.
    fn call(&self, tool: &str, arguments: &Value) -> String {
        let mut command = Command::new(&self.program);
        command
            .arg("--workspace")
            .arg(self.path("workspace"))
            .arg("--state-dir")
            .arg(self.path("state"))
            .args(["call", tool, &arguments.to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }
}

#[test]
fn what_may_not_be_read_or_written() {
    let user = User::new();
    user.make("locked", 0o000);
    user.make("read-only", 0o444);
    std::fs::create_dir(user.path("workspace").join("closed")).unwrap();
    user.make("closed/file", 0o644);
    user.own(&user.path("workspace/closed"), 0o500);
    let refused = |tool: &str, arguments: Value, text: &str| {
        let shown = user.call(tool, &arguments);
        assert!(shown.contains(text), "{tool} {arguments}: {shown}");
    };
    let write = |path: &str| json!({ "path": path, "content": "new" });
    let edit = |paths: &[&str]| {
        let edits = json!([{ "old_text": "old", "new_text": "new" }]);
        let file = |path: &&str| json!({ "path": path, "edits": edits });
        json!({ "files": paths.iter().map(file).collect::<Vec<_>>() })
    };
    refused(
        "read_file",
        json!({ "path": "locked" }),
        "permission denied: locked",
    );
    for path in ["locked", "read-only", "closed/new", "closed/file"] {
        refused(
            "write_file",
            write(path),
            &format!("permission denied: {path}"),
        );
    }
    refused(
        "edit_files",
        edit(&["locked"]),
        "open locked: permission denied",
    );
    refused(
        "edit_files",
        edit(&["read-only"]),
        "permission denied: read-only",
    );
    // MultiError of the reference: everything that is wrong is said, and the good file is left alone.
    user.make("good", 0o644);
    refused(
        "edit_files",
        edit(&["locked", "good", "missing"]),
        "open locked: permission denied\\nopen missing: no such file or directory; to make a new file, use \
         write_file",
    );
    for name in ["locked", "read-only", "closed/file", "good"] {
        let path = user.path("workspace").join(name);
        user.own(&path, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"old\n", "{name}");
    }
    assert_eq!(names(&user.path("workspace/closed")), ["file"]);
}
