//! Tables of commands, and what is made of them.

mod properties;

use super::*;

/// Each of these runs in the background as the other.
const TRAILING: &[(&str, &str)] = &[
    ("cmd &", "cmd"),
    ("cmd1 && cmd2 &", "cmd1 && cmd2"),
    ("a&", "a"),
    ("a & # comment", "a"),
    ("a &\n", "a"),
    ("a &\n\n# comment\n", "a"),
    ("  a\t&  ", "  a"),
    ("a & \\\n", "a"),
    ("a \\\n &", "a"),
    ("npm run dev &", "npm run dev"),
    ("a || b &", "a || b"),
    ("a | b &", "a | b"),
    ("a |& b &", "a |& b"),
    ("a; b &", "a; b"),
    ("cd x && a &", "cd x && a"),
    ("a & b &", "a & b"),
    ("a\nb &", "a\nb"),
    ("# comment\na &", "# comment\na"),
    ("a >f 2>&1 &", "a >f 2>&1"),
    ("a >f 2>&1&", "a >f 2>&1"),
    ("a &>f &", "a &>f"),
    ("a </dev/null >|f &", "a </dev/null >|f"),
    (">f 2>&1 a &", ">f 2>&1 a"),
    (": >f; >f &", ": >f; >f"),
    ("nohup a &", "nohup a"),
    ("(a; b) &", "(a; b)"),
    ("(a; b) 2>/dev/null &", "(a; b) 2>/dev/null"),
    ("{ a & b; } &", "{ a & b; }"),
    (
        "if a; then b; elif (c) then d; else e; fi &",
        "if a; then b; elif (c) then d; else e; fi",
    ),
    ("while true; do a; done &", "while true; do a; done"),
    (
        "for x in a b; do echo $x & done &",
        "for x in a b; do echo $x & done",
    ),
    (
        "for ((i = 0; i < 3; i++)); do a; done &",
        "for ((i = 0; i < 3; i++)); do a; done",
    ),
    (
        "case $x in (a|b) c;; *) d & esac &",
        "case $x in (a|b) c;; *) d & esac",
    ),
    ("case x in\nesac &", "case x in\nesac"),
    ("f() { a; }; f &", "f() { a; }; f"),
    ("[[ a && ( b || c ) ]] &", "[[ a && ( b || c ) ]]"),
    ("((x = 1 << 2)) &", "((x = 1 << 2))"),
    ("( (a) | (b) ) &", "( (a) | (b) )"),
    ("((a) | (b)) &", "((a) | (b))"),
    ("x=$(a & wait) b &", "x=$(a & wait) b"),
    (
        "echo \"$(echo \")\" '&')\" `b \\` &` ${x:-\"&}\"} &",
        "echo \"$(echo \")\" '&')\" `b \\` &` ${x:-\"&}\"}",
    ),
    ("echo a\\ &", "echo a\\ "),
    ("echo 'it''s' \"&\" &", "echo 'it''s' \"&\""),
    ("cat <<EOF &\na & b\nEOF\n", "cat <<EOF\na & b\nEOF\n"),
    (
        "cat <<-'E F' & # comment\n\tit's\n\tE F",
        "cat <<-'E F' # comment\n\tit's\n\tE F",
    ),
    ("diff <(a &) <(b) &", "diff <(a &) <(b)"),
];

/// There is no `&`, or it means something else.
const NONE: &[&str] = &[
    "cmd",
    "cmd &&",
    "cmd |&",
    "a && b",
    "a |& b",
    "a 2>&1",
    "a >&2",
    "a <&3",
    "a 2>&-",
    "a &>f",
    "echo 'x &'",
    "echo \"x &\"",
    "echo $'x &'",
    "echo x \\&",
    "echo x # foo &",
    "# note &",
    "echo `a &`",
    "cat <<EOF\na &\nEOF",
    "cat <<< 'a &'",
    "cat <<EOF\na\nEOF\n",
    "echo $((5 & 3))",
    "((x & 1))",
    "[[ a && b ]]",
    "echo ${x:-&}",
    "curl 'http://h/?a=1&b=2'",
    "",
    "   ",
];

/// An `&` ends a command that others follow.
const INTERIOR: &[&str] = &[
    "a & b",
    "a & wait",
    "a & wait $!",
    "a & echo $!",
    "a & disown",
    "a &\nb",
    "a & p=$!; b; kill $p",
    "curl http://h/?a=1&b=2",
    "a & \r",
];

/// An `&` stands inside of something else.
const NESTED: &[&str] = &[
    "(a &)",
    "{ a & }",
    "if a; then b & fi",
    "for x in a b; do c & done; wait",
    "f() { a & }",
    "x=$(a &)",
    "echo \"$(a &)\"",
    "cat <(a &)",
    "case x in x) a & ;; esac",
    "bash -c 'a &'",
];

/// The shell reports an error, or might: whatever it is, the shell is to say so.
const ERRORS: &[&str] = &[
    "&",
    "& a",
    "& a &",
    "a &;",
    "a ;&",
    "a & &",
    "a & & b &",
    "a && &",
    "a | &",
    "; a &",
    "a > &",
    "a <<EOF &",
    "a <<EOF &\nbody",
    "a <<$x &\n$x",
    "'a &",
    "\"a &",
    "`a &",
    "$(a &",
    "${a &",
    "$'\\' &",
    "(a &",
    "a) &",
    "{ a &",
    "a; } &",
    "if a; then b &",
    "while a &",
    "for x in y; do a &",
    "case x in a) b &",
    "case x &",
    "[[ a &",
    "((a &",
    "f() &",
    "f() a &",
    "() &",
    "{ } &",
    "if a; then fi &",
    "if a; fi &",
    "if a; then b; else c; else d; fi &",
    "(a &&) &",
    "a (b) &",
    "a; ]] &",
    "(a) b &",
    "then a &",
    "echo !(a) &",
];

#[test]
fn promotes_a_trailing_ampersand() {
    for (command, expected) in TRAILING {
        assert_eq!(promote(command).as_deref(), Some(*expected), "{command}");
    }
}

#[test]
fn leaves_everything_else_alone() {
    for commands in [NONE, INTERIOR, NESTED, ERRORS] {
        for command in commands {
            assert_eq!(promote(command), None, "{command}");
        }
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
