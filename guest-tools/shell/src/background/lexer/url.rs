//! URLs that an unquoted `&` splits.

/// Returns whether an `&` that stands between these was most likely meant to be part of a URL. Before it is a word; after
/// it comes the rest of the command.
pub(super) fn is_split(before: &[u8], after: &[u8]) -> bool {
    let has_query = before.contains(&b'?');
    let is_url =
        before.windows(3).any(|part| part == b"://") || has_query && before.contains(&b'=');
    // Whoever quotes a URL means an `&` that stands after the quote.
    let is_quoted = matches!(before.last(), Some(b'"' | b'\''));
    if !is_url || is_quoted {
        return false;
    }
    let length = after
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-+~%[]".contains(byte))
        .count();
    match after.get(length) {
        _ if length == 0 => false,
        Some(b'=') => true,
        None | Some(b' ' | b'\t' | b'\n' | b'&' | b'|' | b';' | b')' | b'<' | b'>' | b'#') => {
            has_query
        }
        Some(_) => false,
    }
}
