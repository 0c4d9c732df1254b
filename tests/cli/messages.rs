//! Error messages of the program: the attempt, the reason, and what to do.

use toolhost_needs::needs;

use super::*;

/// What a command line says with this exit code, with its directory as DIR.
fn said(code: i32, directory: &Path, command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = text(&output.stderr).replace(directory.to_str().unwrap(), "DIR");
    assert_eq!(output.status.code(), Some(code), "{said}");
    said.trim_end().to_owned()
}

fn refused(arguments: &[&str]) -> String {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = toolhost(workspace.path());
    said(2, workspace.path(), command.args(arguments))
}

#[test]
fn no_cause_is_said_twice() {
    insta::assert_snapshot!(refused(&["--config", "/nonexistent.toml", "tools"]), @"toolhost: the configuration /nonexistent.toml cannot be read: No such file or directory");
    insta::assert_snapshot!(refused(&["plugin", "inspect", "/none.wasm"]), @"toolhost: cannot read /none.wasm: No such file or directory");
    insta::assert_snapshot!(refused(&["serve", "--token-file", "/none.token", "--listen", "127.0.0.1:0"]), @"toolhost: the token file cannot be used: /none.token cannot be read: No such file or directory");
    insta::assert_snapshot!(refused(&["serve", "--tls-cert", "/none.pem", "--tls-key", "/none.pem"]), @"toolhost: the certificate /none.pem cannot be used: No such file or directory");
}

#[test]
fn an_address_in_use_is_said_with_the_flag_for_another() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refused(&["serve", "--listen", &address]).replace(&address, "ADDRESS");
    insta::assert_snapshot!(said, @"toolhost: cannot listen on ADDRESS: the address is in use, perhaps by a toolhost that runs already: `toolhost ps --server local` asks it; or choose another with --listen");
}

#[test]
fn a_pattern_that_can_match_no_tool_is_refused() {
    let said = refused(&["tools", "--tools-in-script", "read_file,*_file"]);
    assert!(
        said.contains("invalid value '*_file' for '--tools-in-script")
            && said.contains("write a name such as read_file, with * at most at its end"),
        "{said}"
    );
}

#[test]
fn a_number_below_its_range_is_a_value_and_no_flag() {
    let said = refused(&["call", "process_list", "--max-live", "-1"]);
    assert!(
        said.contains("invalid value '-1' for '--max-live"),
        "{said}"
    );
    let said = refused(&["call", "process_list", "--nice", "-1"]);
    assert!(said.contains("invalid value '-1' for '--nice"), "{said}");
}

#[test]
fn a_token_that_is_none_is_said_with_its_place() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let remote = ["tools", "--server", "http://127.0.0.1:1"];
    let mut command = client();
    let file = command.args(remote).arg("--token-file").arg(&path);
    insta::assert_snapshot!(said(2, directory.path(), file), @"toolhost: the token file DIR/token is empty: it should have the token of the server");
    let mut command = client();
    let variable = command.args(remote).env("TOOLHOST_TOKEN", "a b");
    insta::assert_snapshot!(said(2, directory.path(), variable), @"toolhost: the variable TOOLHOST_TOKEN has no token: a token is 1 to 4096 visible ASCII characters without spaces");
}

#[test]
fn a_plugin_that_was_named_and_does_not_load_ends_the_call() {
    let workspace = tempfile::tempdir().unwrap();
    let missing = workspace.path().join("missing.wasm");
    let mut command = toolhost(workspace.path());
    let command = command.args(["--log", "off", "call", "--plugin"]);
    let text = said(2, workspace.path(), command.arg(&missing).arg("forecast"));
    insta::assert_snapshot!(text);
    let text = refused(&[
        "--log",
        "off",
        "call",
        "--plugin",
        "/bin/ls",
        "process_list",
    ]);
    insta::assert_snapshot!(text);
}

