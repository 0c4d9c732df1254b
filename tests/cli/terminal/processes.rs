//! `ps`, `logs`, `kill`, `cancel` and `chats`.

use super::*;

/// A name that would clear the screen of whoever lists it.
const HOSTILE: &str =
    "printf '\\033[31mred\\033[0m\\nlast\\n'; echo '\u{1b}[2J\u{202e}' >&2; exec sleep 1000";

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_listed_as_a_table_and_as_json() {
    let site = Site::new();
    let hostile = site.process("support-42", HOSTILE).await;
    let ended = site.process("other", "exit 3").await;
    let all = || lines(&site.said(&["ps", "-a", "--json"]));
    until("a process ends", || {
        let all = all();
        let one = all.iter().find(|one| one["id"] == *ended)?;
        (one["status"] == "exited").then_some(())
    })
    .await;
    let on_terminal = site.shown(&["ps", "--all"]).await;
    // No line is wrapped, no name draws, and what does not fit is cut.
    assert!(on_terminal.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(on_terminal.trim_end().lines().count(), 3, "{on_terminal}");
    for shown in [
        &hostile[..12],
        &ended[..12],
        "support-42",
        "…",
        "exited (3)",
    ] {
        assert!(on_terminal.contains(shown), "{shown}: {on_terminal}");
    }
    let whole = masked(&site.said(&["ps", "--no-trunc"]));
    let usage = regex::Regex::new("(?m)(  CPU  MEMORY|  (SPAN|-)  (SIZE|-))$").unwrap();
    insta::assert_snapshot!(usage.replace_all(&whole, ""));
    assert_eq!(site.said(&["ps", "-q"]), format!("{hostile}\n"));
    assert_eq!(
        site.said(&["ps", "--chat", "other", "-a", "-q"]),
        format!("{ended}\n")
    );
    let running = lines(&site.said(&["ps", "--json"]));
    assert_eq!(running.len(), 1);
    assert_eq!(
        (&running[0]["id"], &running[0]["chat"]),
        (&json!(hostile), &json!("support-42"))
    );
    let of_chat = lines(&site.said(&["ps", "--json", "--chat", "support-42"]));
    assert_eq!(
        (of_chat.len(), &of_chat[0]["chat"]),
        (1, &json!("support-42"))
    );
    let none = site.run(&["ps", "--chat", "nobody"]);
    assert_eq!((none.status.code(), text(&none.stdout)), (Some(0), ""));
    assert!(text(&none.stderr).contains("no process runs"), "{none:?}");
    assert_eq!(site.said(&["ps", "--chat", "nobody", "--json"]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_printed_as_it_was_written() {
    let site = Site::new();
    let id = site.process("a", "printf 'one\\ntwo\\n\\033[31m\\377\\nthree'; until [ -e go ]; do sleep 0.01; done; echo; echo end").await;
    let kept = b"one\ntwo\n\x1b[31m\xff\nthree";
    site.until_written(&id, kept.len() as u64).await;
    let bytes = |arguments: &[&str]| {
        let output = site.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output.stdout
    };
    assert_eq!(bytes(&["logs", &id]), kept);
    assert_eq!(bytes(&["logs", &id[..6]]), kept);
    assert_eq!(bytes(&["logs", "--since", "4", &id]), kept[4..]);
    for (tail, from) in [("0", 20), ("1", 15), ("2", 8), ("3", 4), ("4", 0), ("9", 0)] {
        assert_eq!(
            bytes(&["logs", "--tail", tail, &id]),
            kept[from.min(kept.len())..],
            "{tail}"
        );
    }
    let timed = site.run(&["logs", "--since", "10m", &id]);
    let said = text(&timed.stderr);
    assert!(
        timed.status.code() == Some(2)
            && said.contains("Output has no times")
            && said.contains("--tail LINES"),
        "{said}"
    );
    let json = lines(text(&bytes(&["logs", "--json", "--since", "15", &id])));
    assert_eq!(
        json,
        [json!({ "process": id, "offset": 15, "length": 5, "text": "three" })]
    );
    let json = lines(text(&bytes(&["logs", "--json", &id])));
    assert!(json[0]["base64"].is_string(), "{json:?}");
    // Following prints what there is and what comes, and ends with the process.
    let following = site
        .command(&["logs", "--follow", &id])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let following = Following::new(following);
    following.until(kept).await;
    std::fs::write(site.path("go"), "").unwrap();
    let (status, all) = following.ended().await;
    assert_eq!((status, all), (Some(0), [&kept[..], b"\nend\n"].concat()));
    assert_eq!(bytes(&["logs", "-f", "-n", "1", &id]), b"end\n");
    let missing = site.run(&["logs", "nothing"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        text(&missing.stderr).contains("toolhost ps -a"),
        "{missing:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_whose_server_is_gone_can_go_on() {
    let mut site = Site::new();
    let id = site
        .process("a", "echo one; echo two; exec sleep 1000")
        .await;
    site.until_written(&id, 8).await;
    let following = site
        .command(&["logs", "--follow", "--tail", "1", &id])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut following = Following::new(following);
    following.until(b"two\n").await;
    let mut stderr = following.child.stderr.take().unwrap();
    site.serving.child.kill().unwrap();
    assert_eq!(following.ended().await.0, Some(2));
    let mut told = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut told).unwrap();
    assert!(told.contains("with --since 8 instead of --tail"), "{told}");
}

/// The output of a program as it comes.
struct Following {
    child: Child,
    read: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Following {
    fn new(mut child: Child) -> Self {
        use std::io::Read;
        let mut stdout = child.stdout.take().unwrap();
        let read = std::sync::Arc::<std::sync::Mutex<Vec<u8>>>::default();
        let all = std::sync::Arc::clone(&read);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                all.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            child,
            read,
            reader,
        }
    }

    async fn until(&self, bytes: &[u8]) {
        let has = || self.read.lock().unwrap().ends_with(bytes).then_some(());
        until("the output comes", has).await;
    }

    async fn ended(mut self) -> (Option<i32>, Vec<u8>) {
        let status = until("the program ends", || self.child.try_wait().unwrap()).await;
        self.reader.join().unwrap();
        let read = self.read.lock().unwrap().clone();
        (status.code(), read)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_signalled_by_the_beginning_of_its_id() {
    let site = Site::new();
    let command = "trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.01; done";
    let id = site.process("a", command).await;
    site.until_written(&id, 6).await;
    let killed = site.said(&["kill", "-s", "SIGUSR1", &id[..8]]);
    assert_eq!(killed, format!("{id}\n"));
    // The shell may tell that the signal has reached a program that it ran.
    let output = site.said(&["logs", "-f", &id]);
    assert!(
        output.starts_with("ready\n") && output.ends_with("got\n"),
        "{output}"
    );
    let all = [
        site.process("a", "exec sleep 1000").await,
        site.process("b", "exec sleep 1000").await,
    ];
    let killed = site.said(&["kill", "--json", &all[0], &all[1]]);
    let killed = lines(&killed);
    assert_eq!(killed.len(), 2);
    assert_eq!(
        (&killed[0]["signal"], &killed[1]["chat"]),
        (&json!("kill"), &json!("b"))
    );
    for id in &all {
        assert_eq!(site.said(&["logs", "-f", id]), "");
    }
    assert_eq!(site.said(&["ps", "-q"]), "");
    // The others get it though one has ended.
    let last = site.process("a", "exec sleep 1000").await;
    let killed = site.run(&["kill", &all[0], &last]);
    assert_eq!(killed.status.code(), Some(1));
    assert_eq!(text(&killed.stdout), format!("{last}\n"));
    let told = format!("the process {} has ended: exited (SIGKILL)", all[0]);
    assert!(text(&killed.stderr).contains(&told), "{killed:?}");
    for (arguments, told) in [
        (&["kill", "zzz"][..], "there is no process"),
        (&["kill", "--signal", "STOP", "x"], "a signal is one of"),
        (&["kill", "--grace", "1s", "x"], "--signal TERM"),
        (&["kill"], "required"),
    ] {
        let refused = site.run(arguments);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(told), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_cancelled_and_what_ended_is_told() {
    let site = Site::new();
    let first = site.call("a", "3.call_0", "exec sleep 1000").await;
    let second = site.call("b", "3.call_0", "exec sleep 1000").await;
    let several = site.run(&["cancel", "3.call"]);
    assert_eq!(several.status.code(), Some(2));
    let said = text(&several.stderr);
    assert!(
        said.contains("3.call_0 of chat a") && said.contains("3.call_0 of chat b"),
        "{said}"
    );
    let cancelled = site.said(&["cancel", "3.call", "--chat", "a"]);
    insta::assert_snapshot!(masked(&cancelled), @r"
    call 3.call_0 is over: cancelled
    ended process ID (echo > runs-a-3.call_0; exec sleep 1000)
    ");
    assert_eq!(first.await.unwrap()["state"], "cancelled");
    let cancelled = lines(&site.said(&["cancel", "3.call_0", "--json"])).remove(0);
    assert_eq!(
        (&cancelled["state"], &cancelled["chat"]),
        (&json!("cancelled"), &json!("b"))
    );
    assert_eq!(cancelled["ended"], second.await.unwrap()["processes"]);
    let none = site.run(&["cancel", "3.call_0"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("toolhost calls"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_are_listed() {
    let site = Site::new();
    site.process("support-42", "exec sleep 1000").await;
    let _call = site.call("other", "1", "exec sleep 1000").await;
    insta::assert_snapshot!(masked(&site.shown(&["chats"]).await));
    let chats = lines(&site.said(&["chats", "--json", "--prefix", "support-"]));
    assert_eq!((chats.len(), &chats[0]["chat"]), (1, &json!("support-42")));
    let none = site.run(&["chats", "--prefix", "z"]);
    assert!(text(&none.stderr).contains("there is no such chat"));
    // Their calls are found in the same way.
    let calls = lines(&site.said(&["calls", "--json"]));
    assert_eq!(calls.len(), 2);
    assert!(site.shown(&["calls"]).await.contains("support-42"));
}
