//! Commands to ask about.

mod maker;

use proptest::prelude::*;

pub(crate) use self::maker::made;
use super::Ampersand;

/// Pieces of which commands, and nonsense, can be made. None of the words is a program or a builtin.
pub(super) const PIECES: [&str; 72] = [
    "a",
    "b c",
    " ",
    " ",
    "\n",
    "\t",
    "&",
    "&",
    " & ",
    " &",
    "&&",
    "|",
    "||",
    "|&",
    ";",
    ";;",
    ";&",
    "(",
    ")",
    "{ ",
    "} ",
    "; }",
    "((",
    "))",
    "[[ ",
    " ]]",
    "[",
    "]",
    "$(",
    "`",
    "${",
    "}",
    "$((",
    "'",
    "\"",
    "$'",
    "$",
    "\\",
    "\\\n",
    "#",
    " # x",
    ">",
    "<",
    ">&",
    "2>&1",
    "&>",
    "<<E",
    "<<-'E'",
    "\nE\n",
    "<<<",
    "if ",
    "; then ",
    "else ",
    "fi ",
    "for x in y; do ",
    "for x",
    "while ",
    "do ",
    "done ",
    "case x in ",
    " in ",
    "a) ",
    "esac ",
    "f() ",
    "function f ",
    "x=",
    "x=(",
    "! ",
    "time ",
    "=~ ",
    "é",
    "\r",
];

/// Makes a text of pieces.
pub(super) fn pieces(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..most)
        .prop_map(|pieces| pieces.concat())
}

/// Makes a text that is almost a command: some pieces, or a command with a piece in it that does not belong there.
pub(super) fn almost() -> impl Strategy<Value = String> {
    let misplaced = (made(), any::<prop::sample::Index>(), 0..3_usize, pieces(2)).prop_map(
        |(made, at, cut, piece)| {
            let mut chars: Vec<char> = made.command.chars().collect();
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, piece.chars());
            chars.into_iter().collect::<String>()
        },
    );
    (prop_oneof![pieces(20), misplaced], prop_oneof!["", " &"]).prop_map(|(text, end)| text + &end)
}

/// A command, and what its operators `&` do.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(super) command: String,
    pub(super) ampersand: Ampersand,
}

/// Words that need nothing else.
const WORDS: [&str; 33] = [
    "a",
    "b c",
    "d",
    "--e=f",
    "x=1",
    "'q & r'",
    "\"s & t\"",
    "\"it's\"",
    "u\\&",
    "\\ v",
    "$'w & x'",
    "é",
    "${x:-&}",
    "\"${x:-\"&\"}\"",
    "${x#'&'}",
    "\"${x:-'&'}\"",
    "${x##*/}",
    "$((5 & 3))",
    "$((x && (y | z)))",
    "$x",
    "\"$x\"",
    "$!",
    "2",
    "http://h/?a=1",
    "-",
    "{",
    "}",
    "if",
    "done",
    "a\\\nb",
    "c#d",
    "'\n&'",
    "[a-z]*",
];

const REDIRECTIONS: [&str; 14] = [
    ">f",
    "> f",
    "2>&1",
    ">&2",
    "<&3",
    "2>&-",
    "&>f",
    "&>>f",
    ">|f",
    "<>f",
    "2>/dev/null",
    "</dev/null",
    "<<<g",
    "<<< '&'",
];

/// Here-documents and their bodies.
const HERE_DOCUMENTS: [(&str, &str); 7] = [
    ("<<E", "a &\nE\n"),
    ("<< E", "E\n"),
    ("<<'E'", "it's $(\nE\n"),
    ("<<-E", "\tb &\n\tE\n"),
    ("<<\"E F\"", "`\nE F\n"),
    ("<<E", "$x ${y} \"\nE\n"),
    ("<<\\E", "&\\\nE\n"),
];
