//! Calls run once: each row of the specification, over real connections.

use reqwest::StatusCode;

use super::*;

/// Sends a request without a body and returns status and body; no body is null.
async fn send(server: &Server, method: Method, path: &str) -> (u16, Value) {
    let response = server.request(method, path).send().await.unwrap();
    let status = response.status().as_u16();
    let body = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn cancel(server: &Server, chat: &str, call: &str) -> (u16, Value) {
    send(
        server,
        Method::DELETE,
        &format!("/v1/chats/{chat}/calls/{call}"),
    )
    .await
}

async fn look(server: &Server, chat: &str, call: &str) -> (u16, Value) {
    send(
        server,
        Method::GET,
        &format!("/v1/chats/{chat}/calls/{call}"),
    )
    .await
}

/// Begins a call whose command writes its pid and waits, and returns the reply to come and the pid.
async fn waiting<'a>(
    setup: &Setup,
    server: &'a Server,
    chat: &'a str,
    call: &'a str,
) -> (tokio::task::JoinHandle<(u16, Value)>, u32) {
    let path = format!("/v1/chats/{chat}/calls/{call}");
    let request = server.request(Method::PUT, &path).json(&execute(
        "echo begun; echo $$ > pid.new; mv pid.new pid; exec sleep 1000",
    ));
    let reply = tokio::spawn(async move {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    });
    let pid = setup.file("pid").await.trim().parse().unwrap();
    (reply, pid)
}

