//! Following a chat: every change is an event, in order, and whoever comes back misses nothing without being told.

mod bounds;
pub(crate) mod stream;

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::guest::component;
use stream::{Event, Stream, names, output};

/// Runs a command as a call of the chat `a` to its end, and returns its reply.
async fn run(server: &Server, call: &str, command: &str) -> Value {
    let (status, reply) = server.put("a", call, execute(command)).await;
    assert_eq!(status, 200, "{reply}");
    reply
}

fn ended(event: &Event) -> bool {
    event.name == "call" && event.data["state"] != "running"
}

fn fifo(setup: &Setup, name: &str) -> std::path::PathBuf {
    let path = setup.root().join(name);
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    path
}

/// Writes to a FIFO, once somebody reads from it.
async fn tell(fifo: &Path, text: &'static str) {
    let fifo = fifo.to_path_buf();
    let write = move || std::fs::write(fifo, text).unwrap();
    tokio::task::spawn_blocking(write).await.unwrap();
}

#[tokio::test]
async fn the_events_of_a_call_in_order() {
    let (setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "").await;
    let reply = run(&server, "1", "echo ä; exit 3").await;
    let events = stream.until(ended).await;
    let expected = ["call", "process_started", "output", "process", "call"];
    assert_eq!(names(&events), expected);
    let process = reply["processes"][0].as_str().unwrap();
    let expected = [
        json!({ "call": "1", "tool": "execute", "state": "running" }),
        json!({
            "process": process, "call": "1", "command": "echo ä; exit 3", "workdir": setup.root(), "background": false,
        }),
        json!({ "process": process, "offset": 0, "length": 3, "text": "ä\n" }),
        json!({
            "process": process, "call": "1", "status": "exited", "exit_code": 3, "cause": "itself", "total_bytes": 3,
        }),
        json!({ "call": "1", "tool": "execute", "state": "finished", "is_error": false }),
    ];
    for (event, expected) in events.iter().zip(&expected) {
        assert_eq!(&event.data, expected);
    }
    run(&server, "2", "kill -KILL $$").await;
    let events = stream.until(ended).await;
    let end = &events[events.len() - 2].data;
    assert_eq!(
        (&end["exit_code"], &end["signal"]),
        (&json!(-1), &json!("SIGKILL"))
    );
}

#[tokio::test]
async fn what_lingers_is_heard_of_until_nothing_is_left() {
    let (setup, server) = server().await;
    let go = fifo(&setup, "go");
    let mut stream = Stream::open(&server, "a", "").await;
    run(&server, "1", "(cat go; echo late) & echo hi").await;
    let mut events = stream.until(ended).await;
    tell(&go, "gone\n").await;
    events.extend(
        stream
            .until(|event| event.is("process", "status", "exited"))
            .await,
    );
    let states: Vec<_> = events
        .iter()
        .filter(|event| event.name == "process")
        .collect();
    assert_eq!(states[0].data["status"], "lingering");
    assert_eq!(states.len(), 2);
    assert_eq!(output(&events).0, b"hi\ngone\nlate\n");
}

#[tokio::test]
async fn a_reader_resumes_after_any_event() {
    let (setup, server) = server().await;
    let mut bytes = "ä😀\n".repeat(20_000).into_bytes();
    bytes.extend((0..100_000_u32).map(|n| n.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]));
    std::fs::write(setup.root().join("file"), &bytes).unwrap();
    let go = fifo(&setup, "go");
    let mut stream = Stream::open(&server, "a", "").await;
    let (_, ()) = tokio::join!(run(&server, "1", "printf 'a\\303'; cat go file"), async {
        tell(&go, "\u{a4}\n").await;
    });
    let events = stream.until(ended).await;
    let whole = output(&events).0;
    assert_eq!(whole.len(), 5 + bytes.len());
    let mut at = 0;
    for (index, event) in events.iter().enumerate() {
        if event.name == "output" {
            at += event.bytes().len();
        }
        if index + 1 == events.len() {
            break;
        }
        let mut again = Stream::resume(&server, "a", "", &event.id).await;
        let again = again.until(ended).await;
        let others = |events: &[Event]| {
            let others = events.iter().filter(|event| event.name != "output");
            others.cloned().collect::<Vec<_>>()
        };
        assert_eq!(others(&again), others(&events[index + 1..]), "{event:?}");
        let mut next = at;
        for piece in again.iter().filter(|event| event.name == "output") {
            assert_eq!(piece.data["offset"], next, "after {}", event.id);
            let bytes = piece.bytes();
            assert_eq!(bytes, whole[next..next + bytes.len()]);
            next += bytes.len();
        }
        assert_eq!(next, whole.len());
    }
    // By the parameter as well; the header comes first.
    let (first, last) = (&events[0].id, &events[events.len() - 2].id);
    let query = format!("?after={first}");
    let mut again = Stream::resume(&server, "a", &query, last).await;
    assert!(ended(&again.next().await.unwrap()));
    let mut again = Stream::open(&server, "a", &query).await;
    assert_eq!(again.next().await.unwrap().name, "process_started");
}

