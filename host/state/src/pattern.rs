//! Patterns of names: a name, or the beginning of names with `*` behind it.

/// Returns whether a pattern stands for a name. Neither is checked: whether a text may be a pattern is for its reader to say.
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
