//! `top`: what it draws, and its keys.

use super::*;

const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_shown_and_ended_with_keys() {
    let site = Site::new();
    let call = site
        .call("b", "1.call_0", "echo '\u{1b}[2J'; exec sleep 1000")
        .await;
    let id = site.process("z", "exec sleep 1001").await;
    let mut terminal = Terminal::start(&site.command(&["top"]), 100, 12);
    terminal.until_shown("exec sleep 1001");
    let screen = terminal.until_shown("1.call_0");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
    for shown in ["ID ", "CPU%", "MEMORY", "└ ", "\\u{1b}[2J", "q quit"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    // The last row is the process of no call that runs.
    terminal.press(&DOWN.repeat(9));
    terminal.press("k");
    terminal.until_shown("(exec sleep 1001)? [y/N]");
    terminal.press("n");
    terminal.until_shown("q quit");
    terminal.press("k");
    terminal.until_shown("[y/N]");
    terminal.press("y");
    terminal.until("the process is gone", |screen| {
        !screen.contains("exec sleep 1001")
    });
    assert_eq!(site.said(&["ps", "--chat", "z", "-q"]), "");
    assert!(site.said(&["ps", "-a", "-q"]).contains(&id));
    // The first row is the call.
    terminal.press(&UP.repeat(9));
    terminal.press("k");
    terminal.until_shown("cancel call 1.call_0 of chat b? [y/N]");
    terminal.press("y");
    terminal.until_shown("call 1.call_0 is over: cancelled");
    assert_eq!(call.await.unwrap()["state"], "cancelled");
    terminal.press("q");
    let (status, screen, _) = terminal.ended().await;
    // The terminal is as it was.
    assert_eq!((status.code(), screen.trim()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_rows_are_sorted_filtered_and_asked_about() {
    let site = Site::new();
    let long = "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); sleep 10; done; echo a little text that stands at the end of it; exit 3; #";
    for number in 10..22 {
        let command = format!("{long} worker-{number}");
        site.process(&format!("chat-{number}"), &command).await;
    }
    let mut terminal = Terminal::start(&site.command(&["top"]), 120, 12);
    terminal.until_shown("rows 1-8 of 12 ↓");
    terminal.press("k");
    let screen = terminal.until_shown("? [y/N]");
    assert!(screen.contains("end process "), "{screen}");
    terminal.press("n");
    terminal.until_shown("s sort");
    terminal.press("ss");
    terminal.until_shown("sorted by memory");
    terminal.press("/chat-1");
    terminal.until_shown("filter: chat-1_");
    terminal.press("5\n");
    terminal.until("one row is left", |screen| {
        screen.contains("1 of 12 with \"chat-15\"") && !screen.contains("chat-14 ")
    });
    // The keys of the filter are no commands.
    terminal.press("q");
    let (status, _, _) = terminal.ended().await;
    assert_eq!(status.code(), Some(0));
    assert_eq!(site.said(&["ps", "-q"]).lines().count(), 12);
    let narrow = Terminal::start(&site.command(&["top"]), 50, 12);
    let screen = narrow.until_shown("rows 1-8 of 12 ↓");
    for column in ["ID ", "WHAT ", "FOR ", "CPU%", "MEMORY"] {
        assert!(screen.contains(column), "{column}: {screen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_signals_end_it() {
    let site = Site::new();
    for key in ["q", "\u{3}"] {
        let mut terminal = Terminal::start(&site.command(&["top"]), 40, 5);
        terminal.until_shown("q quit");
        terminal.press(key);
        let (status, screen, _) = terminal.ended().await;
        assert_eq!((status.code(), screen.trim()), (Some(0), ""));
    }
    let terminal = Terminal::start(&site.command(&["top"]), 40, 5);
    terminal.until_shown("q quit");
    terminal.signal(nix::sys::signal::Signal::SIGTERM);
    let (status, screen, _) = terminal.ended().await;
    assert_eq!((status.code(), screen.trim()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_line_keeps_its_last_character() {
    let site = Site::new();
    let long = format!("exec sleep 1000 # {}", "x".repeat(200));
    site.process("z", &long).await;
    let mut terminal = Terminal::start(&site.command(&["top"]), 60, 8);
    terminal.until_shown("q quit");
    terminal.press("q");
    let (status, _, bytes) = terminal.ended().await;
    assert_eq!(status.code(), Some(0));
    // To clear the rest of a full line would clear its last character.
    assert!(
        bytes.contains('…') && !bytes.contains("…\u{1b}[K"),
        "{bytes}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_gets_a_table_once_or_lines_of_json() {
    let site = Site::new();
    let id = site.process("z", "exec sleep 1000").await;
    let table = site.said(&["top"]);
    assert!(
        table.starts_with("ID ") && table.contains("exec sleep 1000"),
        "{table}"
    );
    let mut child = site
        .command(&["top", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    let now: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(now["processes"][0]["id"], *id);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let status = until("it ends", || child.try_wait().unwrap()).await;
    assert_eq!(status.code(), Some(0));
}
