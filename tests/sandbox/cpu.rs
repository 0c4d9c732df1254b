//! Attacks on the processors: guests that compute for ever, wherever they can.

use std::time::Duration;

use serde_json::json;
use toolhost_call::tool::ErrorKind;
use toolhost_plugin::Limits;

use super::contained::{End, contained, load_error};
use super::host_of;
use crate::harness::{Server, call, request};

#[tokio::test]
async fn endless_loop() {
    contained("endless_loop").await;
}

#[tokio::test]
async fn float_loop() {
    contained("float_loop").await;
}

#[tokio::test]
async fn tail_calls() {
    contained("tail_calls").await;
}

#[tokio::test]
async fn loop_in_realloc() {
    contained("loop_in_realloc").await;
}

#[tokio::test]
async fn loop_in_post_return() {
    contained("loop_in_post_return").await;
}

#[tokio::test]
async fn loop_in_destructor() {
    contained("loop_in_destructor").await;
}

/// One instruction takes as long as some 10,000 others, and does not keep the host from looking at its clock.
#[tokio::test]
async fn bulk_memory() {
    contained("bulk_memory").await;
}

#[tokio::test]
async fn bulk_memory_in_a_row() {
    contained("bulk_memory_in_a_row").await;
}

#[tokio::test]
async fn bulk_table() {
    contained("bulk_table").await;
}

#[tokio::test]
async fn loop_in_list_tools() {
    load_error("loop_in_list_tools").await;
}

#[tokio::test]
async fn loop_in_start() {
    load_error("loop_in_start").await;
}

#[tokio::test]
async fn loop_in_initialize() {
    load_error("loop_in_initialize").await;
}

/// The loop runs beside ten calls at a time. How long those take is measured by `cargo bench`, not asserted: here they must all
/// succeed while it runs, which they could not if it held a thread that they need.
#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_leave_room_for_others() {
    let loops = std::thread::available_parallelism().unwrap().get() * 2;
    // So much guest time that the loops cannot have ended when the others are done.
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        cancel_grace: Duration::from_millis(50),
        ..Limits::default()
    };
    let setup = host_of(&["endless_loop", "well_behaved"], limits).await;
    let looping: Vec<_> = (0..loops)
        .map(|_| {
            tokio::spawn({
                let host = setup.host.clone();
                async move {
                    host.call(request("loops", "endless_loop__t", &json!({})))
                        .await
                        .unwrap()
                }
            })
        })
        .collect();
    for _ in 0..20 {
        let ten = (0..10).map(|_| {
            call(
                &setup.host,
                request("others", "well_behaved__t", &json!({})),
            )
        });
        for outcome in futures_util::future::join_all(ten).await {
            assert!(!outcome.unwrap().is_error());
        }
    }
    assert!(looping.iter().all(|task| !task.is_finished()));
    // Shutdown cancels them; a loop cannot reply, so it is dropped after the grace.
    setup.host.shutdown().await;
    for task in looping {
        let outcome = task.await.unwrap();
        assert_eq!(
            outcome.result.as_ref().unwrap_err().kind,
            ErrorKind::Cancelled
        );
    }
}

#[tokio::test]
async fn a_deadline_ends_a_guest_that_has_guest_time_left() {
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        deadline: Duration::from_millis(100),
        ..Limits::default()
    };
    let setup = host_of(&["endless_loop"], limits).await;
    let outcome = setup.outcome("t", json!({})).await;
    End::Limit("deadline of 100 ms reached").assert(&outcome);
    // Its place is free again.
    let again = setup.outcome("t", json!({})).await;
    assert_eq!(again.result.as_ref().unwrap_err().kind, ErrorKind::Limit);
}

/// All of them have ended at their limit when the last answer of the server is there, and it answered all the while. How fast
/// it does is measured by `cargo bench --bench hostile`.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_while_24_guests_loop() {
    const LOOPS: usize = 24;
    let limits = Limits {
        guest_time: Duration::from_millis(20),
        calls_per_chat: LOOPS,
        ..Limits::default()
    };
    let setup = host_of(&["endless_loop"], limits).await;
    let server = Server::start(setup.host.clone()).await;
    let looping: Vec<_> = (0..LOOPS)
        .map(|_| {
            let host = setup.host.clone();
            tokio::spawn(async move { call(&host, request("loops", "t", &json!({}))).await })
        })
        .collect();
    let mut answers = 0;
    while answers == 0 || !looping.iter().all(|task| task.is_finished()) {
        let response = server.request(reqwest::Method::GET, "/healthz").send();
        assert!(response.await.unwrap().status().is_success());
        answers += 1;
    }
    for task in looping {
        let outcome = task.await.unwrap().unwrap();
        End::Limit("guest time limit of 20 ms reached").assert(&outcome);
    }
    server.stop().await;
}

#[tokio::test]
async fn as_many_calls_as_there_are_places() {
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        concurrent_calls: 2,
        cancel_grace: Duration::from_millis(50),
        ..Limits::default()
    };
    let setup = host_of(&["endless_loop"], limits).await;
    let requests: Vec<_> = (0..3).map(|_| request("chat", "t", &json!({}))).collect();
    let mut running: Vec<_> = requests
        .iter()
        .take(2)
        .map(|request| Box::pin(setup.host.call(request.clone())))
        .collect();
    for call in &mut running {
        assert!(futures_util::poll!(call).is_pending());
    }
    let refused = setup.host.call(requests[2].clone()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "limit of 2 calls of the plugin at the same time reached; try again later"
    );
    // A repeat of a running call needs no place: it attaches.
    let repeat = setup.host.call(requests[0].clone());
    let mut repeat = Box::pin(repeat);
    assert!(futures_util::poll!(repeat.as_mut()).is_pending());
    setup.host.shutdown().await;
    assert_eq!(
        repeat.await.unwrap().result.as_ref().unwrap_err().kind,
        ErrorKind::Cancelled
    );
}
