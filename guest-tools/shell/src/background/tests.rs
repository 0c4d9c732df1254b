//! Tables of commands, and what is made of them.

mod errors;
mod forms;
mod generate;
mod measure;
mod properties;
mod shells;
mod trailing;

use super::{Ampersand, Shell};
use errors::{ERRORS, HARD};
use forms::{INTERIOR, NESTED, NONE};
use trailing::TRAILING;

/// Returns what the operators `&` of a command do in bash.
fn classify(command: &str) -> Ampersand {
    super::classify(command, Shell::Bash)
}

/// Returns the command without its trailing `&` in bash.
fn promote(command: &str) -> Option<String> {
    super::promote(command, Shell::Bash)
}

fn split_url(command: &str) -> Option<&str> {
    super::split_url(command, Shell::Bash)
}

fn is_plain(command: &str) -> bool {
    super::is_plain(command, Shell::Bash)
}

#[test]
fn promotes_a_trailing_ampersand() {
    for (command, expected) in TRAILING {
        assert_eq!(classify(command), Ampersand::Trailing, "{command:?}");
        assert_eq!(promote(command).as_deref(), Some(*expected), "{command:?}");
    }
}

#[test]
fn leaves_everything_else_alone() {
    let tables = [
        (NONE, Ampersand::None),
        (INTERIOR, Ampersand::Interior),
        (NESTED, Ampersand::Nested),
        (ERRORS, Ampersand::Unsure),
        (HARD, Ampersand::Unsure),
    ];
    for (commands, expected) in tables {
        for command in commands {
            assert_eq!(classify(command), expected, "{command:?}");
            assert_eq!(promote(command), None, "{command:?}");
        }
    }
}

#[test]
fn is_unsure_in_sh_of_the_forms_of_bash_and_of_no_others() {
    let of_bash = [
        "a &>f &",
        "a &>>f",
        "a |& b &",
        "cat <<<x &",
        "diff <(a) b &",
        "a > >(b) &",
        "a $'it\\'s' &",
        "x=(a) &",
        "x+=(a) &",
        "[[ a ]] &",
        "((x)) &",
        "for ((;;)); do a; done &",
        "case x in a) b ;& c) d ;; esac &",
        "case x in a) b ;;& c) d ;; esac &",
        "select x in a; do b; done &",
        "function f { a; }; f &",
        "time { a; } &",
        "a ${x:1:2} ${x/a/b} &",
        "a ${x[1]} &",
        "a ${#x[@]} &",
        "a ${!x} &",
        "a ${x@Q} &",
    ];
    for command in of_bash {
        assert_ne!(classify(command), Ampersand::Unsure, "{command:?}");
        let in_sh = super::classify(command, Shell::Sh);
        assert_eq!(in_sh, Ampersand::Unsure, "{command:?}");
    }
    let trailing = TRAILING.iter().map(|(command, _)| command);
    for command in trailing.chain(NONE).chain(INTERIOR).chain(NESTED) {
        let expected = match properties::has_form_of_bash(command) {
            true => Ampersand::Unsure,
            false => classify(command),
        };
        let in_sh = super::classify(command, Shell::Sh);
        assert_eq!(in_sh, expected, "{command:?}");
    }
}

#[toolhost_needs::needs(bash)]
#[test]
fn agrees_with_shells_about_the_tables() {
    let trailing = TRAILING.iter().map(|(command, _)| command);
    for command in trailing.chain(NONE).chain(INTERIOR).chain(NESTED) {
        if let Err(error) = properties::agrees_with_shells(command) {
            panic!("{error}");
        }
    }
    for command in ERRORS {
        if let Some(form) = properties::canonical(command) {
            assert_eq!(form, None, "{command:?}");
        }
    }
}

#[test]
fn finds_urls_that_are_split() {
    let split = [
        ("curl http://h/?a=1&b=2", "b=2"),
        ("curl http://h/?a=1&b=2 -o f", "b=2 -o f"),
        ("curl http://h/?a=1&b=2 &", "b=2"),
        ("curl http://h/?a=1&b=2&c=3", "b=2"),
        ("curl http://h/?a=1&b=2 2>&1 | jq .", "b=2 2>&1"),
        ("curl http://h/?a=1&b=2 >f # c", "b=2 >f"),
        ("curl http://h/?a=1&b=2\nc", "b=2"),
        ("cd x && curl -s http://h/?a=$A&b=\"$B\" && c", "b=\"$B\""),
        ("curl http://h/?a&b", "b"),
        ("curl $URL/?a=1&b[]=2;c", "b[]=2"),
        ("curl http://h/x&b=2", "b=2"),
        ("a & curl http://h/?a=1&utm_x=é y", "utm_x=é y"),
        ("for i in 1 2; do curl http://h/?p=$i&n=2; done", "n=2"),
        ("(curl http://h/?a=1&b=2)", "b=2"),
    ];
    for (command, expected) in split {
        assert_eq!(split_url(command), Some(expected), "{command}");
    }
    for command in [
        "curl 'http://h/?a=1&b=2'",
        "curl \"http://h/?a=1\"&b=2",
        "curl http://h/?a=1\\&b=2",
        "curl http://h/?a=1 &b=2",
        "curl http://h/?a=1& b=2",
        "curl http://h/?a=1&",
        "curl http://h/?a=1&&b=2",
        "curl http://h/?a=1&>f",
        "curl http://h/x&wait",
        "curl http://h/?a=1&(b)",
        "curl http://h/?a=1&./b",
        "a&b=2",
        "a b=1&c=2",
        "echo $(curl 'http://h/?a=1&b=2')",
        "curl http://h/?a=1&b=2 '",
    ] {
        assert_eq!(split_url(command), None, "{command}");
    }
}

#[test]
fn gives_up_on_what_is_too_hard() {
    for hard in ["$(", "$((", "((", "(", "\"$(", "${x:-", "`", "a=("] {
        let command = format!("echo {} &", hard.repeat(19_999));
        assert!(promote(&command).is_none(), "{hard}");
    }
    let closed = format!("echo {}a{} &", "$(".repeat(10), ")".repeat(10));
    assert!(promote(&closed).is_some());
}

#[test]
fn knows_plain_commands() {
    for command in ["cat x", "cat x; ls", "cat 'a|b' \\> $(c | d)", "a && b"] {
        assert!(is_plain(command), "{command}");
    }
    for command in [
        "cat x | wc -l",
        "cat x > y",
        "cat <x",
        "cat <<E\nE",
        "(cat x) |& y",
        "cat 'x",
    ] {
        assert!(!is_plain(command), "{command}");
    }
}
