//! Schemathesis reads the description and sends what it makes of it: requests that fit, and many that do not.

use std::path::Path;

/// The program, if there is one: where `TOOLHOST_SCHEMATHESIS` says, or on the path.
fn schemathesis() -> Option<std::path::PathBuf> {
    if let Some(path) = std::env::var_os("TOOLHOST_SCHEMATHESIS") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|directory| [directory.join("schemathesis"), directory.join("st")])
        .find(|program| program.is_file())
}

#[tokio::test]
async fn finds_no_failure() {
    let Some(program) = schemathesis() else {
        eprintln!(
            "skipped: there is no schemathesis; `pip install schemathesis` in an environment of its own, and name its `st` in TOOLHOST_SCHEMATHESIS"
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/http/schemathesis");
    let output = tokio::process::Command::new(script)
        .env("TOOLHOST", crate::harness::program())
        .env("TOOLHOST_SCHEMATHESIS", program)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}
