//! `--shell`, and the variables with which bash would read files first.

use toolhost_needs::needs;

use super::*;

/// Calls `execute` with this command, these flags, and these variables, in which `@` is a home.
fn execute(command: &str, flags: &[&str], variables: &[(&str, &str)]) -> Value {
    let workspace = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("start"), "echo start\n").unwrap();
    std::fs::write(home.path().join(".bashrc"), "echo bashrc\n").unwrap();
    let at = |value: &str| value.replace('@', home.path().to_str().unwrap());
    let variables = variables.iter().map(|(name, value)| (name, at(value)));
    let output = toolhost(workspace.path())
        .envs(variables)
        .args(["call", "execute"])
        .arg(json!({ "command": command }).to_string())
        .args(flags)
        .output()
        .unwrap();
    json_of(&output)
}

#[needs(program = "bash")]
#[test]
fn the_flag_and_the_variable_choose_the_shell() {
    for (flags, variables, shell) in [
        (&[][..], &[][..], "bash"),
        (&["--shell", "auto"], &[], "bash"),
        (&["--shell", "bash"], &[("TOOLHOST_SHELL", "sh")], "bash"),
        (&["--shell", "sh"], &[], "sh"),
        (&[], &[("TOOLHOST_SHELL", "sh")], "sh"),
    ] {
        let reply = execute("echo $0", flags, variables);
        assert_eq!(reply["shell"], shell);
        assert_eq!(reply["output"], format!("{shell}\n"));
    }
}

/// Bash reads the file of BASH_ENV before any script, and that of the home if it takes itself for the shell of a login.
#[needs(program = "bash")]
#[test]
fn bash_reads_no_file_unless_the_operator_says_so() {
    let variables = [
        ("BASH_ENV", "@/start"),
        ("ENV", "@/start"),
        ("SSH_CLIENT", "192.0.2.1 1 22"),
        ("HOME", "@"),
    ];
    for command in ["echo x", "pgrep -V >/dev/null; echo x"] {
        let reply = execute(
            command,
            &["--env", "SSH_CLIENT", "--sandbox", "off"],
            &variables,
        );
        assert_eq!(reply["output"], "x\n");
        let reply = execute(
            command,
            &["--env", "BASH_ENV", "--sandbox", "off"],
            &variables,
        );
        assert_eq!(reply["output"], "start\nx\n");
    }
}

/// Runs the program where no bash can be executed.
#[needs(namespaces, program = "unshare", program = "bash")]
#[test]
fn without_bash_it_is_sh_or_an_error() {
    const HIDE: &str =
        "for bash in $(which -a bash); do mount --bind /dev/null $bash || exit; done; exec \"$@\"";
    let workspace = tempfile::tempdir().unwrap();
    let run = |shell: &str| {
        let program = toolhost(workspace.path());
        let mut hidden = Command::new("unshare");
        hidden.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            HIDE,
            "sh",
        ]);
        hidden.arg(program.get_program()).args(program.get_args());
        let set = program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        hidden.env_clear().envs(set).current_dir(workspace.path());
        hidden.args([
            "call",
            "execute",
            r#"{"command":"echo $0"}"#,
            "--sandbox",
            "off",
        ]);
        hidden.args(["--shell", shell]).output().unwrap()
    };
    let reply = json_of(&run("auto"));
    assert_eq!(
        (&reply["shell"], &reply["output"]),
        (&json!("sh"), &json!("sh\n"))
    );
    let refused = run("bash");
    assert_eq!(refused.status.code(), Some(2));
    let error = text(&refused.stderr);
    assert!(
        error.contains("commands cannot run in bash") && error.contains("--shell auto"),
        "{error}"
    );
}
