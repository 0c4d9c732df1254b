//! The names of keys, and what a terminal sends for each: see <https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>.

/// The keys with a name of their own, and what a terminal sends for them.
const NAMED: &[(&str, &str)] = &[
    ("enter", "\r"),
    ("tab", "\t"),
    ("shift-tab", "\x1b[Z"),
    ("esc", "\x1b"),
    ("space", " "),
    ("backspace", "\x7f"),
    ("delete", "\x1b[3~"),
    ("insert", "\x1b[2~"),
    ("page-up", "\x1b[5~"),
    ("page-down", "\x1b[6~"),
    ("f1", "\x1bOP"),
    ("f2", "\x1bOQ"),
    ("f3", "\x1bOR"),
    ("f4", "\x1bOS"),
    ("f5", "\x1b[15~"),
    ("f6", "\x1b[17~"),
    ("f7", "\x1b[18~"),
    ("f8", "\x1b[19~"),
    ("f9", "\x1b[20~"),
    ("f10", "\x1b[21~"),
    ("f11", "\x1b[23~"),
    ("f12", "\x1b[24~"),
];

/// The keys whose sequence a program can change, and its last letter.
const CURSOR: &[(&str, char)] = &[
    ("up", 'A'),
    ("down", 'B'),
    ("right", 'C'),
    ("left", 'D'),
    ("home", 'H'),
    ("end", 'F'),
];

/// Other names that models use.
const ALIASES: &[(&str, &str)] = &[
    ("return", "enter"),
    ("escape", "esc"),
    ("del", "delete"),
    ("ins", "insert"),
    ("pageup", "page-up"),
    ("pgup", "page-up"),
    ("pagedown", "page-down"),
    ("pgdn", "page-down"),
    ("backtab", "shift-tab"),
];

/// The reason why nothing can be written for a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// There is no such key.
    Key,
    /// Only a terminal has it.
    Terminal,
}

/// Returns what a terminal sends for a key, such as `enter`, `ctrl-c` or `alt-x`. `application`: the program has asked for the other
/// sequences of the cursor keys.
pub(crate) fn in_terminal(name: &str, application: bool) -> Result<String, Unknown> {
    let lower = name.trim().to_lowercase().replace(['+', '_'], "-");
    let key = ALIASES.iter().find(|(alias, _)| *alias == lower);
    let key = key.map_or(lower.as_str(), |(_, key)| key);
    if let Some((_, sent)) = NAMED.iter().find(|(named, _)| *named == key) {
        return Ok((*sent).to_owned());
    }
    if let Some((_, letter)) = CURSOR.iter().find(|(named, _)| *named == key) {
        let second = if application { 'O' } else { '[' };
        return Ok(format!("\x1b{second}{letter}"));
    }
    if let Some(rest) = key.strip_prefix("ctrl-").or(key.strip_prefix("c-")) {
        return control(rest).map(String::from).ok_or(Unknown::Key);
    }
    if let Some(rest) = key.strip_prefix("alt-").or(key.strip_prefix("meta-")) {
        // The case of the letter counts here.
        let typed = name
            .trim()
            .chars()
            .last()
            .filter(|_| rest.chars().count() == 1);
        let sent = match typed {
            Some(letter) => letter.to_string(),
            None => in_terminal(rest, application)?,
        };
        return Ok(format!("\x1b{sent}"));
    }
    Err(Unknown::Key)
}

/// Returns what is written to a pipe for a key.
pub(crate) fn in_pipe(name: &str) -> Result<String, Unknown> {
    match in_terminal(name, false)?.as_str() {
        "\r" => Ok("\n".to_owned()),
        sent @ ("\t" | " ") => Ok(sent.to_owned()),
        _ => Err(Unknown::Terminal),
    }
}

/// Returns the control character of Ctrl and a key.
fn control(key: &str) -> Option<char> {
    if key == "space" {
        return Some('\0');
    }
    let mut letters = key.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    match letter {
        'a'..='z' | '[' | '\\' | ']' | '^' | '@' => {
            Some(char::from(u8::try_from(letter).ok()? & 0x1f))
        }
        '/' | '-' => Some('\x1f'),
        '?' => Some('\x7f'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_a_terminal_sends() {
        for (name, sent) in [
            ("enter", "\r"),
            ("Return", "\r"),
            ("TAB", "\t"),
            ("ctrl-c", "\x03"),
            ("Ctrl+D", "\x04"),
            ("ctrl_z", "\x1a"),
            ("c-x", "\x18"),
            ("ctrl-]", "\x1d"),
            ("ctrl-\\", "\x1c"),
            ("ctrl-space", "\0"),
            ("escape", "\x1b"),
            ("up", "\x1b[A"),
            ("f10", "\x1b[21~"),
            ("PageDown", "\x1b[6~"),
            ("alt-x", "\x1bx"),
            ("alt-X", "\x1bX"),
            ("alt-enter", "\x1b\r"),
        ] {
            assert_eq!(in_terminal(name, false).as_deref(), Ok(sent), "{name}");
        }
        assert_eq!(in_terminal("up", true).as_deref(), Ok("\x1bOA"));
        for name in [
            "", "ctrl-", "ctrl-ab", "hyper-x", "x", "f13", "ctrl-é", "alt-",
        ] {
            assert_eq!(in_terminal(name, false), Err(Unknown::Key), "{name}");
        }
    }

    #[test]
    fn a_pipe_has_few_keys() {
        assert_eq!(in_pipe("enter").as_deref(), Ok("\n"));
        assert_eq!(in_pipe("ctrl-c"), Err(Unknown::Terminal));
        assert_eq!(in_pipe("nothing"), Err(Unknown::Key));
    }
}
