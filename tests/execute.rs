//! The tools of the plugin `shell` through their component, on real processes. What they decide is tested beside their code; here is what
//! only the whole shows.

/// The cases of the plugin's own tests, through its component.
mod cases;
mod ordinary;
mod same_as_sh;
mod shell;
mod terminals;

use serde_json::{Value, json};

use toolhost_plugin::Limits;

use crate::guest::limited;
use crate::harness::{PATIENCE, Setup, UNTIL_IT_SLEEPS, is_alive, request, until, until_dead};

/// The fields of a reply that do not differ from run to run.
fn stable(mut reply: Value) -> Value {
    let fields = reply.as_object_mut().unwrap();
    fields
        .shift_remove("wall_duration_ms")
        .expect("it is always there");
    // That of this machine.
    let shell = fields.shift_remove("shell").expect("it is always there");
    assert!(shell == "bash" || shell == "sh", "{shell}");
    let id = fields
        .get("background_process_id")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let text = reply.to_string();
    serde_json::from_str(&id.map_or(text.clone(), |id| text.replace(&id, "ID"))).unwrap()
}

#[tokio::test]
async fn replies() {
    let setup = Setup::new().await;
    let snapshot = async |name: &str, arguments: Value| {
        insta::assert_json_snapshot!(name, stable(setup.call("execute", arguments).await));
    };
    snapshot("exited", json!({ "command": "echo hello; echo err >&2" })).await;
    snapshot("exit_code", json!({ "command": "exit 3" })).await;
    snapshot("killed", json!({ "command": "kill -9 $$" })).await;
    snapshot(
        "timed_out",
        json!({ "command": "exec sleep 1000", "timeout": "200ms" }),
    )
    .await;
    snapshot(
        "trailing_ampersand",
        json!({ "command": "exec sleep 1000 &" }),
    )
    .await;
    snapshot(
        "missing_workdir",
        json!({ "command": "true", "workdir": "/no/such/place" }),
    )
    .await;
    setup.host.shutdown().await;
}

/// Calls that wait for their command take no place that is scarce.
#[tokio::test]
async fn a_hundred_commands_are_waited_for_at_once() {
    const CALLS: usize = 100;
    let setup = Setup::new().await;
    let gate = setup.root().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Open for reading as well: neither this nor any command waits for another to open it.
    let mut opened = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&gate)
        .unwrap();
    let calls = (0..CALLS).map(|number| {
        let arguments = json!({ "command": "read line < gate", "timeout": "1h" });
        let request = request(&format!("chat-{}", number % 10), "execute", &arguments);
        let host = setup.host.clone();
        tokio::spawn(async move { host.call(request).await })
    });
    let calls: Vec<_> = calls.collect();
    until("all calls run", || {
        let refused = calls.iter().any(tokio::task::JoinHandle::is_finished);
        assert!(!refused, "a call has ended");
        (setup.host.running_calls() == CALLS).then_some(())
    })
    .await;
    // Each command takes one line.
    std::io::Write::write_all(&mut opened, &[b'\n'; CALLS]).unwrap();
    for call in calls {
        let outcome = call.await.unwrap().unwrap();
        let reply = outcome.result.as_ref().unwrap();
        let reply: Value = serde_json::from_str(reply.structured().unwrap().get()).unwrap();
        assert_eq!(reply["success"], true, "{reply}");
    }
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_survivor_is_reported_and_can_be_signalled() {
    let setup = Setup::new().await;
    let command = format!("sleep 1000 & {UNTIL_IT_SLEEPS}; echo hi");
    let reply = setup.execute(&command).await;
    assert_eq!(
        (&reply["success"], &reply["output"], &reply["exit_code"]),
        (&json!(true), &json!("hi\n"), &json!(0))
    );
    assert_eq!(reply["status"], "lingering");
    assert_eq!(reply["survivors"][0]["command"], "sleep 1000");
    let pid = u32::try_from(reply["survivors"][0]["pid"].as_u64().unwrap()).unwrap();
    assert!(is_alive(pid));
    let id = &reply["background_process_id"];
    let signalled = setup
        .call(
            "process_signal",
            json!({ "process_id": id, "signal": "kill" }),
        )
        .await;
    assert_eq!(signalled["success"], true);
    until_dead(pid).await;
}

