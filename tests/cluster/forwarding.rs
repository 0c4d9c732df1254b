//! Servers that send requests on to the one that has the chat: a client uses only one of them.

use super::members::{Member, NARROW, read, two};
use super::*;
use crate::harness::proxy::Fault;
use crate::harness::{Certificate, TOKEN};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_one_host_reaches_the_chats_of_all() {
    let (_, one, other) = two().await;
    let own = one.called("a", "1", here("pwd")).await;
    let there = one.called("b", "1", here("pwd; echo x >> ran")).await;
    for (outcome, member) in [(&own, &one), (&there, &other)] {
        let directory = member.directory.path().canonicalize().unwrap();
        let output = format!("{}\n", directory.display());
        assert_eq!(outcome["structured"]["output"], output, "{outcome}");
    }
    // Both servers give a repeat the same answer, and refuse the same.
    for member in [&one, &other] {
        let repeated = member.called("b", "1", here("pwd; echo x >> ran")).await;
        assert_eq!(repeated, there);
        let (status, refused) = read(member.put("b", "1", here("another")).await).await;
        assert_eq!((status, &refused["code"]), (409, &json!("input_mismatch")));
    }
    let ran = std::fs::read_to_string(other.directory.path().join("ran"));
    assert_eq!(ran.unwrap(), "x\n");
    // A call without an id, and what the other host says of it.
    let posted = one.request(Method::POST, "/v1/chats/b/calls");
    let posted = posted.json(&here("echo posted")).send().await.unwrap();
    let location = posted.headers()["location"].to_str().unwrap().to_owned();
    let (status, posted) = read(posted).await;
    assert_eq!(
        (status, &posted["structured"]["output"]),
        (200, &json!("posted\n"))
    );
    assert_eq!(one.get(&location).await, (200, posted));
    // A chat that the other host knows first, and that this one asks the database about.
    let unknown = one.get("/v1/chats/b/processes/none").await;
    assert_eq!(
        (unknown.0, &unknown.1["code"]),
        (404, &json!("unknown_process"))
    );
    let (status, ended) = read(
        one.request(Method::DELETE, "/v1/chats/b")
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!((status, ended), (200, json!({ "ended": [] })));
}

/// A person knows neither hosts nor tokens. Each host has the address of its own server in its links.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_works_at_all_hosts() {
    let (_, one, other) = two().await;
    one.called("b", "1", here("echo shared > file")).await;
    let request = one.request(Method::POST, "/v1/chats/b/links");
    let request = request.json(&json!({ "path": "file" }));
    let (status, made) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 201, "{made}");
    let url = made["url"].as_str().unwrap();
    let path = &url[url.find("/v1/links/").unwrap()..];
    for member in [&one, &other] {
        let request = member.request(Method::GET, path).build().unwrap();
        let client = crate::harness::client();
        let opened = client.get(request.url().clone()).send().await.unwrap();
        assert_eq!(opened.status(), 200);
        assert_eq!(opened.text().await.unwrap(), "shared\n");
    }
}

