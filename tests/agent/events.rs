//! `GET /{id}/events`: output and end as server-sent events.

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use toolhost_local::process::SaveLimits;

use super::{Agent, ok, refused, tell};

/// One event.
#[derive(Clone, Debug, PartialEq)]
struct Event {
    name: String,
    id: String,
    data: Value,
}

/// A stream of events.
struct Stream {
    response: Response,
    /// What is not an event yet. Bytes, as what the network cuts is not whole characters.
    bytes: Vec<u8>,
}

impl Stream {
    async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            bytes: Vec::new(),
        }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.bytes.split_off(end + 2);
                let event = String::from_utf8(std::mem::replace(&mut self.bytes, rest)).unwrap();
                let field = |name: &str| {
                    let mut lines = event.lines();
                    let value = lines.find_map(|line| line.strip_prefix(name));
                    value.unwrap().trim().to_owned()
                };
                return Some(Event {
                    name: field("event:"),
                    id: field("id:"),
                    data: serde_json::from_str(&field("data:")).unwrap(),
                });
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.bytes.extend_from_slice(&bytes);
        }
    }

    /// All events up to the end of the stream.
    async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

fn text(events: &[Event]) -> String {
    let output = events.iter().filter(|event| event.name == "output");
    output
        .map(|event| event.data["data"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn output_comes_as_it_is_written_then_the_exit_then_the_end() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent.start("echo one; cat go; exit 3").await;
    let mut stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    let first = stream.next().await.unwrap();
    let expected = Event {
        name: "output".into(),
        id: "4".into(),
        data: json!({ "offset": 0, "data": "one\n", "total": 4 }),
    };
    assert_eq!(first, expected);
    tell(go, "two\n").await;
    let rest = stream.rest().await;
    assert_eq!(names(&rest), ["output", "exit", "end"]);
    assert_eq!(
        rest[0].data,
        json!({ "offset": 4, "data": "two\n", "total": 8 })
    );
    let exit = json!({
        "running": false, "exit_code": 3, "status": "exited", "lingering": false, "cause": "itself", "total_bytes": 8,
    });
    assert_eq!(rest[1].data, exit);
    assert_eq!(rest[2].data, json!({ "total": 8 }));
    assert!(rest.iter().all(|event| event.id == "8"));
}

#[tokio::test]
async fn a_reader_resumes_where_it_stopped() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("seq 100000").await;
    let whole = Stream::open(agent.get(&format!("/{id}/events")))
        .await
        .rest()
        .await;
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(text(&whole), expected);
    let path = format!("/{id}/events");
    for seen in [&whole[0], &whole[3]] {
        let cursor: usize = seen.id.parse().unwrap();
        let resumed = agent.get(&path).header("Last-Event-ID", &seen.id);
        let resumed = Stream::open(resumed).await.rest().await;
        assert_eq!(text(&resumed), expected[cursor..]);
        // The header of a client that resumes by itself wins over the address that it began with.
        let since = Stream::open(agent.get(&format!("{path}?since={cursor}"))).await;
        assert_eq!(since.rest().await, resumed);
        let both = agent.get(&format!("{path}?since=0"));
        let both = Stream::open(both.header("Last-Event-ID", &seen.id)).await;
        assert_eq!(both.rest().await, resumed);
    }
    let after = agent
        .get(&path)
        .header("Last-Event-ID", &whole[whole.len() - 1].id);
    let after = Stream::open(after).await.rest().await;
    assert_eq!(names(&after), ["exit", "end"]);
    let past = Stream::open(agent.get(&format!("{path}?since=18446744073709551615"))).await;
    assert_eq!(names(&past.rest().await), ["exit", "end"]);
}

#[tokio::test]
async fn a_gap_is_an_event_with_its_exact_range() {
    let agent = Agent::with(|mut config| {
        config.save_limits = SaveLimits {
            per_process: 0,
            per_chat: 0,
            total: 0,
        };
        config
    })
    .await;
    let (id, _) = agent.run("head -c 1000000 /dev/zero | tr '\\0' x").await;
    let events = Stream::open(agent.get(&format!("/{id}/events")))
        .await
        .rest()
        .await;
    let gaps: Vec<_> = events.iter().filter(|event| event.name == "gap").collect();
    let [gap] = gaps[..] else {
        panic!("{gaps:?}");
    };
    let number = |field: &str| gap.data[field].as_u64().unwrap();
    assert_eq!(number("bytes"), number("to") - number("from"));
    assert_eq!(gap.id, number("to").to_string());
    assert_eq!(text(&events).len() as u64 + number("bytes"), 1_000_000);
    let cursor = |event: &Event| event.data["offset"].as_u64();
    let after = events.iter().skip_while(|event| event.name != "gap").nth(1);
    assert_eq!(cursor(after.unwrap()), Some(number("to")));
}

#[tokio::test]
async fn a_slow_reader_does_not_hold_up_the_command() {
    let agent = Agent::new().await;
    // More than all buffers between the command and the reader take.
    let id = agent
        .start("head -c 20000000 /dev/zero | tr '\\0' x; echo end")
        .await;
    let stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    let output = agent.wait(&id).await;
    assert_eq!(
        (&output["exit_code"], &output["total_bytes"]),
        (&json!(0), &json!(20_000_004))
    );
    let events = stream.rest().await;
    assert!(text(&events).ends_with("xend\n"));
    let missed: u64 = events
        .iter()
        .filter_map(|event| event.data["bytes"].as_u64())
        .sum();
    assert_eq!(text(&events).len() as u64 + missed, 20_000_004);
}

#[tokio::test]
async fn survivors_are_followed_after_the_exit() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent.start("{ cat go; } & echo hi").await;
    let mut stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    assert_eq!(stream.next().await.unwrap().data["data"], "hi\n");
    let exit = stream.next().await.unwrap();
    assert_eq!(
        (exit.name.as_str(), &exit.data["lingering"]),
        ("exit", &json!(true))
    );
    tell(go, "late\n").await;
    let rest = stream.rest().await;
    assert_eq!(names(&rest), ["output", "end"]);
    assert_eq!(rest[0].data["data"], "late\n");
}

