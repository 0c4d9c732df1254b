//! `GET /{id}/output?since=`: output by cursor.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolhost_local::process::SaveLimits;
use toolhost_workspace::process::WINDOW;

use super::{Agent, ok, tell};
use crate::records::cases;

async fn page(agent: &Agent, id: &str, query: &str) -> Value {
    ok(agent.get(&format!("/{id}/output?{query}"))).await
}

#[tokio::test]
async fn pages_are_the_output_and_reading_them_changes_nothing() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("seq 10000; printf '☃☃☃'").await;
    let expected: String = (1..=10000).map(|n| format!("{n}\n")).collect();
    let mut text = String::new();
    let mut cursor = 0;
    loop {
        let query = format!("since={cursor}&max_bytes=1001");
        let one = page(&agent, &id, &query).await;
        assert_eq!(page(&agent, &id, &query).await, one);
        assert_eq!(one.get("gap"), None);
        assert_eq!(
            (&one["total_bytes"], &one["exit_code"]),
            (&json!(48903), &json!(0))
        );
        let part = one["output"].as_str().unwrap();
        if part.is_empty() {
            break;
        }
        text.push_str(part);
        cursor = one["cursor"].as_u64().unwrap();
    }
    assert_eq!(text, expected + "☃☃☃");
    assert_eq!(cursor, 48903);
}

/// Joins the pages of an output from a cursor on, at most so many, and checks that each but the last is full: it has room for
/// no other character.
async fn joined(agent: &Agent, id: &str, since: usize, max: usize, most: usize) -> String {
    let mut text = String::new();
    let mut cursor = since;
    for _ in 0..most {
        let one = page(agent, id, &format!("since={cursor}&max_bytes={max}")).await;
        assert_eq!(one.get("gap"), None);
        let part = one["output"].as_str().unwrap();
        assert_eq!(one["cursor"], cursor + part.len(), "since {cursor}");
        cursor += part.len();
        text.push_str(part);
        if one["total_bytes"] == cursor {
            break;
        }
        assert!(part.len() + 4 > max, "{} of {max}", part.len());
    }
    text
}

proptest! {
    #![proptest_config(cases(6))]
    /// Whether memory has a byte or the disk is no border between characters, or between pages.
    #[test]
    fn pages_of_any_size_join_to_the_text(
        text in prop_oneof![
            prop::collection::vec(prop::sample::select(vec!['a', 'é', '日', '😀']), 30_000..70_000)
                .prop_map(String::from_iter),
            // The characters of the second window begin in the middle of others.
            (40_000_usize..45_000).prop_map(|count| "日".repeat(count)),
        ],
        max in 8_000_usize..200_000,
        small in 4_usize..64,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let agent = Agent::new().await;
            std::fs::write(agent.root().join("file"), &text).unwrap();
            let (id, whole) = agent.run("cat file").await;
            assert_eq!(whole["saved"]["status"], "complete");
            assert!(joined(&agent, &id, 0, max, usize::MAX).await == text);
            // Around both borders of what memory has.
            for border in [WINDOW, text.len() - WINDOW] {
                let since = text.floor_char_boundary(border - 100);
                let part = joined(&agent, &id, since, small, 60).await;
                assert!(text[since..].starts_with(&part), "{part}");
            }
        });
    }
}

#[tokio::test]
async fn a_page_goes_on_where_the_last_one_ended() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent.start("echo one; cat go; sleep 300").await;
    let first = page(&agent, &id, "wait=true&until=one&since=0").await;
    assert_eq!(
        (&first["output"], &first["cursor"]),
        (&json!("one\n"), &json!(4))
    );
    assert_eq!(page(&agent, &id, "since=4").await["output"], "");
    let second = page(&agent, &id, "wait=true&until=.&since=4");
    let (second, ()) = tokio::join!(second, tell(go, "two\n"));
    assert_eq!(
        (&second["output"], &second["cursor"]),
        (&json!("two\n"), &json!(8))
    );
    assert_eq!(second["running"], true);
}

#[tokio::test]
async fn characters_are_not_cut() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    // Half a character, and after a while the other half.
    let id = agent.start(r"printf 'a\303'; cat go; printf '\244b'").await;
    let first = page(&agent, &id, "wait=true&until=%5Cxc3&since=0").await;
    assert_eq!(
        (&first["output"], &first["cursor"]),
        (&json!("a"), &json!(1))
    );
    let first = page(&agent, &id, "since=1").await;
    assert_eq!(
        (&first["output"], &first["cursor"]),
        (&json!(""), &json!(1))
    );
    tell(go, "").await;
    let rest = page(&agent, &id, "wait=true&since=1").await;
    assert_eq!(
        (&rest["output"], &rest["cursor"]),
        (&json!("äb"), &json!(4))
    );
    // A page of one byte has room for a whole one.
    let one = page(&agent, &id, "since=1&max_bytes=1").await;
    assert_eq!(one["output"], "äb");
}

#[tokio::test]
async fn a_cursor_past_the_end_is_moved_back() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("echo hello").await;
    for since in ["7", "18446744073709551615"] {
        let one = page(
            &agent,
            &id,
            &format!("since={since}&max_bytes=18446744073709551615"),
        )
        .await;
        assert_eq!((&one["output"], &one["cursor"]), (&json!(""), &json!(6)));
        assert_eq!(one.get("gap"), None);
    }
    let one = page(&agent, &id, "wait=true&until=x&since=18446744073709551615").await;
    assert_eq!(one["matched"], false);
}

/// The middle is neither in memory nor saved: both windows together have 64 KiB.
const MIDDLE_LOST: SaveLimits = SaveLimits {
    per_process: 0,
    per_chat: 0,
    total: 0,
};

#[tokio::test]
async fn a_gap_is_named_exactly() {
    let agent = Agent::with(|mut config| {
        config.save_limits = MIDDLE_LOST;
        config
    })
    .await;
    let (id, _) = agent.run("head -c 100000 /dev/zero | tr '\\0' x").await;
    let head = page(&agent, &id, "since=0&max_bytes=100000").await;
    let cursor = head["cursor"].as_u64().unwrap();
    assert_eq!(head["output"].as_str().unwrap().len() as u64, cursor);
    let tail = page(&agent, &id, &format!("since={cursor}&max_bytes=100000")).await;
    let from = 100_000 - tail["output"].as_str().unwrap().len();
    let expected = json!({ "from": cursor, "to": from, "bytes": from as u64 - cursor });
    assert_eq!(tail["gap"], expected);
    assert_eq!(tail["cursor"], 100_000);
    assert!(from as u64 > cursor);
}

#[tokio::test]
async fn the_middle_comes_from_what_was_saved() {
    let agent = Agent::new().await;
    let (id, whole) = agent.run("seq 100000").await;
    assert_eq!(whole["saved"]["status"], "complete");
    let one = page(&agent, &id, "since=200000&max_bytes=12").await;
    assert_eq!(one.get("gap"), None);
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(one["output"], expected[200_000..200_012]);
}
