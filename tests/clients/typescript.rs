//! The client for TypeScript: its own tests, and its types.

use toolhost_needs::needs;

use super::*;
use crate::harness::{program, shared_code};

/// Copies a directory without what was built or installed in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let name = file.file_name();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), to.join(name)).unwrap();
        } else if name != "node_modules" && name != "dist" {
            copy(&file.path(), &to.join(name));
        }
    }
}

/// Runs a program that must succeed. Compilers and test runners report errors on standard output.
async fn succeeds(command: Command) {
    let output = run(command).await;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success(), "{status}: {stdout}\n{stderr}");
}

/// Builds the client and the chat that uses it, in a copy with the directories of the repository.
pub(crate) async fn built() -> tempfile::TempDir {
    let modules = prepared("typescript").join("node_modules");
    let sources = tempfile::tempdir().unwrap();
    let at = |path: &str| sources.path().join(path);
    for directory in ["clients/typescript", "examples/chat"] {
        copy(&root().join(directory), &at(directory));
    }
    std::os::unix::fs::symlink(&modules, at("node_modules")).unwrap();
    let own = at("examples/chat/typescript/node_modules");
    std::fs::create_dir(&own).unwrap();
    let client = own.join("toolhost-client");
    std::os::unix::fs::symlink(at("clients/typescript"), client).unwrap();
    for project in ["clients/typescript", "examples/chat/typescript"] {
        let mut tsc = clean(modules.join(".bin/tsc"));
        tsc.current_dir(at(project));
        succeeds(tsc).await;
    }
    sources
}

/// Runs the tests in these files.
async fn tests(files: &[&str]) {
    let built = built().await;
    let client = built.path().join("clients/typescript");
    let mut tsc = clean(built.path().join("node_modules/.bin/tsc"));
    tsc.current_dir(&client).args(["-p", "tests"]);
    succeeds(tsc).await;
    let mut node = clean("node");
    node.current_dir(&client)
        .env("TMPDIR", built.path())
        .env("TOOLHOST_PROGRAM", program())
        .env("XDG_CACHE_HOME", shared_code());
    node.arg("--test");
    for file in files {
        node.arg(format!("tests/dist/{file}.test.js"));
    }
    succeeds(node).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn the_client_without_toolhost() {
    tests(&[
        "adapters", "events", "loop", "readme", "requests", "retries", "webhooks",
    ])
    .await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn the_sdks_of_providers() {
    tests(&["end-to-end/providers"]).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn connections_that_fail() {
    tests(&["end-to-end/connections"]).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn frameworks() {
    tests(&["end-to-end/frameworks"]).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn every_request() {
    tests(&["end-to-end/requests"]).await;
}

#[needs(client = "openapi-typescript")]
#[tokio::test]
async fn the_types_are_those_of_the_description() {
    let modules = prepared("openapi-typescript").join("node_modules");
    let workspace = tempfile::tempdir().unwrap();
    let (_serving, description) = super::generated::described(workspace.path()).await;
    let sources = tempfile::tempdir().unwrap();
    let client = sources.path();
    copy(&root().join("clients/typescript"), client);
    std::os::unix::fs::symlink(&modules, client.join("node_modules")).unwrap();
    let installed = |name: &str| {
        let mut command = clean(modules.join(".bin").join(name));
        command.current_dir(client);
        command
    };
    let mut generate = installed("openapi-typescript");
    generate.arg(&description);
    generate.args(["--output", "tests/schema.d.ts"]);
    succeeds(generate).await;
    let mut tsc = installed("tsc");
    tsc.args(["-p", "tests/schema.json"]);
    succeeds(tsc).await;
}
