//! Tests of the journal on real files: what a crash, a full disk or a stranger leaves behind is read, and nothing is lost
//! by rewriting.

mod properties;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use super::*;
use crate::process::saved::Location;
use crate::process::{Cause, ExitStatus};
use toolhost_state::state_dir::journal::{SMALL, header, line};

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn started(id: &str, chat: Option<&str>) -> Started {
    Started {
        id: id.into(),
        chat: chat.map(|chat| chat.parse().unwrap()),
        command: "make test &\n\"ä\"".into(),
        workdir: "/srv/work".into(),
        background: true,
        started: at(1_700_000_000_123),
        output: Some(Location {
            directory: "d".into(),
            file: "f".into(),
        }),
        key: Some("call_1 0".into()),
    }
}

fn ended(id: &str) -> Ended {
    Ended {
        id: id.into(),
        status: ExitStatus {
            code: None,
            signal: Some("SIGKILL".into()),
            cause: Cause::OutputLimit,
        },
        exited: at(1_700_000_001_000),
        over: at(1_700_000_002_000),
        total: 10,
        saved_bytes: 5,
        saving: Some(Saving::Failed("disk full".into())),
    }
}

fn lost(id: &str) -> Lost {
    Lost {
        id: id.into(),
        why: "the host stopped".into(),
        when: at(5),
        total: 3,
        saved_bytes: 2,
        saving: Some(Saving::Partial),
    }
}

fn state() -> (tempfile::TempDir, StateDir) {
    let base = tempfile::tempdir().unwrap();
    let state = StateDir::open(&base.path().join("state")).unwrap();
    (base, state)
}

fn recover(state: &StateDir) -> Vec<Recovered> {
    open(state).unwrap().1
}

fn content(state: &StateDir) -> Vec<u8> {
    state.read(Knowledge::FILE, u64::MAX).unwrap().unwrap()
}

fn text_of(entries: &[Entry]) -> Vec<u8> {
    let mut text = header(Knowledge::SUBJECT).into_bytes();
    for entry in entries {
        text.extend(line::<Knowledge>(entry).unwrap());
    }
    text
}

