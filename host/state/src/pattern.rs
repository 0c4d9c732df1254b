//! Patterns of names: a name, or the beginning of names with `*` behind it.

/// The most bytes of a pattern of tools: those of a name.
const MOST: usize = 64;

/// Returns whether a text can stand for names of tools: `a-z`, `0-9` and `_`, with `*` at most at its end.
///
/// ```
/// use toolhost_state::pattern::is_of_tools;
///
/// assert!(is_of_tools("weather__*") && is_of_tools("*") && is_of_tools("execute"));
/// assert!(!is_of_tools("") && !is_of_tools("*_file") && !is_of_tools("Read"));
/// ```
pub fn is_of_tools(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.len() <= MOST && name.bytes().all(is_part)
}

/// Returns whether a pattern stands for a name. Neither is checked.
///
/// ```
/// use toolhost_state::pattern::matches;
///
/// assert!(matches("weather__*", "weather__now") && matches("*", "execute") && matches("execute", "execute"));
/// assert!(!matches("read_file", "read_files"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}
