//! The cost of a call in each language: `cargo test -p toolhost --test integration -- --ignored --nocapture languages::cost`.
//!
//! Nothing is asserted, as it depends on the machine; docs/plugins.md has the numbers of one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Language, guests};
use crate::harness::{call, logged, request};

/// Calls of each language, one after the other.
const CALLS: usize = 100;

/// Calls of each language at once.
const AT_ONCE: usize = 64;

#[tokio::test]
#[ignore = "measures, and needs `examples/plugins/build`"]
async fn cost() {
    for (name, tool, arguments) in [
        ("python", "csv_summary", json!({ "csv": "a,b\n1,2\n3,4\n" })),
        ("quickjs", "slugify", json!({ "text": "Crème brûlée" })),
        (
            "starlingmonkey",
            "parse_url",
            json!({ "url": "https://example.org/a?b=c" }),
        ),
    ] {
        measure(&Language::read(name), tool, &arguments).await;
    }
}

async fn measure(language: &Language, tool: &str, arguments: &Value) {
    let mut options = language.options(&[]);
    options.grants = options.grants.with_processes();
    let begun = Instant::now();
    let setup = language.host(options.clone()).await;
    let first = begun.elapsed();
    setup.host.shutdown().await;
    let begun = Instant::now();
    let setup = language.host(options).await;
    let again = begun.elapsed();
    let mut times = Vec::new();
    let lines = logged(async {
        for _ in 0..CALLS {
            let begun = Instant::now();
            setup.call(tool, arguments.clone()).await;
            times.push(begun.elapsed());
        }
    })
    .await;
    let guests = guests(&lines, language.name);
    let numbers = |field: &str| guests.iter().map(|line| number(line, field)).collect();
    println!(
        "{}: component {} KB, compiled and loaded in {first:?}, loaded again in {again:?}, a call {:?}, its guest time {:?}, \
         its memory {} KiB",
        language.name,
        language.component.len() / 1000,
        middle(times),
        Duration::from_micros(middle(numbers("guest_time_us="))),
        middle(numbers("memory=")) >> 10,
    );
    _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    let begun = Instant::now();
    let calls = (0..AT_ONCE).map(|index| {
        let chat = format!("chat-{index}");
        call(&setup.host, request(&chat, tool, arguments))
    });
    for outcome in join_all(calls).await {
        assert!(!outcome.unwrap().is_error());
    }
    let (took, peak) = (begun.elapsed(), status("VmHWM:"));
    println!(
        "{}: {AT_ONCE} calls at once in {took:?}, {} KiB more resident memory at the peak than the {before} KiB before",
        language.name,
        peak - before
    );
    setup.host.shutdown().await;
}

/// A number of this process, in KiB.
fn status(field: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let words = line.unwrap().split_whitespace().next();
    words.unwrap().parse().unwrap()
}

/// The number after this word in a line of the log.
fn number(line: &str, field: &str) -> u64 {
    let (_, rest) = line.split_once(field).unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

fn middle<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}
