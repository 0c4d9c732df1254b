//! Completions and manual pages, and the flag for JSON.

use toolhost_needs::needs;

use super::*;

const COMMANDS: [&str; 9] = [
    "ps",
    "logs",
    "attach",
    "kill",
    "cancel",
    "top",
    "chats",
    "completions",
    "man",
];

/// A script that a shell reads without running it.
fn is_read_by(shell: &str, arguments: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let script = run(&["completions", shell]);
    assert_eq!(script.status.code(), Some(0), "{}", text(&script.stderr));
    for command in COMMANDS {
        assert!(text(&script.stdout).contains(command), "{shell}: {command}");
    }
    let path = directory.path().join("script");
    std::fs::write(&path, &script.stdout).unwrap();
    let output = Command::new(shell)
        .args(arguments)
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[needs(program = "bash")]
#[test]
fn bash_completes_commands_and_flags() {
    is_read_by("bash", &["-n"]);
    let script = run(&["completions", "bash"]);
    let ask = "COMP_WORDS=(toolhost logs --fo); COMP_CWORD=2; _toolhost toolhost --fo logs; echo \"${COMPREPLY[@]}\"";
    let mut child = Command::new("bash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all = [text(&script.stdout), ask].join("\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(all.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "--follow\n");
}

#[needs(program = "zsh")]
#[test]
fn zsh_reads_its_completions() {
    is_read_by("zsh", &["-n"]);
}

#[needs(program = "fish")]
#[test]
fn fish_reads_its_completions() {
    is_read_by("fish", &["--no-execute"]);
}

#[test]
fn other_shells_are_refused() {
    let output = run(&["completions", "csh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("bash, zsh, fish"),
        "{output:?}"
    );
}

#[test]
fn each_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("share/man1");
    let output = run(&["man", pages.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = |name: &str| std::fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
    assert!(page("toolhost").contains("toolhost\\-ps(1)"));
    for command in COMMANDS {
        let page = page(&format!("toolhost-{command}"));
        assert!(
            page.starts_with(".ie") && page.contains("Examples:"),
            "{command}: {page}"
        );
    }
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = run(&["man", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("cannot write manual pages"),
        "{refused:?}"
    );
}

/// A flag that changes nothing is an error, wherever it stands.
#[test]
fn commands_without_json_refuse_the_flag() {
    for arguments in [
        &["serve", "--json"][..],
        &["--json", "serve"],
        &["plugin", "--json", "dev"],
        &["sandbox", "run", "--json", "true"],
        &["completions", "bash", "--json"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&output.stderr).contains("--json has no effect on `toolhost"),
            "{output:?}"
        );
    }
    for arguments in [&["--json", "doctor"][..], &["sandbox", "--json", "explain"]] {
        json_of(&run(arguments));
    }
}