#[tokio::test]
async fn two_hundred_parallel_repeats_are_one_execution() {
    let (setup, server) = server().await;
    let body = execute("echo x >> counter; sleep 0.1; echo done");
    let callers = (0..200).map(|_| server.put("a", "1", body.clone()));
    let all = futures_util::future::join_all(callers).await;
    for answer in &all {
        assert_eq!(answer, &all[0]);
    }
    assert_eq!(all[0].0, 200, "{}", all[0].1);
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn without_an_id_every_request_runs() {
    let (setup, server) = server().await;
    for _ in 0..3 {
        let request = server.request(Method::POST, "/v1/chats/a/calls");
        let response = request
            .json(&execute("echo x >> counter"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
    assert_eq!(setup.file("counter").await, "x\nx\nx\n");
}

#[tokio::test]
async fn a_trap_is_saved_as_failed_and_runs_once() {
    let trap = guest("trap");
    let setup = Setup::with(|builder| builder.plugin(trap, options("trap"))).await;
    let server = Server::start(setup.host.clone()).await;
    let tool = setup
        .host
        .tools()
        .iter()
        .find(|tool| tool.plugin == "trap")
        .unwrap()
        .name
        .clone();
    let call = || server.put("a", "1", json!({ "tool": tool, "arguments": {} }));
    let first = call().await;
    assert_eq!((first.0, &first.1["state"]), (200, &json!("failed")));
    assert_eq!(call().await, first);
    let metrics = setup.host.metrics().text();
    assert!(
        metrics.contains("toolhost_plugin_traps_total{plugin=\"trap\"} 1"),
        "{metrics}"
    );
}

#[tokio::test]
async fn cancelling_a_call_that_runs_kills_its_process_and_everybody_gets_the_same() {
    let (setup, server) = server().await;
    let (reply, pid) = waiting(&setup, &server, "a", "1").await;
    let (status, running) = look(&server, "a", "1").await;
    assert_eq!((status, &running["state"]), (200, &json!("running")));
    let (status, cancelled) = cancel(&server, "a", "1").await;
    assert_eq!((status, &cancelled["state"]), (200, &json!("cancelled")));
    assert_eq!(cancelled["structured"]["output"], "begun\n");
    assert!(cancelled["duration_ms"].is_u64(), "it says how long it ran");
    assert!(!is_alive(pid));
    assert_eq!(reply.await.unwrap(), (200, cancelled.clone()));
    // It is not run again, and what it said can still be read.
    let (status, problem) = server.put("a", "1", execute("echo again")).await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(look(&server, "a", "1").await, (200, cancelled.clone()));
    assert_eq!(cancel(&server, "a", "1").await, (200, cancelled));
}

#[tokio::test]
async fn run_cancel_run_does_not_run_twice() {
    let (setup, server) = server().await;
    let body = execute("echo x >> counter");
    let (status, first) = server.put("a", "1", body.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(
        cancel(&server, "a", "1").await,
        (200, first),
        "it had ended"
    );
    let (status, problem) = server.put("a", "1", body).await;
    assert_eq!((status, &problem["code"]), (409, &json!("cancelled")));
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn cancelling_what_has_not_arrived_leaves_a_tombstone_in_its_chat() {
    let (setup, server) = server().await;
    assert_eq!(look(&server, "a", "1").await.0, 404);
    for _ in 0..2 {
        assert_eq!(cancel(&server, "a", "1").await, (204, Value::Null));
    }
    let body = execute("echo x >> counter");
    let (status, problem) = server.put("a", "1", body.clone()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("cancelled")));
    assert_eq!(look(&server, "b", "1").await.0, 404, "it is nobody else's");
    assert_eq!(server.put("b", "1", body).await.0, 200);
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn another_chat_cancels_nothing_here() {
    let (setup, server) = server().await;
    let (reply, pid) = waiting(&setup, &server, "a", "1").await;
    assert_eq!(cancel(&server, "b", "1").await, (204, Value::Null));
    assert!(is_alive(pid));
    let (status, problem) = server.put("b", "1", execute("echo x")).await;
    assert_eq!((status, &problem["code"]), (409, &json!("cancelled")));
    assert_eq!(look(&server, "b", "2").await.0, 404);
    assert_eq!(cancel(&server, "a", "1").await.0, 200);
    reply.await.unwrap();
}

#[tokio::test]
async fn background_processes_and_those_that_were_reported_outlive_a_cancellation() {
    let (setup, server) = server().await;
    let body = json!({ "tool": "execute", "arguments": {
        "command": "echo $$ > back.new; mv back.new back; exec sleep 1000", "run_in_background": true
    }});
    let (_, background) = server.put("a", "1", body).await;
    let body = json!({ "tool": "execute", "arguments": {
        "command": "echo $$ > slow.new; mv slow.new slow; exec sleep 1000", "timeout_ms": 50
    }});
    let (_, slow) = server.put("a", "2", body).await;
    assert_eq!(slow["structured"]["running"], json!(true), "{slow}");
    assert_eq!(cancel(&server, "a", "1").await, (200, background));
    assert_eq!(cancel(&server, "a", "2").await, (200, slow));
    for file in ["back", "slow"] {
        let pid = setup.file(file).await.trim().parse().unwrap();
        assert!(is_alive(pid), "{file}");
    }
    let (status, _) = send(&server, Method::DELETE, "/v1/chats/a").await;
    assert_eq!(status, 200);
    assert_eq!(setup.live().await, 0);
}

#[tokio::test]
async fn the_end_of_a_chat_cancels_its_calls() {
    let (setup, server) = server().await;
    let (reply, pid) = waiting(&setup, &server, "a", "1").await;
    let (status, ended) = send(&server, Method::DELETE, "/v1/chats/a").await;
    assert_eq!((status, ended["ended"].as_array().unwrap().len()), (200, 1));
    assert!(!is_alive(pid));
    let (status, body) = reply.await.unwrap();
    assert_eq!((status, &body["state"]), (200, &json!("cancelled")));
}

#[tokio::test]
async fn a_repeat_does_not_extend_the_deadline() {
    let sleeper = guest("endless_wait");
    let limited = toolhost_plugin::Limits {
        deadline: std::time::Duration::from_millis(1500),
        ..Default::default()
    };
    let options = toolhost_core::Options {
        limits: limited,
        ..options("endless_wait")
    };
    let setup = Setup::with(|builder| builder.plugin(sleeper, options)).await;
    let server = Server::start(setup.host.clone()).await;
    let tools = setup.host.tools();
    let tool = tools
        .iter()
        .find(|tool| tool.plugin == "endless_wait")
        .unwrap();
    let body = json!({ "tool": tool.name, "arguments": {} });
    // If repeats made it longer, there would be no end: one comes again and again before it could.
    let repeat = async {
        loop {
            let put = server.put("a", "1", body.clone());
            let before_its_end = std::time::Duration::from_millis(500);
            if let Ok(answer) = tokio::time::timeout(before_its_end, put).await {
                return answer;
            }
        }
    };
    let first = server.put("a", "1", body.clone());
    let both = futures_util::future::join(first, repeat);
    let (first, last) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(first, last);
    assert_eq!(first.1["state"], "failed", "{}", first.1);
    let duration = first.1["duration_ms"].as_u64().unwrap();
    assert!(duration >= 1500, "{duration}");
}

/// Makes a request until its answer is no 503.
async fn repeated(request: impl AsyncFn() -> (u16, Value)) -> (u16, Value) {
    loop {
        let answer = request().await;
        if answer.0 != 503 {
            return answer;
        }
        crate::harness::a_moment().await;
    }
}

/// Cancels calls at random moments of their start. None may leave a process.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_cancelled_while_it_starts_leaves_no_process() {
    const TRIES: u32 = 200;
    const AT_ONCE: u32 = 10;
    let (setup, server) = server().await;
    let (setup, server) = (&setup, &server);
    let chains = (0..AT_ONCE).map(|chain| async move {
        for turn in 0..TRIES / AT_ONCE {
            let number = chain * 1000 + turn;
            let id = format!("call_{number}");
            // Spread over 0 to 50 ms, in another order in each chain.
            let moment = (number * 7919) % 50_000;
            // On a busy machine, another host of a cluster may be out of reach for a moment. A client repeats the request then.
            let call =
                repeated(async || server.put("a", &id, execute("exec sleep 98765.4321")).await);
            let cancelling = async {
                tokio::time::sleep(std::time::Duration::from_micros(moment.into())).await;
                repeated(async || cancel(server, "a", &id).await).await
            };
            let ((status, body), (cancelled, _)) = tokio::join!(call, cancelling);
            match status {
                200 => assert_eq!((&body["state"], cancelled), (&json!("cancelled"), 200)),
                409 => assert_eq!((&body["code"], cancelled), (&json!("cancelled"), 204)),
                _ => panic!("{status} {body}"),
            }
        }
    });
    futures_util::future::join_all(chains).await;
    assert_eq!(setup.live().await, 0);
    let left: Vec<_> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.unwrap().path().join("cmdline")).ok())
        .filter(|line| line.windows(10).any(|window| window == b"98765.4321"))
        .collect();
    assert!(left.is_empty(), "{} are left", left.len());
}
