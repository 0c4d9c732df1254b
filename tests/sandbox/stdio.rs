//! Attacks through standard input, output and error: a guest has lines in the operator's log, and no stream of the host's.

use toolhost_plugin::Limits;

use super::contained::{Attack, End, GUEST_TIME, contained, short};

#[tokio::test]
async fn stdout_printer() {
    let attack = Attack::new("stdout_printer", Limits::default()).await;
    let (_, lines) = attack.run(End::Reply("hello")).await;
    let printed = lines.lines().filter(|line| line.contains("jsonrpc"));
    assert_eq!(printed.count(), 1000);
}

/// It is cut into lines, of which the log takes 64 KiB.
#[tokio::test]
async fn endless_line() {
    let attack = Attack::new("endless_line", short()).await;
    let (_, lines) = attack.run(GUEST_TIME).await;
    let printed: usize = lines.matches('x').count();
    assert!(printed <= 65 << 10, "{printed}");
}

#[tokio::test]
async fn terminal_escapes() {
    let attack = Attack::new("terminal_escapes", Limits::default()).await;
    let (_, lines) = attack.run(End::Reply("hello")).await;
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
    contained("stdin_reader", End::Reply("1")).await;
}
