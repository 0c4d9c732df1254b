//! Help: options by subject, and only those that concern a command.

use super::*;

fn help(arguments: &[&str]) -> String {
    let output = client()
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout).to_owned()
}

#[test]
fn options_stand_under_what_they_are_about() {
    let help = help(&["serve"]);
    let headings: Vec<_> = help
        .lines()
        .filter(|line| line.ends_with(':') && !line.starts_with(' '))
        .collect();
    insta::assert_debug_snapshot!(headings);
    assert!(help.contains("Examples:"), "{help}");
}

#[test]
fn a_command_lists_only_what_concerns_it() {
    for (command, others) in [
        (
            &["token"][..],
            &["--workspace ", "--state-dir", "--config", "--log "][..],
        ),
        (&["tools"], &["--workspace ", "--max-live"]),
        (&["config", "check"], &["--workspace ", "--max-live"]),
        (&["plugin", "list"], &["--workspace ", "--max-live"]),
    ] {
        let help = help(command);
        for other in others {
            assert!(!help.contains(other), "{command:?}: {other}: {help}");
        }
    }
    insta::assert_snapshot!(help(&["token"]));
}

#[test]
fn commands_for_authors_say_what_they_make_and_their_exit_codes() {
    for command in ["new", "build", "test", "wit"] {
        let help = help(&["plugin", command]);
        // Lines are cut at the width of the terminal.
        let words: Vec<_> = help.split_whitespace().collect();
        assert!(
            words.join(" ").contains("Exit codes: 0"),
            "{command}: {help}"
        );
        insta::assert_snapshot!(format!("plugin_{command}"), help);
    }
    insta::assert_snapshot!("plugin", help(&["plugin"]));
    for command in ["dev", "run"] {
        let help = help(&["plugin", command]);
        for listed in [
            "Examples:",
            "--workspace <DIR>",
            "--grant <GRANT>",
            "Exit codes: 0",
        ] {
            assert!(help.contains(listed), "{command}: {listed}: {help}");
        }
    }
}

#[test]
fn commands_stand_in_groups_and_fit_a_terminal() {
    let output = client().arg("-h").env("COLUMNS", "80").output().unwrap();
    let help = text(&output.stdout);
    let (commands, rest) = help.split_once("Options:").unwrap();
    for heading in [
        "Calls and processes:",
        "Servers:",
        "Plugins:",
        "Maintenance:",
    ] {
        assert!(commands.contains(heading), "{heading}: {help}");
    }
    assert!(commands.lines().all(|line| line.len() <= 80), "{help}");
    let (_, examples) = rest.split_once("Examples:\n").unwrap();
    let examples = examples
        .lines()
        .filter(|line| line.starts_with("  toolhost "));
    assert_eq!(examples.count(), 3, "{help}");
    let serve = client().args(["serve", "-h"]).output().unwrap();
    assert!(text(&serve.stdout).contains("Examples:\n  toolhost serve "));
}

#[test]
fn names_that_people_guess_lead_somewhere() {
    for (guess, named) in [
        ("status", "toolhost ps"),
        ("stop", "toolhost kill"),
        ("exec", "toolhost call"),
        ("run", "toolhost call"),
        ("login", "toolhost console"),
        ("setup", "toolhost init"),
        ("update", "toolhost upgrade --check"),
        ("health", "/readyz"),
        ("start", "toolhost serve"),
        ("list", "toolhost calls"),
    ] {
        let output = client().arg(guess).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("tip:") && said.contains(named), "{said}");
        assert!(!said.contains("similar"), "{said}");
    }
    // A slip of the fingers is told apart.
    let output = client().arg("serv").output().unwrap();
    assert!(text(&output.stderr).contains("'serve'"), "{output:?}");
}

/// Every flag that is a key of the configuration names its variable: the help is the only list of them.
#[test]
fn every_setting_names_its_variable() {
    // They concern one call, other files, or secrets, whose variables have values of another kind.
    const WITHOUT: [&str; 12] = [
        "help",
        "plugin",
        "grant",
        "setting",
        "secret",
        "token-file",
        "call",
        "text",
        "chat",
        "json",
        "version",
        "config",
    ];
    for command in ["serve", "agent", "mcp", "call"] {
        let help = help(&[command]);
        let flags: Vec<_> = help.split("\n      --").skip(1).collect();
        assert!(flags.len() > 30, "{command}: {help}");
        for flag in flags {
            let name = flag.split([' ', '[', '\n']).next().unwrap();
            let variable = name.to_uppercase().replace('-', "_");
            let names = flag.contains("[env: TOOLHOST_") && flag.contains(&format!("{variable}="));
            assert!(names || WITHOUT.contains(&name), "{command}: {flag}");
        }
    }
}