#[tokio::test]
async fn the_exit_waits_for_a_shell_that_closed_its_output() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent
        .start("echo hi; exec >/dev/null 2>&1; cat go; exit 5")
        .await;
    let mut stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    assert_eq!(stream.next().await.unwrap().data["data"], "hi\n");
    tell(go, "x").await;
    let rest = stream.rest().await;
    assert_eq!(names(&rest), ["exit", "end"]);
    assert_eq!(rest[0].data["exit_code"], 5);
}

#[tokio::test]
async fn characters_are_not_cut() {
    let agent = Agent::new().await;
    let go = agent.fifo("go");
    let id = agent
        .start(r"printf 'a\303'; cat go; printf '\244\377b'")
        .await;
    let mut stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    let first = stream.next().await.unwrap();
    assert_eq!((&first.data["data"], first.id.as_str()), (&json!("a"), "1"));
    tell(go, "").await;
    let rest = stream.rest().await;
    assert_eq!(text(&rest), "ä\u{FFFD}b");
    // Also between events: 32 KiB is no multiple of three.
    let (id, _) = agent
        .run("for i in $(seq 12000); do printf '☃'; done")
        .await;
    let events = Stream::open(agent.get(&format!("/{id}/events")))
        .await
        .rest()
        .await;
    assert_eq!(text(&events), "☃".repeat(12000));
}

#[tokio::test]
async fn the_end_of_the_server_ends_the_stream() {
    let agent = Agent::new().await;
    let id = agent.start("echo hi; sleep 300").await;
    let mut stream = Stream::open(agent.get(&format!("/{id}/events"))).await;
    stream.next().await.unwrap();
    agent.registry.shutdown().await;
    let rest = stream.rest().await;
    assert_eq!(names(&rest), ["exit", "end"]);
    assert_eq!(rest[0].data["cause"], "shutdown");
}

#[tokio::test]
async fn a_broken_event_id_is_refused() {
    let agent = Agent::new().await;
    let (id, _) = agent.run("true").await;
    let path = format!("/{id}/events");
    let request = agent.get(&path).header("Last-Event-ID", "x");
    refused(request, 400, "Query parameters have invalid values.").await;
    refused(
        agent.get(&format!("{path}?since=x")),
        400,
        "Query parameters",
    )
    .await;
    ok(agent.get("/list")).await;
}
