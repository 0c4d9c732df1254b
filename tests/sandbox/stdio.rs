//! Attacks through standard input, output and error: a guest has lines in the operator's log, and no stream of the host's.

use toolhost_plugin::Limits;

use super::contained::{Attack, contained, short};

#[tokio::test]
async fn stdout_printer() {
    let attack = Attack::new("stdout_printer", Limits::default()).await;
    let (_, lines) = attack.run().await;
    let printed = lines.lines().filter(|line| line.contains("jsonrpc"));
    assert_eq!(printed.count(), 1000);
}

/// It is cut into lines, of which the log takes 64 KiB.
#[tokio::test]
async fn endless_line() {
    let attack = Attack::new("endless_line", short()).await;
    let (_, lines) = attack.run().await;
    let printed: usize = lines.matches('x').count();
    assert!(printed <= 65 << 10, "{printed}");
}

#[tokio::test]
async fn terminal_escapes() {
    let attack = Attack::new("terminal_escapes", Limits::default()).await;
    let (_, lines) = attack.run().await;
    assert!(
        lines.contains("backwards") && lines.contains("end of it"),
        "{lines}"
    );
    let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!lines.contains(acts), "{lines:?}");
}

/// The stream is closed from its start.
#[tokio::test]
async fn stdin_reader() {
    contained("stdin_reader").await;
}

/// A guest that panics has one record, with the reason first and no fields but those of the call.
#[tokio::test]
async fn panics() {
    let attack = Attack::new("panics", Limits::default()).await;
    let (outcome, lines) = attack.run().await;
    let record: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("toolhost::guest"))
        .collect();
    assert_eq!(record.len(), 1, "{lines}");
    let reason = "WARN toolhost::guest::failure: the tool is broken: panicked at src/lib.rs:30:29: text too long plugin=";
    assert!(record[0].contains(reason), "{lines}");
    assert!(record[0].contains("backtrace=\"attack at 0x"), "{lines}");
    // The model reads nothing of it.
    let error = outcome.result.as_ref().unwrap_err();
    assert!(!error.message.contains("lib.rs"), "{error}");
}
