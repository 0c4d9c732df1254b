//! Commands that are valid, at least to bash, and made by a grammar.

use proptest::prelude::*;

use super::{HERE_DOCUMENTS, Made, REDIRECTIONS, WORDS};
use crate::background::Ampersand;

/// Makes a command that is valid, at least to bash.
pub(crate) fn made() -> impl Strategy<Value = Made> {
    proptest::collection::vec(any::<u8>(), 0..80).prop_map(|choices| {
        let mut maker = Maker {
            choices: choices.into_iter(),
            text: String::new(),
            bodies: Vec::new(),
            level: 0,
            interior: false,
            nested: false,
        };
        let trailing = maker.list(&["", " ", "\n", " # &", ";", "&", " &", " & # x\n", " &\n"]);
        let ampersand = match (trailing, maker.interior, maker.nested) {
            (true, _, _) => Ampersand::Trailing,
            (_, true, _) => Ampersand::Interior,
            (_, _, true) => Ampersand::Nested,
            _ => Ampersand::None,
        };
        Made {
            command: maker.text,
            ampersand,
        }
    })
}

/// Writes a command, and makes every choice by the next byte.
#[derive(Debug)]
struct Maker {
    choices: std::vec::IntoIter<u8>,
    text: String,
    /// Bodies of here-documents that the next line feed begins.
    bodies: Vec<&'static str>,
    level: usize,
    interior: bool,
    nested: bool,
}

impl Maker {
    fn pick(&mut self, below: usize) -> usize {
        self.choices
            .next()
            .map_or(0, |choice| usize::from(choice) % below)
    }

    fn one_of(&mut self, texts: &[&str]) {
        let index = self.pick(texts.len());
        self.text += texts[index];
    }

    /// Writes a separator, with the bodies that it begins, and returns whether it is an `&`.
    fn separator(&mut self, separators: &[&str]) -> bool {
        let index = self.pick(separators.len());
        let separator = separators[index];
        self.text += separator;
        if separator.replace("\\\n", "").contains('\n') {
            self.text.extend(self.bodies.drain(..));
        }
        separator.trim_start().starts_with('&')
    }

    /// Writes the bodies that have to be written now.
    fn flush(&mut self) {
        if !self.bodies.is_empty() {
            self.text.push('\n');
            self.text.extend(self.bodies.drain(..));
        }
    }

    /// Writes a list of commands that ends with one of these, and returns whether that is an `&`.
    fn list(&mut self, ends: &[&str]) -> bool {
        self.level += 1;
        let is_top = self.level == 1;
        for _ in 0..[0, 0, 1, 2][self.pick(4)] {
            self.and_or();
            if self.separator(&[
                "; ",
                " & ",
                "&",
                "\n",
                " &\n",
                ";",
                " & # x\n",
                "\n\n# & \n\n",
            ]) {
                self.interior |= is_top;
                self.nested |= !is_top;
            }
        }
        self.and_or();
        let is_ampersand = self.separator(ends);
        self.nested |= is_ampersand && !is_top;
        self.flush();
        self.level -= 1;
        is_ampersand
    }

    fn block(&mut self) {
        self.list(&["; ", " & ", "&\n", "\n", "& ", " # &\n"]);
    }

    fn and_or(&mut self) {
        loop {
            self.one_of(&["", "", "", "", "", "", "! ", "time "]);
            self.command();
            if self.pick(4) != 1 {
                return;
            }
            if self.separator(&[
                " && ", "&&", " || ", "|", " | ", " |& ", " &&\n", " |\n", " && \\\n",
            ]) && self.text.is_empty()
            {
                return;
            }
        }
    }

