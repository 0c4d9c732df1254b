//! The abilities of a script.

use super::*;

#[tokio::test]
async fn a_script_calls_tools_and_returns_its_answer() {
    let setup = with_scripts().await;
    for (name, lines) in [("a.txt", "one\ntwo\n"), ("b.txt", "three\n")] {
        std::fs::write(setup.root().join(name), lines).unwrap();
    }
    let code = "
        const files = (await tools.execute({ command: 'ls' })).output.trim().split('\\n');
        const lines = await Promise.all(files.map(async (path: string) => {
            const { total_lines } = await tools.read_file({ path });
            return [path, total_lines] as const;
        }));
        console.log('read', lines.length, 'files');
        return Object.fromEntries(lines);";
    let report = report(&setup.host, script(code)).await;
    assert_eq!(
        report["result"],
        json!({ "a.txt": 2, "b.txt": 1 }),
        "{report}"
    );
    assert_eq!(
        (&report["output"], &report["calls"]),
        (&json!("read 2 files\n"), &json!(3))
    );
}

#[tokio::test]
async fn the_first_example_of_the_page_gives_what_the_page_says() {
    const PAGE: &str = include_str!("../../docs/code-mode.md");
    let (_, example) = PAGE.split_once("toolhost call run_script code='").unwrap();
    let (code, _) = example.split_once("'\n").unwrap();
    let setup = with_scripts().await;
    let result = result(&setup.host, code).await;
    assert!(
        PAGE.contains(&format!("The reply has `\"result\": {result}`")),
        "{result}"
    );
    assert_eq!(result, 3);
}

#[tokio::test]
async fn failures_of_tools_can_be_caught() {
    let setup = with_scripts().await;
    let code = "
        const errors = [];
        for (const call of [() => tools.read_file({ path: 'none' }), () => tools.execute({}), () => tools.nothing()]) {
            try { await call() } catch (error) { errors.push([error.name, error.kind, error.tool]) }
        }
        return errors;";
    let expected = json!([
        ["ToolError", "failed", "read_file"],
        ["ToolError", "invalid_arguments", "execute"],
        ["ToolError", "unknown_tool", "nothing"],
    ]);
    assert_eq!(result(&setup.host, code).await, expected);
}

#[tokio::test]
async fn an_error_names_its_place() {
    let setup = with_scripts().await;
    let code = "const path = 'none';\n  await tools.read_file({ path });";
    let report = report(&setup.host, script(code)).await;
    let error = &report["error"];
    assert_eq!(
        (&error["line"], &error["source"]),
        (&json!(2), &json!("await tools.read_file({ path });")),
        "{report}"
    );
    assert_eq!(error["message"], "file does not exist: none");
}

#[tokio::test]
async fn a_script_waits_for_a_process() {
    let setup = with_scripts().await;
    let code = "
        const { background_process_id: process_id } = await tools.execute({
            command: 'while [ ! -e go ]; do sleep 0.01; done; echo done', run_in_background: true,
        });
        await tools.write_file({ path: 'go', content: '' });
        for (;;) {
            const { running, output } = await tools.process_output({ process_id });
            if (!running) return output;
            await sleep(5);
        }";
    assert_eq!(result(&setup.host, code).await, "done\n");
}

#[tokio::test]
async fn waiting_costs_no_computing_time() {
    let setup = with_scripts().await;
    // The limit is 2 s of computing.
    let code =
        "await Promise.all([sleep(2200), tools.execute({ command: 'sleep 2.2' })]); return 1";
    assert_eq!(result(&setup.host, code).await, 1);
}

#[tokio::test]
async fn a_library_makes_tools_of_scripts() {
    let count = "/**\n * Counts the lines of a file.\n * @readonly\n * @input {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}}, \"required\": [\"path\"]}\n */\nreturn (await tools.read_file({ path: input.path })).total_lines";
    let write = "/** Promises to change nothing.\n * @readonly */\nreturn await tools.write_file({ path: 'a', content: '' })";
    let setup = with_library(&json!({ "count_lines": count, "write": write })).await;
    std::fs::write(setup.root().join("a.txt"), "one\ntwo\n").unwrap();
    let counted = setup.call("count_lines", json!({ "path": "a.txt" })).await;
    assert_eq!(counted["result"], 2, "{counted}");
    let refused = setup.outcome("count_lines", json!({})).await;
    assert!(
        format!("{:?}", refused.result).contains("`path` is missing"),
        "{refused:?}"
    );
    let denied = setup.call("write", json!({})).await;
    assert_eq!(denied["error"]["kind"], "denied", "{denied}");
}

#[tokio::test]
async fn a_wrong_script_of_a_library_is_left_out_alone() {
    let setup = with_library(&json!({
        "bad": "return 1",
        "broken": "/** A. */ return (",
        "unreadable": { "problem": "it is too long" },
        "run_script": "/** Another. */ return 1",
        "good": "/** Returns two. */ return 2",
    }))
    .await;
    assert_eq!(setup.call("good", json!({})).await["result"], 2);
    assert_eq!(result(&setup.host, "return 1").await, 1);
    let scripts = setup.host.plugins().into_iter();
    let tools = scripts.filter(|plugin| plugin.name == "script");
    let tools: Vec<_> = tools.flat_map(|plugin| plugin.tools).collect();
    assert_eq!(tools, ["run_script", "good"]);
}

#[tokio::test]
async fn edits_that_a_script_sends_at_once_are_all_made() {
    const CODE: &str = "
        const lines = [0, 1, 2, 3, 4, 5, 6, 7];
        await tools.write_file({ path: 'f', content: lines.map((line) => `old ${line};\\n`).join('') });
        await Promise.all(lines.map((line) => tools.edit_files({
            files: [{ path: 'f', edits: [{ old_text: `old ${line};`, new_text: `new ${line};` }] }],
        })));";
    let setup = with_scripts().await;
    result(&setup.host, CODE).await;
    let expected: String = (0..8).map(|line| format!("new {line};\n")).collect();
    let content = std::fs::read_to_string(setup.root().join("f")).unwrap();
    assert_eq!(content, expected);
}
