//! Schemathesis reads the description and sends what it makes of it: requests that fit, and many that do not.

use std::path::Path;

use toolhost_needs::needs;

#[needs(client = "schemathesis")]
#[tokio::test]
async fn finds_no_failure() {
    let installed = crate::clients::prepared("schemathesis");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/http/schemathesis");
    let output = tokio::process::Command::new(script)
        .env("TOOLHOST", crate::harness::program())
        .env("TOOLHOST_SCHEMATHESIS", installed.join("bin/st"))
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}