/// One of the configuration is not what was asked for, but may be why a tool is missing.
#[test]
fn a_tool_that_is_missing_is_said_with_the_plugins_that_do_not_load() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("toolhost.toml");
    std::fs::write(&config, "[plugins.weather]\ncomponent = 'weather.wasm'\n").unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let call = |tool: &str| {
        let mut command = toolhost(workspace.path());
        command.args(["--log", "off", "--config"]).arg(&config);
        command.args(["call", tool]).output().unwrap()
    };
    let output = call("forecast");
    let stderr = text(&output.stderr).replace(directory.path().to_str().unwrap(), "DIR");
    assert_eq!(output.status.code(), Some(2));
    let last = "toolhost: there is no tool \"forecast\": the plugin weather does not load: ";
    assert!(stderr.lines().last().unwrap().starts_with(last), "{stderr}");
    assert_eq!(call("process_list").status.code(), Some(0));
}

#[test]
fn flags_that_a_server_would_not_see_are_refused() {
    let server = "unix:/nonexistent/socket";
    let call = |arguments: &[&str]| {
        let mut command = client();
        command.env("TOOLHOST_TOKEN", TOKEN).args(arguments);
        said(2, Path::new("/nonexistent/x"), &mut command)
    };
    insta::assert_snapshot!(call(&["--workspace", "/tmp", "call", "process_list", "--server", server]), @"toolhost: --workspace has no effect on a running server, which --server names: leave it out, or set it where that server is started");
    for (flag, value) in [
        ("--plugin", "x.wasm"),
        ("--files", "read"),
        ("--state-dir", "/tmp/x"),
        ("--max-live", "3"),
        ("--audit-dir", "/tmp/x"),
    ] {
        let mut command = client();
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["call", "process_list", "--server", server, flag, value]);
        let said = said(2, Path::new("/nonexistent/x"), &mut command);
        assert!(said.contains(&format!("{flag} has no effect")), "{said}");
    }
    for flag in ["--token-file", "--ca"] {
        let said = call(&["call", "process_list", flag, "/tmp/x"]);
        let expected = format!("{flag} has no effect without --server");
        assert!(said.contains(&expected), "{said}");
    }
    // A variable applies to calls that run here.
    let mut command = client();
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("TOOLHOST_WORKSPACE", "/tmp");
    command.args(["call", "process_list", "--server", server]);
    let said = said(2, Path::new("/nonexistent/x"), &mut command);
    assert!(said.contains("cannot reach"), "{said}");
}

#[test]
fn a_workspace_that_is_none_is_the_doctors_advice() {
    let workspace = tempfile::tempdir().unwrap();
    let output = toolhost(&workspace.path().join("none"))
        .arg("doctor")
        .output()
        .unwrap();
    let table = text(&output.stdout).replace(workspace.path().to_str().unwrap(), "DIR");
    assert_eq!(output.status.code(), Some(2), "{table}");
    assert!(
        table.contains("FAIL  workspace")
            && table.contains("--workspace")
            && !table.contains("/bin/sh"),
        "{table}"
    );
}

