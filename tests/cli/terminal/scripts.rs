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

/// Returns the script for a shell.
fn script(shell: &str) -> String {
    let script = run(&["completions", shell]);
    assert_eq!(script.status.code(), Some(0), "{}", text(&script.stderr));
    for command in COMMANDS {
        assert!(text(&script.stdout).contains(command), "{shell}: {command}");
    }
    text(&script.stdout).to_owned()
}

#[needs(program = "bash")]
#[test]
fn bash_completes_commands_and_flags() {
    // The help of this command lists no flag --workspace.
    let ask = "for flag in --fo --w; do COMP_WORDS=(toolhost logs $flag); COMP_CWORD=2; _toolhost toolhost $flag logs; \
               echo \"[${COMPREPLY[@]}]\"; done";
    let mut child = Command::new("bash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all = [&script("bash"), ask].join("\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(all.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "[--follow]\n[]\n");
}

/// This shell completes what is typed at a terminal, and nothing else.
#[needs(program = "zsh")]
#[test]
fn zsh_completes_commands_and_flags() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("_toolhost"), script("zsh")).unwrap();
    let mut shell = Command::new("zsh");
    shell
        .args(["-f", "-i"])
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("PS1", "ready> ")
        .current_dir(home.path());
    let mut terminal = Terminal::start(&shell, 80, 24);
    terminal.until_shown("ready>");
    terminal.press("fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; echo load''ed\n");
    terminal.until_shown("\nloaded");
    terminal.press("toolhost att\t");
    terminal.until_shown("toolhost attach ");
    // Clears the line.
    terminal.press("\u{15}toolhost logs --fo\t");
    terminal.until_shown("toolhost logs --follow");
}

#[needs(program = "fish")]
#[test]
fn fish_completes_commands_and_flags() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("toolhost.fish");
    std::fs::write(&file, script("fish")).unwrap();
    let ask = "source toolhost.fish; complete --do-complete 'toolhost att'; complete --do-complete 'toolhost logs --fo'; \
               complete --do-complete 'toolhost logs --w'";
    let output = Command::new("fish")
        .args(["--no-config", "-c", ask])
        .env("HOME", home.path())
        .current_dir(home.path())
        .output()
        .unwrap();
    let names = text(&output.stdout).lines();
    let names: Vec<_> = names.filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["attach", "--follow"], "{}", text(&output.stderr));
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
    // The pages of `help` would repeat the others.
    let written = std::fs::read_dir(&pages).unwrap();
    let mut names = written.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(|name| name.contains("-help")), None);
    assert!(!page("toolhost").contains("toolhost\\-help"));
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
