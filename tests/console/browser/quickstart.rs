//! The guided hour of `examples/quickstart`: each block of its page is done in a shell or in Chromium.

use super::*;
use crate::harness::{program, shared_code};

#[needs(
    client = "console",
    client = "python",
    program = "chromium",
    namespaces
)]
#[tokio::test]
async fn the_first_hour_is_as_its_page_says() {
    let options = json!({ "root": root() });
    let (mut command, _files) = browser("quickstart", "http://unused", &options);
    let python = prepared("python").join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [python].into_iter().chain(std::env::split_paths(&path));
    command
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("TOOLHOST", program())
        .env("XDG_CACHE_HOME", shared_code());
    let seen = outcome("quickstart", command).await;
    assert_eq!(seen["errors"], json!([]));
    // The page has steps, and each kind of them.
    let done = texts(&seen["done"]);
    for kind in ["sh ", "open ", "click ", "type ", "seen ", "keys "] {
        assert!(done.iter().any(|step| step.starts_with(kind)), "{kind}");
    }
}
