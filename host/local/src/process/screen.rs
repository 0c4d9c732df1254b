//! The screen of a terminal: what its output has drawn so far.
//!
//! It is computed here and not by plugins, whose instances live for one call: the output of a program that draws is kept only in part, and
//! a screen follows from all of it.

use std::num::NonZeroU16;

use vt100::{Callbacks, Parser};

use super::{MAX_TITLE, Screen, Size};

/// The most bytes of answers to one piece of output.
const MAX_ANSWERS: usize = 1024;

/// The screen of a terminal whose output is added piece by piece.
pub(super) enum Drawn {
    /// That of a process that lives.
    Live(Box<Parser<Asked>>),
    /// What a process showed last.
    Last(Screen),
}

/// What programs ask of the terminal.
#[derive(Default)]
pub(super) struct Asked {
    title: String,
    /// The answers to what programs asked since they were last taken.
    answers: Vec<u8>,
}

impl Callbacks for Asked {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let title = String::from_utf8_lossy(title);
        let shown = title.chars().filter(|c| !c.is_control());
        self.title = shown.take(MAX_TITLE).collect();
    }

    /// Answers what programs wait for: whether there is a terminal (DA1, DSR 5), and where its cursor is (DSR 6).
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        parameters: &[&[u16]],
        kind: char,
    ) {
        let parameter = parameters.first().and_then(|one| one.first()).copied();
        let answer = match (first, second, kind, parameter.unwrap_or(0)) {
            (None, None, 'c', 0) => "\x1b[?1;2c".to_owned(),
            (None, None, 'n', 5) => "\x1b[0n".to_owned(),
            (None, None, 'n', 6) => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            _ => return,
        };
        if self.answers.len() + answer.len() <= MAX_ANSWERS {
            self.answers.extend(answer.bytes());
        }
    }
}

impl Drawn {
    /// Makes an empty screen.
    pub(super) fn new(size: Size) -> Self {
        let (rows, columns) = numbers(size);
        let parser = Parser::new_with_callbacks(rows, columns, 0, Asked::default());
        Self::Live(Box::new(parser))
    }

    /// Adds output. Returns what the terminal answers to it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Self::Live(parser) = self else {
            return Vec::new();
        };
        parser.process(bytes);
        std::mem::take(&mut parser.callbacks_mut().answers)
    }

    /// Frees what only more output would need.
    pub(super) fn end(&mut self) {
        *self = Self::Last(self.shown());
    }

    pub(super) fn resize(&mut self, size: Size) {
        if let Self::Live(parser) = self {
            let (rows, columns) = numbers(size);
            parser.set_size(rows, columns);
        }
    }

    /// Returns what the terminal shows.
    pub(super) fn shown(&self) -> Screen {
        let parser = match self {
            Self::Live(parser) => parser,
            Self::Last(screen) => return screen.clone(),
        };
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let lines: Vec<_> = screen.rows(0, columns.get()).collect();
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        let (row, column) = screen.cursor_position();
        Screen {
            size: Size {
                rows: rows.get(),
                columns: columns.get(),
            },
            text: lines.join("\n").trim_end_matches('\n').to_owned(),
            cursor: (!screen.hide_cursor()).then_some((row + 1, column + 1)),
            title: parser.callbacks().title.clone(),
            alternate: screen.alternate_screen(),
            application_keys: screen.application_cursor(),
        }
    }
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Drawn").finish_non_exhaustive()
    }
}

fn numbers(size: Size) -> (NonZeroU16, NonZeroU16) {
    let number = |number| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
    (number(size.rows), number(size.columns))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(pieces: &[&str]) -> Drawn {
        let mut drawn = Drawn::new(Size {
            rows: 4,
            columns: 10,
        });
        for piece in pieces {
            drawn.push(piece.as_bytes());
        }
        drawn
    }

    #[test]
    fn rows_are_text_without_what_is_empty() {
        let shown = drawn(&["one  \r\n", "\x1b[31mt\x1b[0mwo", "\x1b]2;a\tb\x07"]).shown();
        assert_eq!(shown.text, "one\ntwo");
        assert_eq!((shown.cursor, shown.title.as_str()), (Some((2, 4)), "ab"));
        assert!(!shown.alternate);
    }

    #[test]
    fn an_editor_has_a_screen_of_its_own() {
        let mut drawn = drawn(&["below", "\x1b[?1049h\x1b[H~\x1b[?25l"]);
        let shown = drawn.shown();
        assert_eq!(
            (shown.text.as_str(), shown.alternate, shown.cursor),
            ("~", true, None)
        );
        drawn.push(b"\x1b[?1049l");
        let shown = drawn.shown();
        assert_eq!(shown.text, "below");
        drawn.end();
        drawn.push(b"more");
        assert_eq!(drawn.shown(), shown);
    }

    #[test]
    fn programs_are_told_what_they_ask() {
        let mut drawn = drawn(&["ab"]);
        assert_eq!(drawn.push(b"\x1b[6n"), b"\x1b[1;3R");
        assert_eq!(
            drawn.push(b"\x1b[c\x1b[0c\x1b[5n"),
            b"\x1b[?1;2c\x1b[?1;2c\x1b[0n"
        );
        assert_eq!(drawn.push(b"\x1b[>c\x1b[?6n"), b"");
        assert!(drawn.push("\x1b[6n".repeat(10_000).as_bytes()).len() <= MAX_ANSWERS);
    }

    proptest! {
        #[test]
        fn any_output_can_be_drawn(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), 2..8_u16, 2..12_u16), 0..8),
            hostile in prop::collection::vec("\u{1b}\\[[0-9;?]{0,12}[a-zA-Z@`]|[a-zé漢\u{301}\r\n\t]{0,9}", 0..60),
        ) {
            let mut drawn = Drawn::new(Size { rows: 5, columns: 7 });
            for (bytes, rows, columns) in &pieces {
                drawn.push(bytes);
                drawn.push(hostile.concat().as_bytes());
                drawn.resize(Size { rows: *rows, columns: *columns });
            }
            let shown = drawn.shown();
            prop_assert!(shown.text.lines().count() <= usize::from(shown.size.rows));
        }
    }
}
