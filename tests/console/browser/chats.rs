//! What the page says of chats, and that its filters are in its address.

use super::*;

/// The value of a summary for each tool.
fn subjects(seen: &Value) -> Vec<(&str, &str)> {
    let all = seen["subjects"].as_object().unwrap().iter();
    let mut all: Vec<_> = all
        .map(|(tool, text)| (tool.as_str(), text.as_str().unwrap()))
        .collect();
    all.sort_unstable();
    all
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn calls_are_told_apart_and_what_was_there_stays_readable() {
    let console = Console::start(&["--keep-arguments", "--tool-mode", "both"]);
    let seen = console.run("chats", json!({})).await;
    let row = seen["counted"]["row"].as_str().unwrap();
    assert!(
        row.contains("5 processes") && !row.contains("idle"),
        "{row}"
    );
    assert_eq!(seen["counted"]["head"], "2 chats");
    let path = "notes/today.md";
    let expected = [
        ("edit_files", path),
        ("process_list", "call-list"),
        ("read_file", path),
        ("run_script", "// Adds."),
        ("write_file", path),
    ];
    assert_eq!(subjects(&seen), expected);
    for (tool, times) in seen["took"].as_object().unwrap() {
        assert_eq!(times[0], times[1], "{tool}");
        assert_ne!(times[0], "–", "{tool}");
    }

    assert!(
        seen["before"]
            .as_str()
            .unwrap()
            .contains("5 processes running")
    );
    let (after, reloaded) = (&seen["after"], &seen["reloaded"]);
    assert_eq!(after["output"], json!(["started-4"]), "{after}");
    for end in [after, reloaded] {
        let note = end["note"].as_str().unwrap();
        assert!(note.contains("keeps no command and no output"), "{note}");
        assert!(
            end["sum"].as_str().unwrap().starts_with("Nothing runs"),
            "{end}"
        );
        let running = end["running"].as_str().unwrap();
        assert!(
            running.contains("when the model read this; now:"),
            "{running}"
        );
        let summaries = texts(&end["summaries"]);
        assert_eq!(summaries.len(), 5);
        for summary in summaries {
            assert!(summary.starts_with("echo started-"), "{summary}");
        }
        assert!(!texts(&end["states"]).contains(&"running"), "{end}");
        assert_eq!(end["buttons"], 0, "{end}");
    }
    let never = seen["never"]["text"].as_str().unwrap();
    assert!(
        never.contains("There is no such chat") && !never.contains("Live"),
        "{never}"
    );
    assert_eq!(seen["never"]["buttons"], json!([]));
    assert_eq!(seen["script"], json!(["embedded"]));
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn calls_are_told_apart_without_their_arguments() {
    let console = Console::start(&["--tool-mode", "both"]);
    let seen = console.run("chats", json!({})).await;
    let written = console.workspace.path().join("notes/today.md");
    let expected = [
        ("edit_files", "notes/today.md"),
        ("process_list", "call-list"),
        // The first line of what was read.
        ("read_file", "Buy milk."),
        ("run_script", "3"),
        // The audit trail has it.
        ("write_file", written.to_str().unwrap()),
    ];
    assert_eq!(subjects(&seen), expected);
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn filters_and_searches_are_in_the_address() {
    let console = Console::start(&[]);
    let seen = console.run("addresses", json!({})).await;
    let looks = seen["looks"].as_object().unwrap();
    for (view, address, rows) in [
        ("chats", "#/chats?prefix=support", json!(["support-1"])),
        (
            "chat",
            "#/chats/support-1?success=false",
            json!(["echo two; exit 3"]),
        ),
        (
            "text",
            "#/chats/support-1?text=two",
            json!(["echo two; exit 3"]),
        ),
        ("now", "#/now?text=1001", json!(["exec sleep 1001"])),
        ("audit", "#/audit?event=process_start", Value::Null),
        (
            "definition",
            "#/tools/execute/definition?format=anthropic",
            Value::Null,
        ),
    ] {
        let look = &looks[view];
        assert_eq!(look["address"], address, "{look}");
        assert_ne!(look["before"], look["after"], "{view}");
        assert_eq!(look["reloaded"], look["after"], "{view}");
        assert_eq!(look["back"], look["before"], "{view}");
        assert_eq!(look["forward"], look["after"], "{view}");
        if !rows.is_null() {
            assert_eq!(look["after"]["rows"], rows, "{view}");
        }
    }
    let made_up = &looks["madeUp"];
    assert_eq!(made_up["rows"], json!(["exec sleep 1000", "echo one"]));
    assert_eq!(made_up["fields"], json!(["", "", "true"]));
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn every_view_is_readable_on_a_phone_and_on_a_desk() {
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join("toolhost.toml");
    let workspaces = root.path().join("workspaces");
    let text = format!("[workspaces]\nroot = {workspaces:?}\n");
    std::fs::write(&config, text).unwrap();
    let options = ["--config", config.to_str().unwrap(), "--tool-mode", "both"];
    let console = Console::start(&[&options[..], &["--keep-arguments"]].concat());
    // `TOOLHOST_VIEWS=DIR` keeps a picture of each view there.
    let images = std::env::var_os("TOOLHOST_VIEWS").map(PathBuf::from);
    let seen = console.run("layout", json!({ "images": images })).await;
    assert_eq!(seen["looked"], 4 * 14);
    assert_eq!(seen["wrong"], json!([]));
}