#[tokio::test]
async fn a_background_process_from_start_to_end() {
    let setup = Setup::new().await;
    let command = "echo started; echo $$ > pid; exec sleep 1000";
    let started = setup
        .call(
            "execute",
            json!({ "command": command, "run_in_background": true }),
        )
        .await;
    let id = started["background_process_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let listed = setup.call("process_list", json!({})).await;
    assert_eq!(
        (&listed["total"], &listed["processes"][0]["id"]),
        (&json!(1), &json!(id))
    );
    assert_eq!(listed["processes"][0]["running"], true);
    let output = setup
        .call(
            "process_output",
            json!({ "process_id": id, "wait_timeout": "0s" }),
        )
        .await;
    assert_eq!(
        (&output["success"], &output["running"], &output["output"]),
        (&json!(true), &json!(true), &json!("started\n"))
    );
    let signal = json!({ "process_id": id, "signal": "terminate" });
    let signalled = setup.call("process_signal", signal.clone()).await;
    assert_eq!(
        signalled["message"],
        format!("signal \"terminate\" sent to process {id}")
    );
    let ended = setup
        .call(
            "process_output",
            json!({ "process_id": id, "wait_timeout": "60s" }),
        )
        .await;
    assert_eq!(
        (&ended["exit_code"], &ended["signal"], &ended["cause"]),
        (&json!(-1), &json!("SIGTERM"), &json!("signalled"))
    );
    assert!(!is_alive(pid));
    let again = setup.call("process_signal", signal).await;
    assert_eq!(
        (&again["success"], &again["already_exited"]),
        (&json!(true), &json!(true))
    );
}

#[tokio::test]
async fn other_chats_see_nothing() {
    let setup = Setup::new().await;
    let started = setup
        .call(
            "execute",
            json!({ "command": "exec sleep 1000", "run_in_background": true }),
        )
        .await;
    let id = &started["background_process_id"];
    for (tool, arguments) in [
        (
            "process_output",
            json!({ "process_id": id, "wait_timeout": "0s" }),
        ),
        (
            "process_signal",
            json!({ "process_id": id, "signal": "kill" }),
        ),
    ] {
        let outcome = setup
            .host
            .call(request("other", tool, &arguments))
            .await
            .unwrap();
        let shown = serde_json::to_value(outcome.as_ref()).unwrap().to_string();
        assert!(
            shown.contains("not found") && !shown.contains("sleep"),
            "{shown}"
        );
    }
    let listed = setup
        .host
        .call(request("other", "process_list", &json!({})))
        .await
        .unwrap();
    let listed = serde_json::to_value(listed.as_ref()).unwrap();
    assert_eq!(listed["structured"]["processes"], json!([]));
    setup.host.shutdown().await;
}

#[tokio::test]
async fn argument_errors_carry_the_texts_of_the_reference() {
    let setup = Setup::new().await;
    for (tool, arguments, text) in [
        ("execute", json!({}), "command is required"),
        ("execute", json!({ "command": "" }), "command is required"),
        (
            "execute",
            json!({ "command": "true", "timeout": "soon" }),
            "invalid timeout \"soon\": ",
        ),
        (
            "execute",
            json!({ "command": "true", "colour": "red" }),
            "colour",
        ),
        ("process_output", json!({}), "process_id is required"),
        (
            "process_output",
            json!({ "process_id": "x", "wait_timeout": "soon" }),
            "invalid wait_timeout \"soon\": ",
        ),
        (
            "process_signal",
            json!({ "process_id": "x", "signal": "SIGFOO" }),
            "signal must be \"terminate\" or \"kill\"",
        ),
    ] {
        let outcome = setup.outcome(tool, arguments.clone()).await;
        let error = outcome
            .result
            .as_ref()
            .expect_err("the arguments are wrong");
        assert!(error.message.contains(text), "{tool} {arguments}: {error}");
    }
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let setup = Setup::new().await;
    let reply = setup.execute("seq 1 100000").await;
    let output = reply["output"].as_str().unwrap();
    assert!(
        output.len() <= 32 * 1024
            && output.starts_with("1\n2\n")
            && output.ends_with("\n99999\n100000\n")
    );
    let truncated = &reply["truncated"];
    assert_eq!(truncated["original_bytes"], 588_895);
    let omitted = truncated["omitted_bytes"].as_u64().unwrap();
    assert!(output.contains(&format!("... [omitted {omitted} bytes] ...")));
    assert_eq!(
        truncated["retained_bytes"].as_u64().unwrap() + omitted,
        588_895
    );
}

#[tokio::test]
async fn a_cancelled_call_replies_with_what_it_has_and_takes_its_process_with_it() {
    // However long the machine takes to give the guest its turn.
    let limits = Limits {
        cancel_grace: PATIENCE,
        ..Limits::default()
    };
    let shell = limited("patient", limits);
    let setup = Setup::with(|builder| {
        let builder = builder.without_shell();
        builder.plugin(toolhost_artifacts::SHELL, shell)
    })
    .await;
    let command =
        json!({ "command": "echo partial; echo $$ > pid; exec sleep 1000", "timeout": "1h" });
    let request = request("chat", "execute", &command);
    let mut running = Box::pin(setup.host.call(request));
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    setup.host.shutdown().await;
    let outcome = serde_json::to_value(running.await.unwrap().as_ref()).unwrap();
    assert_eq!(outcome["state"], "cancelled");
    assert_eq!(outcome["structured"]["output"], "partial\n");
    assert_eq!(outcome["structured"]["cancelled"], true);
    until("its process is gone", || (!is_alive(pid)).then_some(())).await;
}

#[tokio::test]
async fn a_wait_that_the_host_bounds_is_no_timeout() {
    let setup = Setup::with(|builder| builder.max_wait(std::time::Duration::from_millis(50))).await;
    let reply = setup
        .call(
            "execute",
            json!({ "command": "exec sleep 1000", "timeout": "1h" }),
        )
        .await;
    assert_eq!(
        (&reply["status"], &reply["running"]),
        (&json!("running"), &json!(true))
    );
    assert!(reply.get("timed_out").is_none(), "{reply}");
    assert!(
        reply["note"].as_str().unwrap().contains("process_output"),
        "{reply}"
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_long_command_does_not_come_back_whole() {
    let setup = Setup::new().await;
    let reply = setup
        .execute(&format!("echo hi # {}", "x".repeat(100_000)))
        .await;
    assert_eq!(reply["output"], "hi\n");
    assert!(reply["command"].as_str().unwrap().len() < 3000);
    // Longer than an argument can be, so the shell reads it from a file.
    let reply = setup
        .execute(&format!(
            "echo $0 $#; ls /proc/self/fd | wc -l # {}",
            "x".repeat(300_000)
        ))
        .await;
    let output = reply["output"].as_str().unwrap();
    assert!(["bash 0\n4\n", "sh 0\n4\n"].contains(&output), "{output}");
    for _ in 0..10 {
        setup
            .execute(&format!("true # {}", "x".repeat(120_000)))
            .await;
    }
    assert_eq!(
        setup.call("process_list", json!({})).await["processes"]
            .as_array()
            .unwrap()
            .len(),
        10
    );
}

/// The reference's rows `TruncateOutput` that are too long for the table of cases.
#[tokio::test]
async fn outputs_around_the_cap_are_what_they_were_or_fit() {
    let setup = Setup::new().await;
    let repeat = |byte: char, count: usize| format!("head -c {count} /dev/zero | tr '\\0' {byte}");
    for (command, expected) in [
        (repeat('a', 32_768), Some("a".repeat(32_768))),
        (repeat('b', 33_792), None),
        (format!("{}; printf ☃", repeat('x', 32_767)), None),
        (
            format!("{}; printf ☃", repeat('x', 32_765)),
            Some("x".repeat(32_765) + "☃"),
        ),
    ] {
        let reply = setup.execute(&command).await;
        let output = reply["output"].as_str().unwrap();
        assert!(output.len() <= 32_768, "{command}: {}", output.len());
        assert_eq!(
            reply["truncated"].is_null(),
            expected.is_some(),
            "{command}"
        );
        if let Some(expected) = expected {
            assert_eq!(output, expected);
        }
    }
    setup.host.shutdown().await;
}

/// Whatever an output looks like, rendering it takes little of a guest's memory: here it has no more.
#[tokio::test]
async fn three_mebibytes_are_enough_to_render() {
    let limits = Limits {
        memory: 3 << 20,
        ..Limits::default()
    };
    let setup = Setup::with(|builder| {
        let shell = toolhost_artifacts::SHELL;
        builder
            .without_shell()
            .plugin(shell, limited("small", limits))
    })
    .await;
    for command in [
        "seq 1 100000",
        r"seq -f 'X%gY' 50000 | sed 's/X/\x1b[1;32m/; s/Y/\x1b[0m/'",
        r"seq -f '%g of 50000' 50000 | tr '\n' '\r'",
        "seq -s ' ' 100000 | tr -d '\\n'",
        r"seq -f 'x%gy' 60000 | tr 'xy\n' '\033\010\033'",
        r"yes '\377' | tr '\\' x | head -c 300000",
        "head -c 300000 /dev/zero | tr '\\0' '\\n'",
        "head -c 3000000 /dev/zero",
    ] {
        let reply = setup.execute(command).await;
        assert_eq!(reply["exit_code"], 0, "{command}: {reply}");
        let again = json!({ "process_id": reply["background_process_id"], "since": 0, "max_bytes": 131_072 });
        if reply["background_process_id"].is_string() {
            let page = setup.call("process_output", again).await;
            assert_eq!(page["success"], true, "{command}: {page}");
        }
    }
    setup.host.shutdown().await;
}
