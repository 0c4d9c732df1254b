//! The syntax of a `tracestate`, which is passed on and never interpreted.

/// The most bytes of all members together: every system has to pass on as much.
const MOST: usize = 512;

/// The most members.
const MEMBERS: usize = 32;

/// Returns whether this is a list of members as W3C Trace Context has it: `key=value`, separated by commas.
pub(super) fn is_valid(state: &str) -> bool {
    if state.is_empty() || state.len() > MOST || state.split(',').count() > MEMBERS {
        return false;
    }
    let mut members = state
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']));
    // An empty member is fine between others.
    members.all(|member| member.is_empty() || is_member(member)) && state.contains('=')
}

fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else {
        return false;
    };
    let of_key =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let of_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    let starts = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=256).contains(&key.len())
        && key.as_bytes().first().is_some_and(starts)
        && key.bytes().all(of_key)
        && (1..=256).contains(&value.len())
        && value.bytes().all(of_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_as_the_standard_says() {
        for state in [
            "a=1",
            "rojo=00f067aa0ba902b7,congo=t61r",
            "a=1, b=2\t,,c@d=x y",
        ] {
            assert!(is_valid(state), "{state:?}");
        }
        let many = vec!["a=1"; 33].join(",");
        let long = format!("a={}", "x".repeat(257));
        for state in [
            "", ",", "a", "A=1", "=1", "a=", "a=b=c", "a=\u{e4}", "a=\u{1b}", &many, &long,
        ] {
            assert!(!is_valid(state), "{state:?}");
        }
    }
}