/// The host that is too late has read the body of its request by then.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_first_calls_of_a_chat_both_run_at_one_host() {
    let (_, one, other) = two().await;
    for number in 0..10 {
        let chat = format!("new-{number}");
        let (first, second) = tokio::join!(
            one.called(&chat, "1", here("pwd")),
            other.called(&chat, "2", here("pwd")),
        );
        assert_eq!(
            first["structured"]["output"],
            second["structured"]["output"]
        );
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_requests_and_answers_pass() {
    let (_, one, other) = two().await;
    let text = "line of a large file\n".repeat(40_000);
    let write = json!({ "tool": "write_file", "arguments": { "path": "large", "content": text } });
    one.called("b", "write", write).await;
    let written = std::fs::read_to_string(other.directory.path().join("large"));
    assert!(written.unwrap() == text);
    let read_file = json!({ "tool": "read_file", "arguments": { "path": "large" } });
    let through = one.called("b", "read", read_file.clone()).await;
    assert_eq!(through, other.called("b", "read", read_file).await);
    let output = one.called("b", "cat", here("cat large large large")).await;
    let process = output["processes"][0].as_str().unwrap();
    let path = format!("/v1/chats/b/processes/{process}/output?max=4000000");
    let raw = one.request(Method::GET, &path);
    let raw = raw
        .header("accept", "application/octet-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(
        raw.headers()["toolhost-output-total"],
        (3 * text.len()).to_string()
    );
    assert_eq!(raw.headers()["content-type"], "application/octet-stream");
    assert!(raw.headers().contains_key("x-request-id"));
    assert!(raw.bytes().await.unwrap() == text.repeat(3));
    let (status, listed) = one.get("/v1/chats/b/processes").await;
    assert_eq!(status, 200);
    assert_eq!(listed, other.get("/v1/chats/b/processes").await.1);
    assert_eq!(listed["processes"][0]["id"], process, "{listed}");
    // What is too large is refused there.
    let body = here(&"x".repeat(2 << 20));
    let (status, refused) = read(one.put("b", "large", body).await).await;
    assert_eq!((status, &refused["code"]), (413, &json!("too_large")));
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_arrive_as_they_happen_and_calls_are_cancelled() {
    let (_, one, other) = two().await;
    let events = one.request(Method::GET, "/v1/chats/b/events");
    let mut events = events.send().await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let call = one.put("b", "long", here("echo seen; exec sleep 1000"));
    let cancelling = async {
        let mut said = String::new();
        while !said.contains("seen\\n") {
            let chunk = events.chunk().await.unwrap().unwrap();
            said += &String::from_utf8_lossy(&chunk);
        }
        let path = "/v1/chats/b/calls/long";
        read(one.request(Method::DELETE, path).send().await.unwrap()).await
    };
    let (called, (status, cancelled)) = tokio::join!(call, cancelling);
    assert_eq!((status, &cancelled["state"]), (200, &json!("cancelled")));
    assert_eq!(read(called).await, (200, cancelled));
    // A client that goes away takes a call without an id with it, also at the other host.
    let posted = one.request(Method::POST, "/v1/chats/b/calls");
    let posted = posted.json(&here("echo x > begun; exec sleep 1000"));
    let posted = tokio::spawn(posted.send());
    other.begun("begun").await;
    posted.abort();
    let begun = std::time::Instant::now();
    loop {
        let (_, listed) = other.get("/v1/chats/b/calls?limit=1").await;
        if listed["calls"][0]["state"] == "cancelled" {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{listed}");
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_forwarded_twice() {
    let (_, one, other) = two().await;
    for (method, path) in [
        (Method::PUT, "/v1/chats/b/calls/1"),
        (Method::GET, "/v1/chats/b/processes"),
        (Method::GET, "/v1/chats/b/events"),
    ] {
        let request = one.request(method, path).json(&here("true"));
        let request = request.header("toolhost-forwarded-by", "a third");
        let refused = request.send().await.unwrap();
        assert_eq!(refused.headers()["toolhost-host"], *other.proxy.url);
        let (status, refused) = read(refused).await;
        assert_eq!((status, &refused["code"]), (421, &json!("other_host")));
    }
    // The cookie and the origin are for the host that was asked, and the token for both.
    let request = one.request(Method::GET, "/v1/chats/b/processes");
    let request = request
        .header("cookie", "toolhost=1")
        .header("connection", "x-secret");
    let listed = request.header("x-secret", "1").send().await.unwrap();
    assert_eq!(listed.status().as_u16(), 200);
    assert!(other.proxy.connections() > 0);
    // A client learns nothing of a chat that is not for its token.
    let serving = one.serving.as_ref().unwrap();
    for forwarded_by in ["", "toolhost-forwarded-by"] {
        let url = format!("{}/v1/chats/b/processes", serving.url);
        let request = serving.client.get(url).bearer_auth(NARROW);
        let request = match forwarded_by {
            "" => request,
            header => request.header(header, "a third"),
        };
        let (status, refused) = read(request.send().await.unwrap()).await;
        assert_eq!((status, &refused["code"]), (403, &json!("foreign_chat")));
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_lost_is_said_to_be_and_a_repeat_works_after_its_restart() {
    let (database, one, mut other) = two().await;
    // The connection breaks: the call may have run, and did.
    other.proxy.inject("calls/broken", Fault::After);
    let broken = one.put("b", "broken", here("echo x >> ran")).await;
    assert_eq!(broken.headers()["retry-after"], "1");
    let (status, broken) = read(broken).await;
    assert_eq!((status, &broken["code"]), (502, &json!("host_lost")));
    one.called("b", "broken", here("echo x >> ran")).await;
    // A call without an id is not worth a repeat.
    other.proxy.inject("/calls ", Fault::After);
    let posted = one
        .request(Method::POST, "/v1/chats/b/calls")
        .json(&here("true"));
    let posted = posted.send().await.unwrap();
    assert!(posted.status().as_u16() == 502 && !posted.headers().contains_key("retry-after"));
    let ran = std::fs::read_to_string(other.directory.path().join("ran"));
    assert_eq!(ran.unwrap(), "x\n");
    // It is killed while a caller waits.
    let body = here("echo x > begun; exec sleep 1000");
    let (waiting, ()) = tokio::join!(one.put("b", "long", body.clone()), async {
        other.begun("begun").await;
        other.kill();
    });
    let (status, lost) = read(waiting).await;
    assert_eq!(
        (status, &lost["code"]),
        (502, &json!("host_lost")),
        "{lost}"
    );
    other.proxy.refuse().await;
    let (status, refused) = read(one.put("b", "long", body.clone()).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("host_unreachable"))
    );
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("the host other cannot be reached"),
        "{detail}"
    );
    // Without its lease, nothing connects to its address: another server may have it.
    let expire = "UPDATE toolhost.hosts SET until = '-infinity' WHERE name = 'other'";
    let expired = postgres::connect(&database)
        .await
        .execute(expire, &[])
        .await;
    assert_eq!(expired.unwrap(), 1);
    other.proxy.accept().await;
    let before = other.proxy.connections();
    let (status, refused) = read(one.put("b", "long", body.clone()).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("host_unreachable"))
    );
    assert_eq!(other.proxy.connections(), before);
    // The database has the outcomes all along.
    let (status, known) = one.get("/v1/chats/b/calls/broken").await;
    assert_eq!((status, &known["state"]), (200, &json!("finished")));
    other.run();
    let outcome = one.called("b", "long", body).await;
    assert_eq!(outcome["state"], "unknown", "{outcome}");
    let next = one.called("b", "next", here("cat ran")).await;
    assert_eq!(next["structured"]["output"], "x\n");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_stops_waits_for_no_other() {
    let (_, mut one, other) = two().await;
    let body = here("echo x > begun; until [ -e go ]; do sleep 0.05; done");
    let waiting = tokio::spawn(
        one.request(Method::PUT, "/v1/chats/b/calls/1")
            .json(&body)
            .send(),
    );
    let mut events = one
        .request(Method::GET, "/v1/chats/b/events")
        .send()
        .await
        .unwrap();
    other.begun("begun").await;
    let ended = one
        .serving
        .as_mut()
        .unwrap()
        .signal(nix::sys::signal::Signal::SIGTERM);
    assert!(ended.success());
    let (status, lost) = read(waiting.await.unwrap().unwrap()).await;
    assert_eq!(
        (status, &lost["code"]),
        (502, &json!("host_lost")),
        "{lost}"
    );
    // The stream ends as one of this host does.
    while events.chunk().await.unwrap().is_some() {}
    std::fs::write(other.directory.path().join("go"), "").unwrap();
    assert_eq!(other.called("b", "1", body).await["state"], "finished");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_mcp_is_used_through_the_other() {
    let (_, one, mut other) = two().await;
    let begin = async |member: &Member, path: &str| {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
            },
        });
        let request = member.request(Method::POST, path).json(&message);
        let request = request.header("accept", "application/json, text/event-stream");
        let begun = request.send().await.unwrap();
        assert_eq!(begun.status().as_u16(), 200);
        begun.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    let call = async |member: &Member, path: &str, session: &str| {
        let message = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "execute", "arguments": { "command": "pwd" } },
        });
        let request = member.request(Method::POST, path).json(&message);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-session-id", session);
        let request = request.header("mcp-protocol-version", "2025-11-25");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let at = |member: &Member| member.directory.path().canonicalize().unwrap();
    // A session without a named chat is where it began.
    let session = begin(&other, "/mcp").await;
    for member in [&one, &other] {
        let (status, answer) = call(member, "/mcp", &session).await;
        assert_eq!(status, 200);
        assert!(answer.contains(at(&other).to_str().unwrap()), "{answer}");
    }
    // One in a chat begins where the chat is.
    let named = begin(&one, "/mcp/b").await;
    for member in [&one, &other] {
        let (_, answer) = call(member, "/mcp/b", &named).await;
        assert!(answer.contains(at(&other).to_str().unwrap()), "{answer}");
    }
    let made_up = format!("{}.1", "0".repeat(32));
    for session in ["guessed", &made_up, &format!("{session}0")] {
        assert_eq!(call(&one, "/mcp", session).await.0, 404, "{session}");
    }
    // A client whose session is lost with its host begins another one.
    let ended = other
        .serving
        .as_mut()
        .unwrap()
        .signal(nix::sys::signal::Signal::SIGTERM);
    assert!(ended.success());
    assert_eq!(call(&one, "/mcp", &session).await.0, 404);
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_forwarded_over_tls_to_the_host_that_the_authority_knows() {
    let database = postgres::database();
    let directory = tempfile::tempdir().unwrap();
    let certificate = Certificate::new(directory.path());
    std::fs::create_dir(directory.path().join("another")).unwrap();
    let another = Certificate::new(&directory.path().join("another"));
    let other = Member::with(&database, "other", Some(&certificate), None).await;
    let one = Member::with(&database, "one", None, Some(&certificate)).await;
    let stranger = Member::with(&database, "stranger", None, Some(&another)).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der.clone()).unwrap();
    let tls = toolhost_call::client::tls(roots).unwrap();
    let client = toolhost_call::client::builder(tls).build().unwrap();
    let url = &other.serving.as_ref().unwrap().url;
    assert!(url.starts_with("https://"), "{url}");
    let first = client.put(format!("{url}/v1/chats/b/calls/first"));
    let first = first.bearer_auth(TOKEN).json(&here("true")).send().await;
    assert_eq!(first.unwrap().status(), 200);
    let outcome = one.called("b", "1", here("pwd")).await;
    let there = other.directory.path().canonicalize().unwrap();
    assert_eq!(
        outcome["structured"]["output"],
        format!("{}\n", there.display())
    );
    let (status, refused) = read(stranger.put("b", "2", here("pwd")).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("host_unreachable"))
    );
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("certificate"), "{detail}");
    // The metrics say what came of the requests that were forwarded.
    for (member, line) in [
        (
            &one,
            "toolhost_requests_forwarded_total{answer=\"answered\"} 1",
        ),
        (
            &stranger,
            "toolhost_requests_forwarded_total{answer=\"host_unreachable\"} 1",
        ),
    ] {
        let metrics = member
            .request(Method::GET, "/metrics")
            .send()
            .await
            .unwrap();
        let metrics = metrics.text().await.unwrap();
        assert!(metrics.lines().any(|one| one == line), "{metrics}");
    }
}
