//! A command lowers the resource limits of its host with `prlimit`.

use super::*;

/// Calls a tool on a server, and returns its reply.
fn call(serving: &Serving, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let called = client()
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["call", tool, &arguments, "--server", &serving.url])
        .output()
        .unwrap();
    // A command that was killed is no success, and there is a reply all the same.
    assert_ne!(called.status.code(), Some(2), "{}", text(&called.stderr));
    json_of(&called)
}

fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

#[toolhost_needs::needs(program = "prlimit")]
#[test]
fn the_host_lives_on_and_says_so() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    // No sandbox lets a command reach the limits of others.
    command.env("TOOLHOST_SANDBOX", "off");
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let host = serving.child.id();
    let run = |command: &str| {
        let arguments = json!({ "command": command });
        let reply = call(&serving, "execute", &arguments);
        let output = reply["output"].as_str();
        output
            .unwrap_or_else(|| panic!("{reply}"))
            .trim()
            .to_owned()
    };
    let limits = run("ulimit -f; ulimit -n");
    // Every write to a file fails from here on, and raises a signal that ends a process: those of the journal, which comes
    // before anything else that a call does.
    assert_eq!(
        run(&format!("prlimit --pid {host} --fsize=0: && echo done")),
        "done"
    );
    assert_eq!(run("echo 1"), "1");
    // Commands get what the spawner has.
    for spawner in children(host) {
        let lower = format!("prlimit --pid {spawner} --fsize=0: --nofile=3: && echo done");
        assert_eq!(run(&lower), "done");
    }
    assert_eq!(run("ulimit -f; ulimit -n"), limits);
    // And begin with the default action of the signal.
    let exceeded = "(ulimit -f 0; exec sh -c 'echo x > file'); echo $?";
    assert_eq!(run(exceeded).lines().last(), Some("153"));
    // A hard limit, which only root can raise again. A call that changes something cannot be recorded, and is refused. Others go on, and
    // the host ends in order.
    let lower = format!("prlimit --pid {host} --fsize=0 && echo done");
    assert_eq!(run(&lower), "done");
    let refused = client()
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["call", "execute", r#"{"command":"true"}"#])
        .args(["--server", &serving.url])
        .output()
        .unwrap();
    let refused = text(&refused.stderr);
    assert!(refused.contains("the call was not started"), "{refused}");
    call(&serving, "process_list", &json!({}));
    assert!(serving.signal(nix::sys::signal::Signal::SIGTERM).success());
    let log = serving.rest();
    let lowered = "a resource limit of this host was lowered from outside";
    let line = log.lines().find(|line| line.contains(lowered));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert!(
        line.contains("resource=RLIMIT_FSIZE") && line.contains("to=0"),
        "{line}"
    );
}
