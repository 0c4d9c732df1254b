//! The configuration file as defaults for flags.

use super::*;

/// What a one-shot call says of the directory it ran in, and whether it was let in.
fn directory(state: &Path, arguments: &[&str], variable: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    if let Some(path) = variable {
        command.env("TOOLHOST_WORKSPACE", path);
    }
    command.arg("--state-dir").arg(state).args(arguments);
    command
        .args(["call", "execute", r#"{"command":"pwd -P"}"#])
        .output()
        .unwrap()
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for name in ["file", "variable", "flag"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let config = root.join("toolhost.toml");
    std::fs::write(&config, "max_live = 2\n[workspace]\ndir = 'file'\n").unwrap();
    let config = config.to_str().unwrap();
    let state = shared_state("cli");
    let ran_in = |arguments: &[&str], variable: Option<&Path>| {
        let output = directory(&state, arguments, variable);
        let reply = json_of(&output);
        reply["output"].as_str().unwrap().trim_end().to_owned()
    };
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    assert_eq!(ran_in(&["--config", config], None), at("file"));
    let variable = root.join("variable");
    assert_eq!(
        ran_in(&["--config", config], Some(&variable)),
        at("variable")
    );
    let flag = at("flag");
    let both = ["--config", config, "--workspace", &flag];
    assert_eq!(ran_in(&both, Some(&variable)), flag);
}

#[test]
fn a_configuration_that_is_not_valid_ends_the_program() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("toolhost.toml");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = run(&["--config", path.to_str().unwrap(), "tools"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        super::text(&output.stderr)
            .trim_end()
            .replace(base.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(refused("lissten = 'x'"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: lissten: there is no such key; did you mean "listen"?"#);
    insta::assert_snapshot!(refused("log = ['a']"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: log: it must be a text in quotes, such as "warn,toolhost=info""#);
    insta::assert_snapshot!(refused("config = 'x'"), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: config: there is no such key; the keys are the long flags of `toolhost serve --help`, with `_` for `-`, and plugin_dir, [workspace], [sandbox], [plugins.NAME], [tokens.NAME], [workspaces], [store], [cluster] and [webhooks.NAME]");
    insta::assert_snapshot!(refused("[workspace]\nroot = '.'"), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 1: workspace.root: there is no such key; [workspace] has one, `dir`");
    insta::assert_snapshot!(refused("log = true"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: log: it must be a text in quotes, such as "warn,toolhost=info""#);
    insta::assert_snapshot!(refused("log_format = 'xml'"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: log_format: "xml" is not valid; it must be one of text, json"#);
    insta::assert_snapshot!(refused("sandbox = 'off'"), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: sandbox: write it as a section [sandbox] with the key `mode`");
    insta::assert_snapshot!(refused("[sandbox]\nmodes = 'off'"), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 1: sandbox.modes: there is no such key; [sandbox] has limits, mode, nested, network, never, no_namespaces, protect, read, required, socket, write");
    insta::assert_snapshot!(refused("[sandbox]\nmode = 'on'"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 1: sandbox.mode: "on" is no mode of the sandbox: write "workspace", "read-only" or "off""#);
    insta::assert_snapshot!(refused("[sandbox]\nlimits = { ram = '1GiB' }"), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 12: sandbox.limits.ram: there is no such limit; there are memory, processes, file_size, cpu");
    insta::assert_snapshot!(refused("[sandbox]\nlimits = { processes = 'many' }"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 12: sandbox.limits.processes: "many" is not valid: invalid digit found in string; for no limit, write none"#);
    insta::assert_snapshot!(refused("sandbox_network = 'none'"), @r#"toolhost: the configuration DIR/toolhost.toml is not valid: line 1, column 1: sandbox_network: there is no such key; did you mean "sandbox"?"#);
    // What is wrong with one plugin is said, and the others work.
    std::fs::write(&path, "[plugins.a]\n").unwrap();
    let output = run(&["--config", path.to_str().unwrap(), "tools"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.contains("is missing"), "{said}");
    // What another subcommand takes is no error of this one.
    std::fs::write(&path, "listen = '127.0.0.1:1'\nagent_api = true\n").unwrap();
    let output = run(&["--config", path.to_str().unwrap(), "tools"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_component_can_be_named_on_the_command_line() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("Hello-World.wasm");
    std::fs::write(&path, crate::guest::guest("well_behaved")).unwrap();
    let output = run(&["call", "--plugin", path.to_str().unwrap(), "t"]);
    assert_eq!(
        text(&output.stdout).trim(),
        r#"{"content":[{"type":"text","text":"hello"}]}"#
    );
    let named = format!("x={}", path.display());
    let output = run(&["tools", "--plugin", &named]);
    let tools: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = tools["tools"].as_array().unwrap().iter();
    let found = found.find(|tool| tool["name"] == "t").unwrap();
    assert_eq!(found["plugin"], "x");
}

/// The section of the sandbox is what its flags are.
#[test]
fn the_sandbox_is_a_section() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("toolhost.toml");
    std::fs::write(
        &path,
        "[sandbox]\nmode = 'read-only'\nnetwork = 'none'\nread = ['data']\nlimits = { processes = 7, cpu = '5s' }\n",
    )
    .unwrap();
    let explain = |arguments: &[&str]| {
        let config = [
            "--config",
            path.to_str().unwrap(),
            "sandbox",
            "explain",
            "--json",
        ];
        let output = run(&[&config, arguments].concat());
        super::json_of(&output)
    };
    let explained = explain(&[]);
    let policy = &explained["policy"];
    assert_eq!(policy["mode"], "read-only");
    assert_eq!(policy["network"], "none");
    assert_eq!(
        policy["read"][0],
        base.path().join("data").to_str().unwrap()
    );
    assert_eq!(policy["limits"]["processes"], 7);
    assert_eq!(policy["limits"]["cpu"], "5s");
    // Commands do not read the file that says what they may do.
    assert!(
        explained["closed"]
            .as_array()
            .unwrap()
            .contains(&path.to_str().unwrap().into())
    );
    let policy = &explain(&["--sandbox", "workspace"])["policy"];
    assert_eq!(policy["mode"], "workspace", "a flag wins");
    assert_eq!(policy["network"], "none");
}
