//! The page for the API.

use super::*;

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn the_page_of_the_api_shows_it_and_not_the_token() {
    let console = Console::start(&[]);
    let seen = console.run("docs", json!({})).await;
    assert_eq!(seen["address"], "/docs/");
    let described = texts(&seen["described"]);
    assert!(!described.contains(&""), "{described:?}");
    assert_eq!((&seen["bars"], &seen["status"]), (&json!(0), &json!("200")));
    let curl = seen["curl"].as_str().unwrap();
    assert!(curl.contains("Bearer $TOOLHOST_TOKEN"), "{curl}");
    assert_eq!(seen["shown"], false);
}
