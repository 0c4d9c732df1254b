//! What a model is told to do instead, by what a command said.

use super::*;

#[test]
fn names_what_a_refused_signal_was_meant_for() {
    let refused = FakeProcess::new("p")
        .prints("pkill: killing pid 42 failed: Operation not permitted\n")
        .exits(1);
    let mut processes = one(refused);
    for (id, command) in [
        ("a", "sleep 1"),
        ("b", "sleep 2"),
        ("c", "sleep 3"),
        ("server", "node web/server.js"),
    ] {
        processes = processes.has(FakeProcess::new(id), command);
    }
    let report = run_command(&processes, "pkill -f web/server.js");
    assert_snapshot!(report.note.unwrap(), @r#"A command can signal only the processes that it started itself. To end what an earlier command started, use process_signal with its process_id: "server" (node web/server.js), "c" (sleep 3), "b" (sleep 2), and 1 more in process_list."#);
}

#[test]
fn says_what_to_do_instead() {
    for (command, output, code, note) in [
        (
            "git config --global user.name a",
            "error: could not lock config file /h/.gitconfig: Read-only file system\n",
            255,
            Some(notes::OWN_CONFIGURATION),
        ),
        (
            "set -o pipefail",
            "sh: 1: set: Illegal option -o pipefail\n",
            2,
            Some(notes::BASH),
        ),
        (
            "read -p 'Name? ' x; echo",
            "Name? \n",
            0,
            Some(notes::NO_INPUT),
        ),
        (
            "git commit",
            "Author identity unknown\n\n*** Please tell me who you are.\n",
            128,
            Some(notes::IDENTITY),
        ),
        (
            "git commit",
            "Aborting commit due to empty commit message.\n",
            1,
            Some(notes::EDITOR),
        ),
        (
            "vim e.txt",
            "Vim: Warning: Output is not to a terminal\n",
            1,
            Some(notes::TERMINAL),
        ),
        ("cd src", "", 0, Some(notes::NEW_SHELL)),
        ("cd src", "sh: 1: cd: can't cd to src\n", 2, None),
        (
            "cat a.txt",
            "cat: a.txt: No such file or directory\n",
            1,
            None,
        ),
        ("cat /etc/hostname", "vm\n", 0, None),
        ("cat a.txt", "hello\n", 0, Some(notes::FILE_DUMP)),
    ] {
        let process = FakeProcess::new("p1").prints(output).exits(code);
        let report = run_command(&one(process).runs_in(Shell::Sh), command);
        assert_eq!(report.note.as_deref(), note, "{command}: {output}");
    }
}

#[test]
fn takes_no_error_of_bash_for_one_of_sh() {
    let output = "sh: 1: set: Illegal option -o pipefail\n";
    let process = FakeProcess::new("p1").prints(output).exits(2);
    assert_eq!(run_command(&one(process), "sh x.sh").note, None);
}
