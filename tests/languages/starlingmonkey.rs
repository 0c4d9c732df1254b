//! The examples in JavaScript for StarlingMonkey, which have the interfaces of the web.

use serde_json::json;
use toolhost_needs::needs;

use super::{Language, definition, invalid, now_ms, odd_arguments, out_of_memory, reply, uncaught};
use crate::harness::Setup;

#[needs(language = "starlingmonkey")]
#[tokio::test]
async fn starlingmonkey() {
    let language = Language::read("starlingmonkey");
    let base = [("base_url", "https://example.org/docs/")];
    let setup = language.host(language.options(&base)).await;
    calls(&setup).await;
    random_and_clock(&setup).await;
    odd_arguments(setup, "parse_url").await;

    let setup = language
        .host(language.options(&[("base_url", "nowhere")]))
        .await;
    let url = json!({ "url": "https://example.org" });
    uncaught(&setup, "parse_url", url, "TypeError").await;
    reply(&setup, "pick", json!({ "items": ["a"] })).await;
    setup.host.shutdown().await;

    let long = json!({ "url": format!("https://example.org/?{}", "a&".repeat(400_000)) });
    out_of_memory(&language, 12, "parse_url", long).await;
}

async fn calls(setup: &Setup) {
    let hints = definition(setup, "parse_url").hints;
    assert!(hints.read_only && hints.non_destructive && hints.idempotent && hints.closed_world);
    assert!(!definition(setup, "pick").hints.idempotent);

    let url = json!({ "url": "HTTPS://Bücher.example:443/a/../b?x=1&x=%32#top" });
    assert_eq!(
        reply(setup, "parse_url", url).await,
        json!({
            "href": "https://xn--bcher-kva.example/b?x=1&x=%32#top", "scheme": "https", "host": "xn--bcher-kva.example",
            "path": "/b", "query": [["x", "1"], ["x", "2"]], "fragment": "top",
        })
    );
    let relative = reply(setup, "parse_url", json!({ "url": "../api" })).await;
    assert_eq!(relative["href"], "https://example.org/api");
    let message = invalid(setup, "parse_url", json!({})).await;
    assert_eq!(message, "invalid arguments: missing field `url`");
    let message = invalid(setup, "parse_url", json!({ "url": "http://[" })).await;
    assert!(message.starts_with("url is no URL"), "{message}");
    let message = invalid(setup, "pick", json!({ "items": ["a"], "count": 2 })).await;
    assert!(
        message.ends_with("the number of items, which is 1"),
        "{message}"
    );
}

/// Random numbers and the clock are the host's, since the component was not built with `-d all`.
async fn random_and_clock(setup: &Setup) {
    let items: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    let all = json!({ "items": items, "count": 100 });
    let before = now_ms();
    let one = reply(setup, "pick", all.clone()).await;
    let other = reply(setup, "pick", all).await;
    assert_ne!(one["picked"], other["picked"]);
    assert!((before..=now_ms()).contains(&one["at_ms"].as_u64().unwrap()));
}
