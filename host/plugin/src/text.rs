//! Text that a guest wrote: which characters the host refuses, and how it shows the rest to people.

use toolhost_view::hidden;

/// How much of one text is shown.
const MAX_SHOWN: usize = 500;

/// Returns the first character of a text that a person does not see: a control character, or an invisible character that the
/// characters around it do not need. Line ends and tabs are allowed if the text may have several lines.
///
/// Models read such characters: with them a description could tell a model something that its human reader never sees.
pub fn hidden_in(text: &str, several_lines: bool) -> Option<char> {
    let fine = |c: char| several_lines && matches!(c, '\n' | '\r' | '\t');
    let control = text.chars().find(|c| c.is_control() && !fine(*c));
    control.or_else(|| invisible_in(text))
}

/// As [`hidden_in`], but allows control characters: a pattern or a value of a schema may have to name one.
pub(super) fn invisible_in(text: &str) -> Option<char> {
    hidden::find(text).map(|(_, c)| c)
}

/// Returns a text in one line, with hidden characters escaped, and cut if it is long.
pub fn shown(text: &str) -> String {
    shown_up_to(text, MAX_SHOWN)
}

/// As [`shown`], but cuts the text after about `most` bytes.
pub fn shown_up_to(text: &str, most: usize) -> String {
    let cut = text.get(..text.floor_char_boundary(most)).unwrap_or(text);
    let mut shown = String::with_capacity(cut.len());
    let mut previous = None;
    let mut chars = cut.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() || hidden::is_hidden(previous, c, chars.peek().copied()) => {
                shown.extend(c.escape_unicode());
            }
            c => shown.push(c),
        }
        previous = Some(c);
    }
    if cut.len() < text.len() {
        shown.push_str(&format!(" … ({} bytes more)", text.len() - cut.len()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_acts_on_a_terminal() {
        assert_eq!(shown("a b ä 👨\u{200d}👩"), "a b ä 👨\u{200d}👩");
        assert_eq!(
            shown("a\nb\u{1b}[2J\u{202e}x\u{9b}"),
            "a\\nb\\u{1b}[2J\\u{202e}x\\u{9b}"
        );
        assert_eq!(shown("\u{e0041}\u{feff}"), "\\u{e0041}\\u{feff}");
        assert_eq!(shown_up_to("aaaaä", 5), "aaaa … (2 bytes more)");
    }

    #[test]
    fn finds_what_nobody_sees() {
        assert_eq!(hidden_in("two\n\tlines\r\n", true), None);
        assert_eq!(hidden_in("two\nlines", false), Some('\n'));
        assert_eq!(hidden_in("a\u{202e}b", true), Some('\u{202e}'));
        assert_eq!(hidden_in("\u{7f}", true), Some('\u{7f}'));
        assert_eq!(hidden_in("👍\u{fe01}", true), Some('\u{fe01}'));
    }
}
