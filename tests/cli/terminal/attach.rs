//! `attach`: Ctrl-C leaves the process, and a second one asks.

use std::io::BufReader;
use std::process::{Child, ChildStderr};

use super::*;

const TICKER: &str = "while :; do echo tick; sleep 0.05; done";

fn attach(site: &Site, id: &str, wait: &str) -> Terminal {
    let command = site.command(&["attach", &id[..12], "--detach-wait", wait]);
    let terminal = Terminal::start(&command, 80, 24);
    terminal.until_shown("\ntick");
    terminal
}

/// Attaches without a terminal. Returns when it is attached, with what it says afterwards.
fn piped(site: &Site, id: &str) -> (Child, BufReader<ChildStderr>) {
    let attached = site
        .command(&["attach", id])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut attached = attached.unwrap();
    let mut said = BufReader::new(attached.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.contains("attached to process"), "{line}");
    (attached, said)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_leaves_the_process() {
    let site = Site::new();
    let id = site.process("a", TICKER).await;
    let mut terminal = attach(&site, &id, "0s");
    terminal.press("\u{3}");
    let (status, _, bytes) = terminal.ended().await;
    assert_eq!(status.code(), Some(0));
    assert!(bytes.contains("Ctrl-C detaches"), "{bytes}");
    assert!(bytes.ends_with("which runs on\r\n"), "{bytes}");
    assert_eq!(site.said(&["ps", "-q"]), format!("{id}\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_interrupt_asks_whether_to_end_the_process() {
    let site = Site::new();
    let id = site.process("a", TICKER).await;
    for (answer, runs) in [("\n", true), ("n\n", true), ("\u{3}", true), ("y\n", false)] {
        let mut terminal = attach(&site, &id, "1h");
        terminal.press("\u{3}");
        terminal.until_shown("Ctrl-C again asks");
        terminal.press("\u{3}");
        terminal.until_shown("[y/N]");
        terminal.press(answer);
        let (status, screen, _) = terminal.ended().await;
        assert_eq!(status.code(), Some(0), "{screen}");
        assert_eq!(screen.contains("was told to end"), !runs, "{screen}");
        if runs {
            assert_eq!(site.said(&["ps", "-q"]), format!("{id}\n"));
        }
    }
    // Following ends with the process.
    site.said(&["logs", "--follow", &id]);
    let ended = site.run(&["attach", &id]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(text(&ended.stderr).contains("toolhost logs"), "{ended:?}");
}

/// It shows what comes, and ends with the exit code that says how the process did.
#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_the_process() {
    let site = Site::new();
    let command = "echo before; until [ -e go ]; do sleep 0.01; done; echo after; exit $(cat go)";
    for code in [0, 3] {
        let id = site.process("a", command).await;
        site.until_written(&id, 7).await;
        let (attached, _said) = piped(&site, &id);
        std::fs::write(site.path("go.new"), code.to_string()).unwrap();
        std::fs::rename(site.path("go.new"), site.path("go")).unwrap();
        let output = finished(attached).await;
        assert_eq!(text(&output.stdout), "after\n");
        assert_eq!(output.status.code(), Some(i32::from(code != 0)));
        std::fs::remove_file(site.path("go")).unwrap();
    }
}

/// A process that writes nothing any more has not ended, nor has one whose terminal has just closed.
#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_process_that_closed_its_output() {
    let site = Site::new();
    let command = "echo before; exec > /dev/null 2>&1; touch closed; until [ -e go ]; do sleep 0.01; done; exit 3";
    let id = site.process("a", command).await;
    until("the output is closed", || {
        site.path("closed").exists().then_some(())
    })
    .await;
    let (attached, mut said) = piped(&site, &id);
    std::fs::write(site.path("go"), "").unwrap();
    let output = finished(attached).await;
    assert_eq!(output.status.code(), Some(1));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(rest.contains("is over: exited (3)"), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_to_a_process_with_a_terminal() {
    let site = Site::new();
    let command = "printf 'name? '; read -r name; echo \"<$name>\"; stty size; trap 'echo interrupted; exit 3' INT; echo ready; cat";
    let id = site.process_with("a", command, "terminal").await;
    site.until_written(&id, 6).await;
    let attach = || Terminal::start(&site.command(&["attach", &id, "--input"]), 100, 30);
    let mut terminal = attach();
    // What is on the screen is shown first.
    terminal.until_shown("name?");
    terminal.until_shown("Ctrl-] detaches");
    terminal.press("Ada\r");
    terminal.until_shown("<Ada>");
    terminal.until_shown("30 100");
    terminal.until_shown("ready");
    terminal.press("\u{1d}");
    let (status, screen, _) = terminal.ended().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.contains("which runs on"), "{screen}");
    // Ctrl-C is a key like others, and the exit code is that of the process.
    let mut terminal = attach();
    terminal.until_shown("detaches");
    terminal.press("\u{3}");
    let (status, screen, _) = terminal.ended().await;
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(screen.contains("interrupted"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_goes_to_an_open_input() {
    let site = Site::new();
    let id = site.process("a", "cat; echo end").await;
    let mut attached = site.command(&["attach", &id, "--input"]);
    attached.stdin(std::process::Stdio::piped());
    attached.stdout(std::process::Stdio::piped());
    let mut attached = attached.spawn().unwrap();
    let mut stdin = attached.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"one\n\xff\n").unwrap();
    drop(stdin);
    let output = finished(attached).await;
    assert_eq!(output.stdout, b"one\n\xff\nend\n");
    let closed = site.run(&["attach", &id, "--input"]);
    assert_eq!(closed.status.code(), Some(2), "{closed:?}");
}
