//! The client for Python: its own tests, and its types.

use toolhost_needs::needs;

use super::*;
use crate::harness::{program, shared_code};

/// Runs the tests in these files.
async fn tests(files: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let mut pytest = clean(prepared("python").join("bin/python"));
    pytest
        .current_dir(root().join("clients/python"))
        .env("TMPDIR", directory.path())
        .env("TOOLHOST_PROGRAM", program())
        .env("XDG_CACHE_HOME", shared_code());
    // Nothing is written beside the sources.
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    for file in files {
        pytest.arg(format!("tests/test_{file}.py"));
    }
    let output = run(pytest).await;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
}

#[needs(client = "python")]
#[tokio::test]
async fn the_client_without_toolhost() {
    tests(&["adapters", "events", "readme", "retries", "webhooks"]).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn every_request() {
    tests(&["chat"]).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn types_and_generated_files() {
    tests(&["generated"]).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn the_sdks_of_providers() {
    tests(&["loops"]).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn frameworks() {
    tests(&["frameworks"]).await;
}
