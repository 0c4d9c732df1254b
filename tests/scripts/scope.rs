//! A script reaches no more than its caller.

use std::time::Duration;

use super::*;
use toolhost_call::approval::Approval;

const TRY: &str = "
    const ends = {};
    for (const call of [() => tools.execute({ command: 'echo hi' }), () => tools.read_file({ path: 'a.txt' }), () => tools.run_script({ code: '1' })]) {
        try { await call(); ends[call] = 'ran' } catch (error) { ends[error.tool] = error.kind }
    }
    return [Object.values(ends), (await tools.list()).map(({ name }) => name)]";

#[tokio::test]
async fn a_token_bounds_the_tools_of_its_scripts() {
    let setup = with_scripts().await;
    std::fs::write(setup.root().join("a.txt"), "").unwrap();
    let bounded = Request {
        actor: actor("bounded").with_tools(["run_script", "read_file"].map(str::to_owned).into()),
        ..script(TRY)
    };
    let report = report(&setup.host, bounded).await;
    let expected = json!([["unknown_tool", "ran", "unknown_tool"], ["read_file"]]);
    assert_eq!(report["result"], expected, "{report}");
}

#[tokio::test]
async fn a_script_calls_no_script() {
    let setup = with_scripts().await;
    std::fs::write(setup.root().join("a.txt"), "").unwrap();
    let ends = result(&setup.host, TRY).await;
    assert_eq!(ends[0], json!(["ran", "ran", "unknown_tool"]), "{ends}");
    assert!(
        !ends[1].as_array().unwrap().contains(&json!("run_script")),
        "{ends}"
    );
}

#[tokio::test]
async fn processes_and_files_are_those_of_the_chat() {
    let setup = with_scripts().await;
    let start = "return (await tools.execute({ command: 'sleep 1000', run_in_background: true })).background_process_id";
    let mine = Request {
        chat: "mine".parse().unwrap(),
        ..script(start)
    };
    let started = report(&setup.host, mine).await;
    let process = started["result"].as_str().unwrap();
    let code =
        format!("return (await tools.process_output({{ process_id: '{process}' }})).success");
    let other = Request {
        chat: "other".parse().unwrap(),
        ..script(&code)
    };
    let seen = report(&setup.host, other).await;
    assert_eq!(seen["result"], false, "{seen}");
    let outside = result(&setup.host, "try { await tools.read_file({ path: '/etc/passwd' }); return 'read' } catch (error) { return error.kind }").await;
    assert_ne!(outside, "read");
}

#[tokio::test]
async fn a_refusal_of_the_hook_is_caught_and_its_delay_costs_no_computing_time() {
    // The hook lets one command wait for longer than the script may compute, and refuses another.
    let hook = r#"case "$(cat)" in
        *'/1"'*) sleep 3;;
        *forbidden*'"execute"'* | *'"execute"'*forbidden*) echo not that one; exit 1;;
    esac"#;
    let approval = Approval::command(
        "sh",
        vec!["-c".into(), hook.into()],
        Duration::from_secs(3600),
    )
    .unwrap();
    let setup = changed(|builder| builder.approval(approval)).await;
    let code = "
        const first = await tools.execute({ command: 'echo one' });
        const command = 'echo for' + 'bidden';
        try {
            await tools.execute({ command });
        } catch (error) {
            return [first.output, error.kind, error.message];
        }";
    let ends = result(&setup.host, code).await;
    assert_eq!(
        (&ends[0], &ends[1]),
        (&json!("one\n"), &json!("denied")),
        "{ends}"
    );
    assert!(ends[2].as_str().unwrap().contains("not that one"), "{ends}");
}
