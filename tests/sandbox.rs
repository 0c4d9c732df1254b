//! Hostile guests: each is held by its limit, says which, and disturbs nobody.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost::plugin::{Engine, Limits, LoadError, Plugin};
use toolhost::tool::{ErrorKind, ToolError};
use toolhost::{FilesGrant, Host, StartError};

use crate::guest::{guest, limited, options};
use crate::harness::{self, Setup, call, request};

/// A host with these guests, and nothing else. The tool of the guest `x` is `x__t`, unless it is the only one.
async fn host_of(guests: &[&str], limits: Limits) -> Setup {
    Setup::with(|mut builder| {
        builder = builder.without_shell().files(FilesGrant::None);
        for name in guests {
            builder = builder.plugin(guest(name), limited(name, limits.clone()));
        }
        builder
    })
    .await
}

/// The error of a call of the only tool of a guest.
async fn error_of(name: &str) -> ToolError {
    let setup = host_of(&[name], Limits::default()).await;
    let outcome = setup.outcome("t", json!({})).await;
    outcome
        .result
        .clone()
        .expect_err("the guest must not get through")
}

/// Loads a guest that must not load, and returns why.
async fn load_error(name: &str) -> LoadError {
    let engine = Engine::new(None).unwrap();
    Plugin::load(&engine, &guest(name), options(name))
        .await
        .expect_err("the guest must not load")
}

fn assert_limit(error: &ToolError, text: &str) {
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    assert_eq!(error.message, format!("the tool was stopped: {text}"));
}

#[tokio::test]
async fn well_behaved() {
    let setup = host_of(&["well_behaved"], Limits::default()).await;
    let outcome = setup.outcome("t", json!({})).await;
    let shown = serde_json::to_value(outcome.as_ref()).unwrap();
    assert_eq!(
        shown["content"],
        json!([{ "type": "text", "text": "hello" }])
    );
    assert_eq!(shown["state"], "finished");
}

#[tokio::test]
async fn endless_loop() {
    assert_limit(
        &error_of("endless_loop").await,
        "guest time limit of 2000 ms reached",
    );
}

#[tokio::test]
async fn host_call_loop() {
    assert_limit(
        &error_of("host_call_loop").await,
        "guest time limit of 2000 ms reached",
    );
}

/// The host does the work on threads of its own, and the guest is charged for it.
#[tokio::test]
async fn file_search_loop() {
    let setup = host_of(&["file_search_loop"], Limits::default()).await;
    let line = "x".repeat(63) + "\n";
    std::fs::write(setup.root().join("hello"), line.repeat(1 << 18)).unwrap();
    let outcome = call(&setup.host, request("chat", "t", &json!({})))
        .await
        .unwrap();
    let error = outcome.result.as_ref().unwrap_err();
    assert_limit(error, "guest time limit of 2000 ms reached");
    setup.host.shutdown().await;
}

/// The loop runs beside ten calls at a time. What those take is measured by `cargo bench`, not asserted: here they must all
/// succeed while it runs, which they could not if it held a thread that they need.
#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_leave_room_for_others() {
    let loops = std::thread::available_parallelism().unwrap().get() * 2;
    // So much guest time that the loops cannot have ended when the others are done.
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
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
    assert_limit(
        outcome.result.as_ref().unwrap_err(),
        "deadline of 100 ms reached",
    );
    // Its place is free again.
    let again = setup.outcome("t", json!({})).await;
    assert_eq!(again.result.as_ref().unwrap_err().kind, ErrorKind::Limit);
}

#[tokio::test]
async fn memory_bomb() {
    assert_limit(
        &error_of("memory_bomb").await,
        "memory limit of 64 MiB reached",
    );
}

#[tokio::test]
async fn memory_at_once() {
    assert_limit(
        &error_of("memory_at_once").await,
        "memory limit of 64 MiB reached",
    );
}

#[tokio::test]
async fn table_bomb() {
    assert_limit(
        &error_of("table_bomb").await,
        "limit of 100000 table elements reached",
    );
}