    fn command(&mut self) {
        // What is too deep is plain.
        let kind = if self.level > 4 { 0 } else { self.pick(24) };
        match kind {
            12 => self.enclosed("(", &["", " ", "&", " & ", "\n"], ")"),
            13 => self.within(&["{ ", "{\n"], &["}"]),
            14 => {
                self.within(&["if "], &["then ", "then\n"]);
                self.block();
                if self.pick(2) == 1 {
                    self.within(&["else "], &[""]);
                }
                self.text += "fi";
            }
            15 => {
                self.within(&["while ", "until "], &["do ", "do\n"]);
                self.within(&[""], &["done"]);
            }
            16 => self.within(
                &[
                    "for x in a b; do ",
                    "for x; do ",
                    "for x in a\ndo\n",
                    "for x do ",
                    "select x in a; do ",
                ],
                &["done"],
            ),
            17 => self.within(&["for ((i = 0; i & 3; i++)); do "], &["done"]),
            18 => {
                self.one_of(&["case $x in ", "case x in\n"]);
                if self.text.ends_with('\n') {
                    self.text.extend(self.bodies.drain(..));
                }
                self.one_of(&["a) ", "(a|b) ", "a | 'c d' )\n", "*) "]);
                if self.text.ends_with('\n') {
                    self.text.extend(self.bodies.drain(..));
                }
                self.list(&[
                    ";; ",
                    " & ;;\n",
                    ";; *) ;;\n",
                    " ;& b) ;; ",
                    " ;;& c) ;; ",
                    "\n",
                ]);
                self.text += "esac";
            }
            19 => self.within(
                &["f() { ", "f () {\n", "function f { ", "function f() {\n"],
                &["}"],
            ),
            20 => self.one_of(&[
                "[[ a && ( b || ! c ) ]]",
                "[[ -f $x ]]",
                "[[ $x =~ ^(a|b)$ && y < z ]]",
                "[[ a == b* ]]",
            ]),
            21 => self.one_of(&["((x & 1))", "((x = 1 << 2))", "(( (a) | (b) ))"]),
            22 => self.one_of(&["x=(a b)", "x+=(a '&')", "declare -A x=([a]=b)", "x[1]=2"]),
            _ => return self.simple(),
        }
        if self.pick(6) == 1 {
            self.text.push(' ');
            self.one_of(&REDIRECTIONS);
        }
    }

    fn within(&mut self, begins: &[&str], ends: &[&str]) {
        self.one_of(begins);
        if self.text.ends_with('\n') {
            self.text.extend(self.bodies.drain(..));
        }
        self.block();
        self.one_of(ends);
        if self.text.ends_with('\n') {
            self.text.extend(self.bodies.drain(..));
        }
    }

    fn enclosed(&mut self, begin: &str, ends: &[&str], end: &str) {
        self.text += begin;
        let start = self.text.len();
        self.list(ends);
        // What begins and ends with two parentheses is a calculation.
        if self.text[start..].starts_with('(') && self.text.ends_with(')') {
            self.text.push(' ');
        }
        self.text += end;
    }

    fn simple(&mut self) {
        self.one_of(&[
            "a", "b", "a", "b", "a", "x=1 a", "2>f a", "y=2", "/x/a", "./b", "$x", "\"c\"",
        ]);
        for _ in 0..self.pick(4) {
            self.text.push(' ');
            match self.pick(16) {
                10 if self.level < 5 => self.substitution(),
                11 => {
                    let (operator, body) = HERE_DOCUMENTS[self.pick(HERE_DOCUMENTS.len())];
                    self.text += operator;
                    self.bodies.push(body);
                }
                12..=14 => self.one_of(&REDIRECTIONS),
                _ => self.one_of(&WORDS),
            }
        }
    }

    /// Writes a substitution, whose here-documents are its own.
    fn substitution(&mut self) {
        const ENDS: [&str; 5] = ["", " ", "&", " & ", "\n"];
        let bodies = std::mem::take(&mut self.bodies);
        match self.pick(5) {
            0 => self.enclosed("$( ", &ENDS, ")"),
            1 => self.enclosed("\"$( ", &ENDS, ")\""),
            2 => self.enclosed("<( ", &ENDS, ")"),
            3 => self.enclosed("x$(a;", &ENDS, ")y"),
            _ => self.one_of(&["`b`", "\"`b \\\"c & d\\\"`\"", "`b \\`c\\``"]),
        }
        self.bodies = bodies;
    }
}
