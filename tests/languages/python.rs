//! The examples in Python, and many calls of one plugin at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolhost_call::call::Refused;
use toolhost_call::tool::ErrorKind;
use toolhost_core::{CallError, Outcome};
use toolhost_needs::needs;

use super::{
    Language, definition, error_of, invalid, now_ms, odd_arguments, out_of_memory, reply, uncaught,
};
use crate::harness::{Setup, request};

/// The most calls of the plugin at once.
const AT_ONCE: usize = 64;

#[needs(language = "python")]
#[tokio::test]
async fn python() {
    let language = Language::read("python");
    let mut options = language.options(&[("prefix", "row-")]);
    options.limits.concurrent_calls = AT_ONCE;
    let setup = language.host(options).await;
    calls(&setup).await;
    random_and_clock(&setup).await;
    as_many_as_may_run(&setup).await;
    more_than_may_run(&setup).await;
    odd_arguments(setup, "csv_summary").await;

    let setup = language
        .host(language.options(&[("decimals", "many")]))
        .await;
    let table = json!({ "csv": "a\n1\n" });
    uncaught(&setup, "csv_summary", table, "ValueError: invalid literal").await;
    reply(&setup, "new_ids", json!({})).await;
    setup.host.shutdown().await;

    let large = json!({ "csv": format!("a\n{}", "1\n".repeat(300_000)) });
    out_of_memory(&language, 16, "csv_summary", large).await;
    let wide = "1,".repeat(250_000);
    let wide = json!({ "csv": format!("{wide}\n{wide}") });
    out_of_guest_time(&language, "csv_summary", wide).await;
}

/// The interpreter is stopped like any guest. It needs several times as much for this, and a fraction of it for a small call.
async fn out_of_guest_time(language: &Language, tool: &str, arguments: Value) {
    let mut options = language.options(&[]);
    options.limits.guest_time = Duration::from_millis(500);
    options.limits.memory = 1 << 30;
    let setup = language.host(options).await;
    let error = error_of(&setup, tool, arguments).await;
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    let text = "the tool was stopped: guest time limit of 500 ms reached";
    assert_eq!(error.message, text);
    setup.host.shutdown().await;
}

async fn calls(setup: &Setup) {
    let hints = definition(setup, "csv_summary").hints;
    assert!(hints.read_only && hints.non_destructive && hints.idempotent && hints.closed_world);
    assert!(!definition(setup, "new_ids").hints.idempotent);

    let table = "city;people\nUlm;126000\n\"Bonn\";331000\nUlm;\n";
    let arguments = json!({ "csv": table, "delimiter": ";" });
    assert_eq!(
        reply(setup, "csv_summary", arguments).await,
        json!({
            "rows": 3,
            "columns": [
                { "name": "city", "values": 3, "distinct": 2 },
                { "name": "people", "values": 2, "distinct": 2, "min": 126_000.0, "mean": 228_500.0, "max": 331_000.0 },
            ],
        })
    );
    let message = invalid(setup, "csv_summary", json!({ "csv": 1 })).await;
    assert_eq!(
        message,
        "invalid argument `csv`: invalid type: integer `1`, expected a string"
    );
    let message = invalid(setup, "csv_summary", json!({ "csv": "a,b\n1\n" })).await;
    assert_eq!(message, "row 1 has 1 values, and the header 2");
    let message = invalid(setup, "new_ids", json!({ "count": 101 })).await;
    assert!(
        message.ends_with("expected an integer from 1 to 100"),
        "{message}"
    );
}

/// The generator of random numbers has another seed in every instance, and the clock is not that of the build.
async fn random_and_clock(setup: &Setup) {
    let before = now_ms();
    let one = reply(setup, "new_ids", json!({})).await;
    let other = reply(setup, "new_ids", json!({})).await;
    assert_ne!(one["ids"], other["ids"]);
    assert!(one["ids"][0].as_str().unwrap().starts_with("row-"));
    assert!((before..=now_ms()).contains(&one["created_ms"].as_u64().unwrap()));
}

/// Calls that all begin before any of them ends, each in a chat of its own: this runtime has one thread.
async fn at_once(setup: &Setup, count: usize) -> Vec<Result<Arc<Outcome>, CallError>> {
    let calls = (0..count).map(|index| {
        let arguments = json!({ "csv": format!("number\n{index}\n") });
        let chat = format!("chat-{index}");
        let call = setup.host.call(request(&chat, "csv_summary", &arguments));
        tokio::time::timeout(crate::harness::PATIENCE, call)
    });
    let outcomes = join_all(calls).await.into_iter();
    outcomes.map(|ended| ended.expect("hangs")).collect()
}

/// Each replied, and to its own arguments.
fn assert_replied<'a>(outcomes: impl Iterator<Item = (usize, &'a Arc<Outcome>)>) {
    for (index, outcome) in outcomes {
        let reply = outcome.result.as_ref().unwrap();
        let reply: Value = serde_json::from_str(reply.structured().unwrap().get()).unwrap();
        assert_eq!(reply["columns"][0]["max"], json!(index as f64));
    }
}

/// They take turns, and the pool has a place for each.
async fn as_many_as_may_run(setup: &Setup) {
    let outcomes = at_once(setup, AT_ONCE).await;
    let outcomes = outcomes.iter().map(|outcome| outcome.as_ref().unwrap());
    assert_replied(outcomes.enumerate());
}

/// More are refused at once, as what they are: to be tried again later.
async fn more_than_may_run(setup: &Setup) {
    let outcomes = at_once(setup, 80).await;
    let (run, refused) = outcomes.split_at(AT_ONCE);
    let run = run.iter().map(|outcome| outcome.as_ref().unwrap());
    assert_replied(run.enumerate());
    for outcome in refused {
        let Err(CallError::Refused(Refused::Busy(text))) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(
            text,
            "limit of 64 calls of the plugin at the same time reached; try again later"
        );
    }
    assert_replied(at_once(setup, 1).await.iter().flatten().enumerate());
}
