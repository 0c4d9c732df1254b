//! The page for the API, in a browser.

use serde_json::{Value, json};
use toolhost_needs::needs;

use super::*;

#[needs(client = "node", program = "chromium")]
#[tokio::test]
async fn the_page_shows_the_api_and_not_the_token() {
    let node = prepared("node").join("node_modules/node/bin/node");
    let workspace = tempfile::tempdir().unwrap();
    let serving = serving(workspace.path(), &[]);
    let mut page = clean(node);
    page.arg(root().join("tests/clients/node/page.mjs"));
    page.args([&serving.url, TOKEN]);
    let seen: Value = serde_json::from_str(printed(&run(page).await)).unwrap();
    assert_eq!(seen["address"], "/docs/");
    let tags = seen["tags"].as_array().unwrap();
    assert!(!tags.contains(&json!("")), "{tags:?}");
    assert_eq!((&seen["bars"], &seen["status"]), (&json!(0), &json!("200")));
    let curl = seen["curl"].as_str().unwrap();
    assert!(curl.contains("Bearer $TOOLHOST_TOKEN"), "{curl}");
    assert_eq!(seen["shown"], false);
}
