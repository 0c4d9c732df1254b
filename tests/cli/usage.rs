//! Help, bad usage, and the list of tools.

use super::*;

#[test]
fn bad_usage_is_one_line_and_exits_with_2() {
    for (arguments, message) in [
        (
            &["call", "execute", "{"][..],
            "toolhost: the arguments are not valid JSON: ",
        ),
        (
            &["call", "execute", "[]"],
            "toolhost: the arguments must be a JSON object, not an array",
        ),
        (
            &["call", "nope"],
            "toolhost: there is no tool \"nope\"; the tools are execute, process_output, process_input, process_list, process_signal",
        ),
        (
            &["call", "execute", "--server", "ftp://x"],
            "toolhost: \"ftp://x\" cannot be reached",
        ),
        (
            &["call", "execute", "--server", "http://127.0.0.1:1"],
            "toolhost: a server needs a token",
        ),
        (
            &["tools", "--workspace", "/no/such/place"],
            "toolhost: the workspace /no/such/place cannot be used: No such file or directory; name a directory with --workspace",
        ),
        (
            &["tools", "--state-dir", "/dev/null"],
            "toolhost: the state directory /dev/null cannot be used",
        ),
    ] {
        let output = match arguments.contains(&"--server") {
            true => client().args(arguments).output().unwrap(),
            false => run(arguments),
        };
        let stderr = text(&output.stderr);
        assert!(
            stderr.starts_with(message) && stderr.lines().count() == 1,
            "{arguments:?}: {stderr}"
        );
        let parts: Vec<_> = stderr.trim().split(": ").collect();
        let each_once = |part| parts.iter().filter(|other| *other == part).count() == 1;
        assert!(parts.iter().all(each_once), "said twice: {stderr}");
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments:?}"
        );
    }
    for arguments in [
        &[][..],
        &["nope"],
        &["call"],
        &["call", "execute", "--chat", "a b"],
        &["tools", "--format", "x"],
    ] {
        let output = run(arguments);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_tool_for_some_models_is_listed_in_their_formats_or_by_name() {
    let lists = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("apply_patch")
    };
    assert!(lists(&["tools", "--format", "openai"]));
    assert!(lists(&[
        "tools",
        "--format",
        "openai-responses",
        "--strict"
    ]));
    assert!(!lists(&["tools", "--format", "anthropic"]));
    assert!(!lists(&["tools"]));
    assert!(lists(&[
        "tools",
        "--format",
        "mcp",
        "--tools",
        "read_file,apply_patch"
    ]));
    assert!(lists(&["tools", "--tools", "apply_*"]));
}

#[test]
fn tools_are_printed_for_each_provider() {
    let output = run(&["tools", "--format", "anthropic"]);
    let tools: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tools[0]["name"], "execute");
    assert!(tools[0]["input_schema"]["properties"]["command"].is_object());
}

#[test]
fn tools_beyond_a_budget_are_found() {
    let list = |arguments: &[&str]| {
        let output = run(&[&["tools", "--format", "anthropic"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let tools: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    // The embedded tools are within the budget, and offered beyond it as well.
    let direct = list(&[]);
    assert_eq!(list(&["--tool-mode", "search"]), direct);
    let beyond = ["--tool-mode", "search", "--tool-budget", "0"];
    assert_eq!(list(&beyond), direct);
    let few = list(&[&beyond[..], &["--tools-always", "read_file"]].concat());
    assert_eq!(few, ["read_file", "find_tools"]);
    let found = run(&["call", "find_tools", "query=select:execute"]);
    let found = json_of(&found);
    assert_eq!(found["tools"][0]["name"], "execute", "{found}");
    let output = run(&["tools", "--chat", "c"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("name the server with --server"));
}

#[test]
fn help_names_every_command() {
    let output = run(&["--help"]);
    let help = text(&output.stdout);
    assert!(
        [
            "call",
            "tools",
            "serve",
            "agent",
            "--workspace",
            "--state-dir",
            "--log"
        ]
        .iter()
        .all(|word| help.contains(word)),
        "{help}"
    );
    assert_eq!(output.status.code(), Some(0));
}