#[tokio::test]
async fn deep_recursion() {
    assert_limit(
        &error_of("deep_recursion").await,
        "stack limit of 512 KiB reached",
    );
}

#[tokio::test]
async fn handle_hoard() {
    assert_limit(
        &error_of("handle_hoard").await,
        "limit of 1000 handles reached",
    );
}

#[tokio::test]
async fn giant_reply() {
    assert_limit(
        &error_of("giant_reply").await,
        "reply limit of 1 MiB reached: it has 2097216 bytes",
    );
}

#[tokio::test]
async fn endless_reply() {
    assert_limit(
        &error_of("endless_reply").await,
        "limit of 8 MiB of data for one call into the host reached",
    );
}

#[tokio::test]
async fn reply_out_of_bounds() {
    let error = error_of("reply_out_of_bounds").await;
    assert_eq!(error.kind, ErrorKind::Broken, "{error}");
}

#[tokio::test]
async fn reply_not_json() {
    let error = error_of("reply_not_json").await;
    assert!(
        error.kind == ErrorKind::Broken && error.message.contains("JSON that is not valid"),
        "{error}"
    );
}

#[tokio::test]
async fn trap() {
    let error = error_of("trap").await;
    assert_eq!(error.kind, ErrorKind::Broken, "{error}");
    assert!(error.message.contains("unreachable"), "{error}");
}

#[tokio::test]
async fn forged_handle() {
    let error = error_of("forged_handle").await;
    assert!(
        error.kind == ErrorKind::Broken && error.message.contains("handle"),
        "{error}"
    );
}

#[tokio::test]
async fn log_flood() {
    let setup = host_of(&["log_flood"], Limits::default()).await;
    let lines = harness::logged(async {
        assert!(!setup.outcome("t", json!({})).await.is_error());
    })
    .await;
    let flood: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("flood "))
        .collect();
    // 64 KiB in lines of 1,000 bytes and one for each end.
    assert_eq!(flood.len(), 65);
    assert!(lines.contains("the rest was left out"), "{lines}");
    assert!(
        !lines.contains('\u{1b}'),
        "an escape sequence reached the log"
    );
}

#[tokio::test]
async fn stdout_printer() {
    let setup = host_of(&["stdout_printer"], Limits::default()).await;
    let lines = harness::logged(async {
        let outcome = setup.outcome("t", json!({})).await;
        assert!(!outcome.is_error(), "{outcome:?}");
        let content = &serde_json::to_value(outcome.as_ref()).unwrap()["content"];
        assert_eq!(content, &json!([{ "type": "text", "text": "hello" }]));
    })
    .await;
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains("jsonrpc"))
            .count(),
        1000
    );
}

#[tokio::test]
async fn orphan_maker() {
    let setup = host_of(&["orphan_maker"], Limits::default()).await;
    let outcome = setup.outcome("t", json!({})).await;
    assert_eq!(outcome.result.as_ref().unwrap_err().kind, ErrorKind::Broken);
    assert_eq!(
        outcome.processes.len(),
        1,
        "the caller learns of the process"
    );
    // It was ended with the call, so shutdown finds nothing to end once it is gone.
    let begun = Instant::now();
    let cmdline = "sleep\x001000\0";
    harness::until("the orphan is gone", || {
        let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let ours =
                std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == setup.root());
            ours && std::fs::read_to_string(entry.path().join("cmdline"))
                .is_ok_and(|line| line == cmdline)
        });
        (!alive).then_some(())
    })
    .await;
    assert!(begun.elapsed() < harness::PATIENCE);
}

#[tokio::test]
async fn process_user() {
    let engine = Engine::new(None).unwrap();
    let without = toolhost::Options::new("curious");
    let error = Plugin::load(&engine, &guest("process_user"), without)
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @r#"the plugin imports toolhost:plugin/processes@0.1.0, which it was not granted: to grant it, put `grants = { processes = "own" }` into [plugins.curious]. `processes` lets it run any command as the user of the host, and see and signal those of the calling chat"#);
    let granted = host_of(&["process_user"], Limits::default()).await;
    assert!(!granted.outcome("t", json!({})).await.is_error());
}

