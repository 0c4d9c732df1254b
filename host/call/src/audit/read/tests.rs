//! Tests of pages of the trail.

use std::path::Path;

use serde_json::json;

use super::*;

/// A trail in these files, each with its lines, the newest file first.
fn trail(base: &Path, files: &[&str]) -> StateDir {
    let directory = StateDir::open(&base.join("audit")).unwrap();
    for (number, text) in files.iter().enumerate() {
        let name = match number {
            0 => NAME.to_owned(),
            number => format!("{NAME}.{number}"),
        };
        directory.write(&name, text.as_bytes()).unwrap();
    }
    directory
}

fn query(limit: usize) -> AuditQuery {
    AuditQuery {
        limit,
        ..AuditQuery::default()
    }
}

/// Returns the numbers of the lines of all pages.
fn all(directory: &StateDir, query: AuditQuery) -> Vec<u64> {
    let (mut found, mut query) = (Vec::new(), query);
    loop {
        let page = page(directory, &query).unwrap();
        assert!(page.lines.len() <= query.limit);
        found.extend(page.lines.iter().map(|line| line["n"].as_u64().unwrap()));
        let Some(next) = page.next else {
            return found;
        };
        query.after = Some(next.to_string().parse().unwrap());
    }
}

#[test]
fn lines_of_all_files_are_read_from_the_newest_on() {
    let base = tempfile::tempdir().unwrap();
    // A torn line, and one that is being written.
    let newest = "{\"n\":4}\n{\"n\":\n{\"n\":5}\n{\"n\":6";
    let directory = trail(
        base.path(),
        &[newest, "{\"n\":2}\n{\"n\":3}\n", "", "{\"n\":1}\n"],
    );
    for limit in 1..8 {
        assert_eq!(all(&directory, query(limit)), [5, 4, 3, 2, 1], "{limit}");
    }
    let none = StateDir::open(&base.path().join("none")).unwrap();
    assert_eq!(page(&none, &query(1)).unwrap(), AuditPage::default());
}

#[test]
fn lines_longer_than_a_block_are_whole() {
    let base = tempfile::tempdir().unwrap();
    let long = "x".repeat(200_000);
    let lines: String = (0..5)
        .map(|n| format!("{{\"n\":{n},\"text\":\"{long}\"}}\n"))
        .collect();
    let directory = trail(base.path(), &[&lines]);
    assert_eq!(all(&directory, query(2)), [4, 3, 2, 1, 0]);
    // What is no line does not end the reading.
    let junk = format!("{{\"n\":1}}\n{}\n{{\"n\":2}}\n", "y".repeat(3 << 20));
    let directory = trail(&base.path().join("junk"), &[&junk]);
    assert_eq!(all(&directory, query(1)), [2, 1]);
}

#[test]
fn a_page_looks_at_a_bounded_number_of_bytes_and_the_next_goes_on() {
    let base = tempfile::tempdir().unwrap();
    let line = format!("{{\"n\":1,\"text\":\"{}\"}}\n", "x".repeat(100_000));
    let lines = format!("{{\"n\":0,\"event\":\"rare\"}}\n{}", line.repeat(300));
    let directory = trail(base.path(), &[&lines]);
    let rare = AuditQuery {
        event: Some("rare".into()),
        ..query(10)
    };
    let first = page(&directory, &rare).unwrap();
    assert!(first.lines.is_empty() && first.next.is_some());
    assert_eq!(all(&directory, rare), [0]);
}

#[test]
fn a_place_outlives_a_rotation_and_not_its_file() {
    let base = tempfile::tempdir().unwrap();
    let directory = trail(base.path(), &["{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"]);
    let first = page(&directory, &query(1)).unwrap();
    let after = AuditQuery {
        after: first.next,
        ..query(1)
    };
    directory.rename_file(NAME, &format!("{NAME}.1")).unwrap();
    directory.write(NAME, b"{\"n\":4}\n").unwrap();
    assert_eq!(all(&directory, after.clone()), [2, 1]);
    directory.remove(&format!("{NAME}.1")).unwrap();
    let gone = page(&directory, &after).unwrap();
    assert!(gone.lines.is_empty() && gone.next.is_none());
    for wrong in ["", "-", "1", "x-1", "1-", "1-1-1"] {
        assert_eq!(
            wrong.parse::<AuditPlace>(),
            Err(InvalidAuditPlace),
            "{wrong}"
        );
    }
}

#[test]
fn filters_are_all_met() {
    let long = "c".repeat(120);
    let line = |event: &str, more: Value| {
        let mut line = json!({ "event": event });
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line
    };
    let call = line(
        "call",
        json!({ "principal": "a", "chat": "x", "plugin": "p", "outcome": "denied" }),
    );
    let of = |change: fn(&mut AuditQuery)| {
        let mut query = query(1);
        change(&mut query);
        query
    };
    assert!(of(|query| query.chat = Some("x".into())).matches(&call));
    assert!(!of(|query| query.chat = Some("y".into())).matches(&call));
    assert!(of(|query| query.principal = Some("a".into())).matches(&call));
    assert!(!of(|query| query.plugin = Some("a".into())).matches(&call));
    assert!(!of(|query| query.event = Some("call_started".into())).matches(&call));
    assert!(of(|query| query.denied = true).matches(&call));
    let denied = of(|query| query.denied = true);
    for event in DENIALS {
        assert!(denied.matches(&line(event, json!({}))));
    }
    assert!(!denied.matches(&line("call", json!({ "outcome": "ok" }))));
    assert!(!denied.matches(&line("process_start", json!({}))));
    assert!(!query(1).matches(&json!([1])));
    // The trail has a digest instead of the end of a long id.
    let cut = line(
        "call",
        json!({ "chat": bounded("chat", long.clone().into()) }),
    );
    let long = AuditQuery {
        chat: Some(long),
        ..query(1)
    };
    assert!(long.matches(&cut) && !long.matches(&call));
}