/// What is half a character at the end of an output is still delivered, once.
#[tokio::test]
async fn the_last_bytes_of_an_output_come_before_its_end() {
    let (_setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "").await;
    run(&server, "1", "printf 'a\\360\\237\\230'").await;
    let events = stream.until(ended).await;
    assert_eq!(output(&events).0, b"a\xf0\x9f\x98");
    let before = events
        .iter()
        .position(|event| event.name == "process")
        .unwrap();
    assert_eq!(events[before - 1].data["base64"], "8J+Y");
    for index in [before - 2, before - 1] {
        let mut again = Stream::resume(&server, "a", "", &events[index].id).await;
        assert_eq!(again.until(ended).await, events[index + 1..]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_is_put_together_again_however_it_was_written() {
    let (setup, server) = server().await;
    let runtime = tokio::runtime::Handle::current();
    let pieces = prop::collection::vec((1..3000_usize, any::<bool>()), 1..40);
    let mut runner = proptest::test_runner::TestRunner::new(crate::records::cases(8));
    let count = std::sync::atomic::AtomicUsize::new(0);
    let case = |pieces: Vec<(usize, bool)>| {
        let id = count
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
            .to_string();
        let total: usize = pieces.iter().map(|(length, _)| length).sum();
        let is_text = pieces.iter().all(|(_, text)| *text) || pieces.len().is_multiple_of(2);
        let data: Vec<u8> = match is_text {
            true => "aä…😀\n".bytes().cycle().take(total).collect(),
            false => (0..total)
                .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 11) as u8)
                .collect(),
        };
        std::fs::write(setup.root().join("data"), &data).unwrap();
        let mut command = "exec 3< data".to_owned();
        for (length, _) in &pieces {
            command += &format!("; dd bs={length} count=1 status=none <&3");
        }
        tokio::task::block_in_place(|| {
            runtime.block_on(async {
                let mut stream = Stream::open(&server, "a", "").await;
                run(&server, &id, &command).await;
                let events = stream.until(ended).await;
                assert!(output(&events) == (data, 0));
                let last = "aä…😀\n".repeat(total).is_char_boundary(total);
                let coded = events
                    .iter()
                    .filter(|event| event.data["base64"].is_string());
                let coded = coded.count();
                assert!(!is_text || coded == usize::from(!last), "{coded}");
            });
        });
        Ok(())
    };
    runner.run(&pieces, case).unwrap();
}

#[tokio::test]
async fn readers_hear_the_same_and_other_chats_nothing() {
    let (_setup, server) = server().await;
    let mut one = Stream::open(&server, "a", "").await;
    let mut two = Stream::open(&server, "a", "").await;
    let mut other = Stream::open(&server, "b", "").await;
    run(&server, "1", "echo secret").await;
    let (one, two) = (one.until(ended).await, two.until(ended).await);
    assert_eq!(one, two);
    // An id is of its chat: here it is none that was.
    let (status, _) = server.put("b", "2", execute("echo mine")).await;
    assert_eq!(status, 200);
    let events = other.until(ended).await;
    assert_eq!(output(&events).0, b"mine\n");
    assert!(events.iter().all(|event| event.data["call"] != "1"));
    for id in [&one[0].id, &one[2].id] {
        let mut stolen = Stream::resume(&server, "b", "", id).await;
        let events = stolen.until(ended).await;
        assert!(events[0].is("reset", "reason", "unknown_id"), "{events:?}");
        assert!(!format!("{events:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_reader_hears_what_it_wants() {
    let (_setup, server) = server().await;
    let first = Stream::open(&server, "a", "")
        .await
        .until_ready(&server)
        .await;
    let after = format!("after={first}");
    run(&server, "1", "echo one").await;
    run(&server, "2", "echo two").await;
    let mut quiet = Stream::open(&server, "a", &format!("?output=false&{after}")).await;
    let mut events = quiet.until(ended).await;
    events.extend(quiet.until(ended).await);
    let each = ["call", "process_started", "process", "call"];
    assert_eq!(names(&events), [each, each].concat());
    let mut second = Stream::open(&server, "a", &format!("?call=2&{after}")).await;
    let events = second.until(ended).await;
    let all = ["call", "process_started", "output", "process", "call"];
    assert_eq!(names(&events), all);
    assert_eq!(output(&events).0, b"two\n");
    for bad in ["?output=maybe", "?call=a/b", "?since=1"] {
        let path = format!("/v1/chats/a/events{bad}");
        let response = server.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), 400, "{bad}");
        let kind = &response.headers()["content-type"];
        assert_eq!(kind, "application/problem+json");
    }
}

impl Stream {
    /// Has something happen, and returns its id.
    async fn until_ready(mut self, server: &Server) -> String {
        run(server, "0", "true").await;
        self.until(ended).await.pop().unwrap().id
    }
}

#[tokio::test]
async fn ids_of_an_earlier_start_and_nonsense_are_a_reset() {
    let (_setup, earlier) = server().await;
    let first = Stream::open(&earlier, "a", "")
        .await
        .until_ready(&earlier)
        .await;
    let (_setup, server) = server().await;
    run(&server, "1", "echo kept").await;
    let future = first.replace('-', "-9");
    for id in [first.as_str(), &future, "nonsense", "1", "ä"] {
        let mut stream = Stream::resume(&server, "a", "", id).await;
        let events = stream.until(ended).await;
        let expected = [
            "reset",
            "call",
            "process_started",
            "output",
            "process",
            "call",
        ];
        assert_eq!(names(&events), expected, "{id}");
        assert_eq!(events[0].data, json!({ "reason": "unknown_id" }));
        // From there it goes on as from everywhere.
        let mut stream = Stream::resume(&server, "a", "", &events[0].id).await;
        assert_eq!(stream.until(ended).await, events[1..]);
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_chat() {
    let (setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "").await;
    let command =
        json!({ "command": "echo begun > begun; exec sleep 1000", "run_in_background": true });
    let body = json!({ "tool": "execute", "arguments": command });
    assert_eq!(server.put("a", "1", body).await.0, 200);
    setup.file("begun").await;
    stream.until(ended).await;
    let delete = server.request(Method::DELETE, "/v1/chats/a");
    assert_eq!(delete.send().await.unwrap().status(), 200);
    let events = stream.rest().await;
    assert_eq!(names(&events), ["process", "chat_ended"]);
    assert_eq!(events[0].data["cause"], "shutdown");
    assert_eq!(events[1].data, json!({ "chat": "a" }));
    // The next chat of that name goes on behind it.
    let mut stream = Stream::resume(&server, "a", "", &events[1].id).await;
    run(&server, "2", "true").await;
    assert_eq!(
        names(&stream.until(ended).await),
        ["call", "process_started", "process", "call"]
    );
}

#[tokio::test]
async fn a_stream_ends_with_its_server_after_everything_else() {
    let (setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "").await;
    let put = server.put("a", "1", execute("echo begun > begun; exec sleep 1000"));
    let begun = async {
        setup.file("begun").await;
    };
    // The call ends when the server does.
    tokio::select! {
        _ = put => panic!("it ended"),
        () = begun => {}
    }
    stream.until(|event| event.name == "process_started").await;
    let (_, events) = tokio::join!(server.stop(), stream.rest());
    let names = names(&events);
    assert!(
        names.contains(&"process") && names.contains(&"call"),
        "{names:?}"
    );
}

/// A guest that reports its progress.
const REPORTER: &str = r#"
(import "toolhost:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32 i32)))
(func $attack (result i32)
  (call $report (f64.const 1) (i32.const 1) (f64.const 3) (i32.const 1) (i32.const 336) (i32.const 5))
  (call $report (f64.const 2) (i32.const 1) (f64.const 3) (i32.const 1) (i32.const 336) (i32.const 5))
  (call $report (f64.const 1) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
  (call $report (f64.const nan) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
  (call $report (f64.const 3) (i32.const 1) (f64.const inf) (i32.const 1) (i32.const 336) (i32.const 5))
  i32.const 288)
"#;

#[tokio::test]
async fn a_guest_tells_of_its_progress() {
    let plugin = component("reporter", REPORTER.into());
    let setup =
        Setup::with(|builder| builder.without_shell().plugin(plugin, options("reporter"))).await;
    let server = Server::start(setup.host.clone()).await;
    let mut stream = Stream::open(&server, "a", "").await;
    assert_eq!(server.put("a", "1", json!({ "tool": "t" })).await.0, 200);
    let events = stream.until(ended).await;
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert!(first.name == "call" && ended(last));
    let reports = &events[1..events.len() - 1];
    // The last in any case, and none that is no progress; those before it only if they were heard of in time.
    let text = reports[0].data["message"].as_str().unwrap();
    let end = json!({ "call": "1", "done": 3.0, "message": text });
    assert_eq!(reports.last().unwrap().data, end);
    for (report, done) in reports.iter().rev().skip(1).rev().zip([1.0, 2.0]) {
        assert!(report.data["done"].as_f64().unwrap() >= done, "{reports:?}");
        assert_eq!(report.data["total"], 3.0);
    }
    assert!(reports.len() <= 3, "{reports:?}");
}
