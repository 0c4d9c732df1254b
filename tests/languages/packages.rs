//! The packages for Python and JavaScript: their own tests, which run without a component.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolhost_needs::needs;

fn package(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../guest-tools")
        .join(language)
}

/// Runs the tests of a package, and returns what they printed.
fn passes(mut command: Command) -> String {
    let ended = command.stdin(Stdio::null()).output().unwrap();
    let (out, errors) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(ended.status.success(), "{out}\n{errors}");
    format!("{out}\n{errors}")
}

#[needs(program = "python3")]
#[test]
fn python() {
    let mut command = Command::new("python3");
    command
        .args(["-B", "-m", "unittest", "discover", "--verbose"])
        .current_dir(package("python"));
    let printed = passes(command);
    assert!(
        printed.contains("test_the_cases_that_all_languages_share"),
        "{printed}"
    );
}

#[needs(program = "node")]
#[test]
fn javascript() {
    let mut command = Command::new("node");
    // A test runner above this one would take the results.
    command
        .arg("--test")
        .env_remove("NODE_TEST_CONTEXT")
        .current_dir(package("javascript"));
    let printed = passes(command);
    assert!(
        printed.contains("the cases that all languages share"),
        "{printed}"
    );
}