#[tokio::test]
async fn core_module() {
    insta::assert_snapshot!(load_error("core_module").await, @"this is a core module, not a component: in Rust build for the target wasm32-wasip2; in Python use componentize-py, in JavaScript `jco componentize`; in C turn the module into a component with `wasm-tools component new`");
}

#[tokio::test]
async fn wrong_export() {
    insta::assert_snapshot!(load_error("wrong_export").await, @"the component does not export toolhost:plugin/tools@0.1.0, so it is no plugin: it exports run; build it against a world of toolhost:plugin");
}

#[tokio::test]
async fn other_version() {
    insta::assert_snapshot!(load_error("other_version").await, @"the plugin names toolhost:plugin/tools@0.2.0, and this host speaks version 0.1 of the contract: use a newer Toolhost, or build the plugin against 0.1");
}

#[tokio::test]
async fn wrong_type() {
    let error = load_error("wrong_type").await;
    assert!(matches!(error, LoadError::Mismatch(_)), "{error}");
}

#[tokio::test]
async fn unknown_import() {
    insta::assert_snapshot!(load_error("unknown_import").await, @"the plugin imports evil:corp/backdoor@1.0.0, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else");
}

#[tokio::test]
async fn trap_in_list_tools() {
    let error = load_error("trap_in_list_tools").await.to_string();
    assert!(
        error.starts_with("the plugin did not list its tools: the tool is broken: "),
        "{error}"
    );
}

#[tokio::test]
async fn loop_in_list_tools() {
    insta::assert_snapshot!(load_error("loop_in_list_tools").await, @"the plugin did not list its tools: the tool was stopped: guest time limit of 2000 ms reached");
}

#[tokio::test]
async fn bytes_that_are_no_component() {
    let engine = Engine::new(None).unwrap();
    for bytes in [&b""[..], b"hello", b"\0asm", b"\0asm\x0d\0\x01\0garbage"] {
        let error = Plugin::load(&engine, bytes, options("x"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, LoadError::NotAComponent(_)),
            "{bytes:?}: {error}"
        );
    }
    let limits = Limits {
        component: 10,
        ..Limits::default()
    };
    let error = Plugin::load(&engine, &[0; 11], limited("x", limits))
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @"the component has 11 bytes, the most is 10 bytes");
}

#[tokio::test]
async fn as_many_calls_as_there_are_places() {
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        concurrent_calls: 2,
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

#[tokio::test]
async fn two_plugins_of_one_name_do_not_start() {
    let workspace = tempfile::tempdir().unwrap();
    let host = Host::builder(workspace.path())
        .without_shell()
        .plugin(guest("well_behaved"), options("a"))
        .plugin(guest("trap"), options("a"))
        .start()
        .await;
    assert!(matches!(host.unwrap_err(), StartError::Duplicate(name) if name == "a"));
}

/// Two tools of one name are told apart by their plugins, and no name of a plugin's own choice can pose as such a name.
#[tokio::test]
async fn tools_of_one_name_are_told_apart() {
    let setup = host_of(&["well_behaved", "trap"], Limits::default()).await;
    let names: Vec<_> = setup
        .host
        .tools()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["well_behaved__t", "trap__t"]);
    assert!(!setup.outcome("well_behaved__t", json!({})).await.is_error());
    assert!(setup.outcome("trap__t", json!({})).await.is_error());
    let engine = Engine::new(None).unwrap();
    for name in ["a__b", "a_", "", "A"] {
        let error = Plugin::load(&engine, &guest("well_behaved"), options(name))
            .await
            .unwrap_err();
        assert!(matches!(error, LoadError::Name(_)), "{name}: {error}");
    }
}
