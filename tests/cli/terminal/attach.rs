//! `attach`: Ctrl-C leaves the process, and a second one asks.

use super::*;

const TICKER: &str = "while :; do echo tick; sleep 0.05; done";

fn attach(site: &Site, id: &str, wait: &str) -> Terminal {
    let command = site.command(&["attach", &id[..12], "--detach-wait", wait]);
    let terminal = Terminal::start(&command, 80, 24);
    terminal.until_shown("\ntick");
    terminal
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
        let attached = site
            .command(&["attach", &id])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut attached = attached.unwrap();
        let mut said = std::io::BufReader::new(attached.stderr.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert!(line.contains("attached to process"), "{line}");
        std::fs::write(site.path("go.new"), code.to_string()).unwrap();
        std::fs::rename(site.path("go.new"), site.path("go")).unwrap();
        let output = finished(attached).await;
        assert_eq!(text(&output.stdout), "after\n");
        assert_eq!(output.status.code(), Some(i32::from(code != 0)));
        std::fs::remove_file(site.path("go")).unwrap();
    }
}
