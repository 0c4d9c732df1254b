//! The shell of commands: bash does what agents write for it, and `sh` says that it does not know it.

use serde_json::{Value, json};
use toolhost_core::Host;
use toolhost_local::process::Config;
use toolhost_needs::needs;
use toolhost_workspace::process::Shell;

use crate::harness::{Setup, shared_code, shared_state, spawner, without_namespaces};

/// A host whose commands run in this shell.
async fn in_shell(shell: Option<Shell>) -> Setup {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("env"), "X=sourced\n").unwrap();
    let config = Config {
        shell,
        spawner: Some(spawner()),
        sandbox: without_namespaces(),
        ..Config::new(workspace.path())
    };
    let builder = Host::builder(workspace.path())
        .state_dir(shared_state("state"))
        .shared_code(shared_code().join("toolhost"))
        .processes(config);
    Setup::of(builder.start().await.unwrap(), workspace)
}

/// Commands with what bash prints. The third is whether `sh` fails; it prints something else in any case.
const OF_BASH: &[(&str, &str, bool)] = &[
    ("false | true; echo ${PIPESTATUS[0]}", "1\n", true),
    ("mkdir -p lib/{a,b}; cd lib; echo *", "a b\n", false),
    ("echo -e 'a\\tb'", "a\tb\n", false),
    ("source ./env; echo $X", "sourced\n", false),
    ("[[ a == a ]] && echo same", "same\n", true),
    ("x=(a b c); echo ${x[1]} ${#x[@]}", "b 3\n", true),
    ("cat <(echo a) <(echo b)", "a\nb\n", true),
    ("cat <<< word", "word\n", true),
    ("x=abc; echo ${x:1:1} ${x/b/B} ${x^^}", "b aBc ABC\n", true),
    (
        "for ((i = 0; i < 3; i++)); do echo -n $i; done",
        "012",
        true,
    ),
    ("ls nothing &> out; wc -l < out", "1\n", false),
    ("echo $'it\\'s'", "it's\n", true),
    ("ls /nothing |& grep -c nothing", "1\n", true),
];

#[needs(program = "bash", program = "dash")]
#[tokio::test]
async fn bash_runs_what_sh_does_not_know() {
    let [bash, sh] = [in_shell(None).await, in_shell(Some(Shell::Sh)).await];
    for (command, printed, fails) in OF_BASH {
        let reply = bash.execute(command).await;
        let expected = json!(["bash", 0, printed]);
        assert_eq!(
            json!([reply["shell"], reply["exit_code"], reply["output"]]),
            expected
        );
        let reply = sh.execute(command).await;
        assert_eq!(reply["shell"], "sh", "{command}");
        assert_ne!(reply["output"], *printed, "{command}");
        assert!(!fails || reply["success"] == false, "{reply}");
    }
    for setup in [bash, sh] {
        setup.host.shutdown().await;
    }
}

#[needs(program = "bash")]
#[tokio::test]
async fn the_description_names_the_shell() {
    for (wish, name) in [(Some(Shell::Bash), "bash"), (Some(Shell::Sh), "sh (POSIX)")] {
        let setup = in_shell(wish).await;
        let tools = setup.host.tools();
        let execute = tools.iter().find(|tool| tool.name == "execute").unwrap();
        let says = format!("Runs in {name}, without a terminal");
        assert!(
            execute.description.contains(&says),
            "{}",
            execute.description
        );
        assert!(
            !execute.description.contains("{{"),
            "{}",
            execute.description
        );
        setup.host.shutdown().await;
    }
}

/// Bash is not in its POSIX mode, and a command that its arguments must not show is a script to it.
#[needs(program = "bash", program = "pgrep")]
#[tokio::test]
async fn bash_runs_a_script_as_it_runs_an_argument() {
    let setup = in_shell(Some(Shell::Bash)).await;
    let long = format!("# {}\n", "x".repeat(200_000));
    for before in [
        "",
        "pkill -f no_such_server; ",
        "pgrep -f no_such_server; ",
        &long,
    ] {
        let command = "shopt -qo posix || echo bash; x=(a b); echo ${x[1]}";
        let reply = setup.execute(&format!("{before}{command}")).await;
        assert_eq!(reply["output"], "bash\nb\n");
        // The descriptor of the script is closed.
        let reply = setup.execute(&format!("{before}{command} <&9")).await;
        let output = reply["output"].as_str().unwrap();
        assert!(output.contains("9: Bad file descriptor"), "{output}");
    }
    setup.host.shutdown().await;
}

/// The errors of a command whose shell runs a script do not name the script, and say no more than those of another.
#[needs(program = "pgrep")]
#[tokio::test]
async fn errors_name_the_shell() {
    for (shell, name) in [(Some(Shell::Sh), "sh: 1: "), (None, ": line 1: ")] {
        let setup = in_shell(shell).await;
        let plain = setup.execute("./missing").await;
        // Another `sh` than dash says it otherwise.
        if !plain["output"].as_str().unwrap().contains(name) {
            continue;
        }
        let script = setup.execute("pgrep -f no_such; ./missing").await;
        let output = script["output"].as_str().unwrap();
        assert_eq!(output.replace("eval: ", ""), plain["output"]);
        assert_eq!(script["note"], plain["note"]);
        setup.host.shutdown().await;
    }
}

/// The lexer knows the shell that runs: to `sh`, the first `&` ends a command that others follow.
#[needs(program = "bash", program = "dash")]
#[tokio::test]
async fn a_trailing_ampersand_is_that_of_the_shell() {
    for (shell, promoted) in [(Shell::Bash, true), (Shell::Sh, false)] {
        let setup = in_shell(Some(shell)).await;
        let reply = setup.execute("exec sleep 1000 &> out &").await;
        assert_eq!(reply["backgrounded"], promoted, "{reply}");
        let id = &reply["background_process_id"];
        let end = json!({ "process_id": id, "signal": "kill" });
        let signalled = setup.call("process_signal", end).await;
        assert_eq!(signalled["success"], true, "{signalled}");
        setup.host.shutdown().await;
    }
}

/// Asks until the command ends within the time for which it is looked at: on a busy machine, that may be over first.
#[tokio::test]
async fn a_background_command_that_ends_at_once_is_told() {
    let setup = Setup::new().await;
    loop {
        let reply = setup.execute("nosuchprogram --serve &").await;
        if reply["status"] == "running" {
            assert!(reply["background_process_id"].is_string(), "{reply}");
            continue;
        }
        assert_eq!(
            (
                &reply["success"],
                &reply["exit_code"],
                &reply["backgrounded"]
            ),
            (&json!(false), &json!(127), &json!(true))
        );
        assert!(
            reply["output"].as_str().unwrap().contains("not found"),
            "{reply}"
        );
        assert!(
            reply["note"]
                .as_str()
                .unwrap()
                .contains("has ended already"),
            "{reply}"
        );
        assert_eq!(reply["background_process_id"], Value::Null);
        break;
    }
    setup.host.shutdown().await;
}
