//! Control sequences: where they end, and what they do to a line.

use vte::{Params, Perform};

/// The byte with which a control sequence begins.
pub(super) const ESCAPE: u8 = 0x1B;

/// What a control sequence, or a control character, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing that shows in a line.
    Nothing,
    /// There is none any more: the character is text.
    Print,
    /// The character is a control character, and the sequence goes on.
    Control,
    /// Goes to this column.
    Column(usize),
    /// Goes this many columns to the left.
    Left(usize),
    /// Goes this many columns to the right.
    Right(usize),
    /// Erases from the cursor to the end of the line.
    EraseToEnd,
    /// Erases from the start of the line to the cursor.
    EraseToStart,
    /// Erases the whole line.
    Erase,
}

/// Reads control sequences.
#[derive(Default)]
pub(super) struct Parser {
    parser: vte::Parser,
    effect: Reader,
}

impl Parser {
    /// Reads one character, beginning with [`ESCAPE`]. Returns what it does, which mostly only the last one of a sequence does.
    pub(super) fn advance(&mut self, char: &[u8]) -> Option<Effect> {
        self.parser.advance(&mut self.effect, char);
        self.effect.0.take()
    }
}

/// Returns what follows the introducer of a text for the terminal, such as `ESC ]`; `None` for other sequences.
pub(super) fn without_introducer(sequence: &[u8]) -> Option<&[u8]> {
    match sequence {
        [ESCAPE, b']' | b'P' | b'X' | b'^' | b'_', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Returns what follows a control sequence that changes colours and the like, given without its escape character; `None` if
/// it does something else.
pub(super) fn after_colour(sequence: &str) -> Option<&str> {
    let parameters = sequence.strip_prefix('[')?;
    let end = self::parameters(parameters.as_bytes());
    parameters.get(end..)?.strip_prefix('m')
}

/// Returns how many bytes at the start are parameters of a control sequence.
pub(super) fn parameters(bytes: &[u8]) -> usize {
    let is_parameter = |byte: &&u8| matches!(byte, b'0'..=b'9' | b';' | b':');
    bytes.iter().take_while(is_parameter).count()
}

#[derive(Default)]
struct Reader(Option<Effect>);

impl Perform for Reader {
    /// What is printed ends a sequence that the parser ignored.
    fn print(&mut self, _char: char) {
        self.0 = Some(Effect::Print);
    }

    fn execute(&mut self, byte: u8) {
        let cancels = matches!(byte, 0x18 | 0x1A);
        self.0 = Some(if cancels {
            Effect::Nothing
        } else {
            Effect::Control
        });
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        let first = params.iter().next().and_then(|param| param.first());
        let number = first.copied().unwrap_or(0);
        let count = usize::from(number.max(1));
        let effect = match (action, number) {
            _ if !intermediates.is_empty() => Effect::Nothing,
            // Of the screen, the line at the cursor is what is known.
            ('K' | 'J', 0) => Effect::EraseToEnd,
            ('K' | 'J', 1) => Effect::EraseToStart,
            ('K' | 'J', _) => Effect::Erase,
            ('G' | '`', _) => Effect::Column(count - 1),
            ('D', _) => Effect::Left(count),
            ('C' | 'a', _) => Effect::Right(count),
            _ => Effect::Nothing,
        };
        self.0 = Some(effect);
    }

    fn esc_dispatch(&mut self, _intermediates: &[u8], _ignore: bool, _byte: u8) {
        self.0 = Some(Effect::Nothing);
    }

    /// The end of a text for the terminal. `ESC \` ends one as well, which is a sequence of its own.
    fn osc_dispatch(&mut self, _params: &[&[u8]], bell_terminated: bool) {
        if bell_terminated {
            self.0 = Some(Effect::Nothing);
        }
    }
}