#[test]
fn damage_costs_the_lines_that_it_hits() {
    let (_base, state) = state();
    let mut text = text_of(&[Entry::Started(started("a", Some("x")))]);
    let mut bad = line::<Knowledge>(&Entry::Started(started("b", None))).unwrap();
    let at = bad.iter().position(|byte| *byte == 0xc3).unwrap();
    bad[at + 1] = b'(';
    text.extend(bad);
    // Blocks that a crash of the machine left empty, on one huge line with what came after.
    text.extend(vec![0; 3 * Knowledge::LONGEST]);
    text.extend(line::<Knowledge>(&Entry::Gone { id: "a".into() }).unwrap());
    text.extend(b"{\"started\":{\"id\":\"c\"}}\n{\"from_the_future\":{}}\n[]\n\n");
    // Without a chat field, it must not become a process of nobody.
    text.extend(br#"{"started":{"id":"e","command":"","workdir":"/","background":false,"started":1,"output":null}}"#);
    text.push(b'\n');
    text.extend(line::<Knowledge>(&Entry::Ended(ended("a"))).unwrap());
    text.extend(line::<Knowledge>(&Entry::Lost(lost("unknown"))).unwrap());
    state.write(Knowledge::FILE, &text).unwrap();
    let record = Recovered {
        started: started("a", Some("x")),
        exited: None,
        end: Some(End::Exited(ended("a"))),
        gone: false,
    };
    assert_eq!(recover(&state), [record]);
}

#[test]
fn the_format_stays_readable() {
    let line = |entry: &Entry| String::from_utf8(line::<Knowledge>(entry).unwrap()).unwrap();
    assert_eq!(
        line(&Entry::Started(started("a", Some("x")))),
        "{\"started\":{\"id\":\"a\",\"chat\":\"x\",\"command\":\"make test &\\n\\\"ä\\\"\",\"workdir\":\"/srv/work\",\
         \"background\":true,\"started\":1700000000123,\"output\":{\"directory\":\"d\",\"file\":\"f\"},\"key\":\"call_1 0\"}}\n"
    );
    assert_eq!(
        line(&Entry::Ended(ended("a"))),
        "{\"ended\":{\"id\":\"a\",\"status\":{\"code\":null,\"signal\":\"SIGKILL\",\"cause\":\"output_limit\"},\
         \"exited\":1700000001000,\"over\":1700000002000,\"total\":10,\"saved_bytes\":5,\"saving\":{\"failed\":\"disk full\"}}}\n"
    );
    // What an older host wrote, and what a newer one may write.
    let older = line(&Entry::Started(started("a", None))).replace(",\"key\":\"call_1 0\"", "");
    let Entry::Started(read) = serde_json::from_str(&older).unwrap() else {
        panic!("{older}");
    };
    assert_eq!(read.key, None);
    let older = line(&Entry::Ended(ended("a"))).replace("\"over\":1700000002000,", "");
    let Entry::Ended(read) = serde_json::from_str(&older).unwrap() else {
        panic!("{older}");
    };
    assert_eq!(read.over, UNIX_EPOCH);
    let future = line(&Entry::Ended(ended("a"))).replace("output_limit", "eclipse");
    let Entry::Ended(read) = serde_json::from_str(&future).unwrap() else {
        panic!("{future}");
    };
    assert_eq!(read.status.cause, Cause::Itself);
}

#[test]
fn another_version_is_refused_and_left_alone() {
    let (_base, state) = state();
    for version in ["2", "0", "\"1\"", "1.5", "null"] {
        let text = format!("{{\"toolhost\":\"processes\",\"version\":{version}}}\nwhatever\n");
        state.write(Knowledge::FILE, text.as_bytes()).unwrap();
        let error = open(&state).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        let message = error.to_string();
        assert!(message.contains(&format!("version {version}")), "{message}");
        assert!(
            message.contains("use the Toolhost that wrote it"),
            "{message}"
        );
        assert_eq!(content(&state), text.as_bytes());
    }
}

#[test]
fn a_file_of_strangers_is_refused_and_leftovers_go() {
    let (base, state) = state();
    std::fs::write(base.path().join("target"), "").unwrap();
    std::os::unix::fs::symlink(
        base.path().join("target"),
        state.path().join(Knowledge::FILE),
    )
    .unwrap();
    open(&state).unwrap_err();
    state.remove(Knowledge::FILE).unwrap();
    state.write(".processes.jsonl.1234", b"torn").unwrap();
    recover(&state);
    assert_eq!(state.names().unwrap().len(), 1);
}

#[test]
fn a_failed_write_spoils_no_other() {
    let (_base, state) = state();
    let (journal, _) = open(&state).unwrap();
    let shared = journal.shared.as_ref().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let file = shared.out().file.replace(Arc::new(full)).unwrap();
    journal.append(&Entry::Started(started("a", None)));
    journal.append(&Entry::Started(started("b", None)));
    assert_eq!(shared.out().failures, 2);
    let fragment = b"{\"started\":{\"id\":";
    (&*file).write_all(fragment).unwrap();
    {
        let mut out = shared.out();
        out.torn = true;
        out.size += fragment.len() as u64;
        out.file = Some(file);
    }
    journal.append(&Entry::Started(started("c", None)));
    assert_eq!(shared.out().failures, 0);
    let mut long = started("d", None);
    long.command = "x".repeat(Knowledge::LONGEST);
    journal.append(&Entry::Started(long));
    journal.append(&Entry::Started(started("e", None)));
    assert_eq!(content(&state).len() as u64, shared.out().size);
    shared.rewrite().unwrap();
    drop(journal);
    let known = recover(&state);
    let ids: Vec<_> = known.iter().map(|known| &known.started.id).collect();
    assert_eq!(ids, ["c", "e"]);
}

#[test]
fn it_stays_small_while_it_is_used() {
    let (_base, state) = state();
    let (journal, _) = open(&state).unwrap();
    let shared = journal.shared.as_ref().unwrap();
    journal.append(&Entry::Started(started("kept", None)));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let journal = &journal;
            scope.spawn(move || {
                for index in 0..2000 {
                    let id = format!("{thread}-{index}");
                    journal.append(&Entry::Started(started(&id, Some("x"))));
                    journal.append(&Entry::Ended(ended(&id)));
                    if index < 1990 {
                        journal.append(&Entry::Forgotten { id });
                    }
                }
            });
        }
    });
    // A rewrite that others wrote into takes all of theirs over, and the next entry starts another.
    loop {
        while shared.out().rewriting {
            std::thread::sleep(Duration::from_millis(1));
        }
        let out = shared.out();
        if out.size <= out.limit {
            break;
        }
        drop(out);
        journal.append(&Entry::Gone { id: "none".into() });
    }
    let size = content(&state).len() as u64;
    assert_eq!(size, shared.out().size);
    assert!(size <= SMALL, "{size} of some 4 MB were left");
    drop(journal);
    let known = recover(&state);
    assert_eq!(known.len(), 41);
    assert!(known.iter().skip(1).all(|record| record.end.is_some()));
    assert!(content(&state).len() < 32 * 1024);
}

#[test]
fn a_closed_journal_replaces_nothing() {
    let (_base, state) = state();
    let (journal, _) = open(&state).unwrap();
    let shared = Arc::clone(journal.shared.as_ref().unwrap());
    drop(journal);
    let (next, _) = open(&state).unwrap();
    next.append(&Entry::Started(started("a", None)));
    shared.rewrite().unwrap();
    next.append(&Entry::ChatEnded {
        chat: "x".parse().unwrap(),
    });
    drop(next);
    assert_eq!(recover(&state).len(), 1);
    Journal::none().append(&Entry::Lost(lost("a")));
}