/// Some container runtimes and systemd units forbid the system call.
#[needs(program = "strace")]
#[test]
fn a_machine_without_openat2_is_the_doctors_failure() {
    let workspace = tempfile::tempdir().unwrap();
    let doctor = toolhost(workspace.path());
    for error in ["ENOSYS", "EPERM"] {
        let mut traced = Command::new("strace");
        let inject = format!("--inject=openat2:error={error}");
        traced.args(["-qq", "-o", "/dev/null", &inject]);
        traced.arg(doctor.get_program()).args(doctor.get_args());
        let variables = doctor.get_envs();
        let variables = variables.filter_map(|(name, value)| Some((name, value?)));
        traced.envs(variables).current_dir(workspace.path());
        let output = traced.arg("doctor").output().unwrap();
        let table = text(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{table}");
        assert!(
            table.contains("FAIL  kernel") && table.contains("RestrictSUIDSGID="),
            "{table}"
        );
    }
}

#[test]
fn what_the_operator_has_turned_off_is_turned_on_again_by_leaving_that_out() {
    let workspace = tempfile::tempdir().unwrap();
    let mut doctor = toolhost(workspace.path());
    let output = doctor.args(["doctor", "--sandbox-no-namespaces"]).output();
    let table = text(&output.unwrap().stdout).to_owned();
    let remedy = table.contains("a start without --sandbox-no-namespaces");
    assert!(remedy && !table.contains("userns"), "{table}");
}

/// One rule for scripts: what did not work exits with 1, whichever way the tool says so.
#[test]
fn what_did_not_work_exits_with_1() {
    for (tool, arguments, code) in [
        ("execute", r#"{"command":"true"}"#, 0),
        ("execute", r#"{"command":"exit 3"}"#, 1),
        (
            "execute",
            r#"{"command":"true","workdir":"/no/such/place"}"#,
            1,
        ),
        ("process_output", r#"{"process_id":"none"}"#, 1),
        ("read_file", r#"{"path":"none"}"#, 1),
    ] {
        let output = run(&["call", tool, arguments]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{tool} {arguments}: {}",
            text(&output.stdout)
        );
    }
}

#[test]
fn a_token_is_not_made_that_a_server_would_refuse() {
    for (scope, bound) in [
        ("admin", ["--tool", "execute"]),
        ("admin", ["--chats", "a-"]),
        ("agent", ["--chats", "a-"]),
    ] {
        let mut command = client();
        command
            .args(["token", "name", "--scope", scope])
            .args(bound);
        let said = said(2, Path::new("/nonexistent/x"), &mut command);
        let expected = format!(
            "with the scope {scope}, all chats and all tools can be reached: leave out --chats, --tool and --workspaces"
        );
        assert!(said.contains(&expected), "{said}");
    }
}

/// A relative workspace is as good for the doctor as for a call.
#[test]
fn the_doctor_takes_a_relative_workspace() {
    let base = tempfile::tempdir().unwrap();
    std::fs::create_dir(base.path().join("ws")).unwrap();
    let mut command = client();
    command
        .current_dir(base.path())
        .args(["--workspace", "ws", "--state-dir"])
        .arg(shared_state("cli"))
        .arg("doctor");
    let doctor = command.output().unwrap();
    assert_eq!(doctor.status.code(), Some(0), "{}", text(&doctor.stdout));
}

/// The doctor lists what a command sees.
#[test]
fn the_doctor_lists_every_variable_that_commands_see() {
    let workspace = tempfile::tempdir().unwrap();
    let program = || {
        let mut command = toolhost(workspace.path());
        command.env("LANG", "C").env("SECRET", "x");
        command
    };
    let doctor = program().args(["doctor", "--json"]).output().unwrap();
    let checks = json_of(&doctor)["checks"].clone();
    let mut checks = checks.as_array().unwrap().iter();
    let listed = checks.find(|check| check["name"] == "environment").unwrap()["text"].clone();
    let listed: std::collections::BTreeSet<_> = listed
        .as_str()
        .unwrap()
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.chars().all(|c| !c.is_ascii_lowercase()) && word.len() > 1)
        .filter(|word| word.parse::<u32>().is_err())
        .map(str::to_owned)
        .collect();
    let command = r#"{"command":"env -0 | cut -z -d= -f1 | tr '\\0' '\\n'"}"#;
    let seen = program()
        .args(["call", "execute", command])
        .output()
        .unwrap();
    let seen = json_of(&seen)["output"].as_str().unwrap().to_owned();
    // The shell sets these by itself.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let seen: std::collections::BTreeSet<_> = seen
        .lines()
        .filter(|name| !own.contains(name))
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, seen);
    assert!(seen.contains("LANG") && seen.contains("CODER_CHAT_AGENT") && !seen.contains("SECRET"));
}

/// What `ps` shows of the processes of a host.
#[test]
fn the_spawner_has_a_name() {
    let workspace = tempfile::tempdir().unwrap();
    let command =
        r#"{"command":"cat /proc/$PPID/comm; cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/comm"}"#;
    let output = toolhost(workspace.path())
        .args(["call", "execute", command])
        .output()
        .unwrap();
    assert_eq!(
        json_of(&output)["output"],
        "toolhost-super\ntoolhost-spawn\n"
    );
}
