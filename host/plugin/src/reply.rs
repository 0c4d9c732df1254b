//! Checks a guest's reply, and converts it from the type of the contract to that of the domain.

use serde_json::value::RawValue;

use super::failure::Failure;
use super::reached::Reached;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use toolhost_call::call::MAX_DEPTH;
use toolhost_call::metrics::LimitKind;
use toolhost_call::tool::{Content, ErrorKind, Reply, ToolError};

/// Converts a reply if it has at most `limit` bytes and its JSON parts are valid JSON. Each part counts some bytes more than it
/// has, so that a million empty parts reach the limit as well. The log names the tool if its JSON was mended.
pub(super) fn check(reply: wit::Reply, limit: usize, tool: &str) -> Result<Reply, Failure> {
    let mut replaced = 0;
    let content: Vec<_> = reply
        .content
        .into_iter()
        .map(|part| convert(part, &mut replaced))
        .collect::<Result<_, Failure>>()?;
    if replaced > 0 {
        tracing::warn!(
            tool,
            replaced,
            "halves of surrogate pairs in the JSON of a reply were replaced by U+FFFD"
        );
    }
    let size: usize = content.iter().map(Content::size).sum();
    if size > limit {
        let reached = Reached::of(LimitKind::Reply, limit);
        let why = format!("it has {size} bytes");
        return Err(Failure::Limit(reached.because(&why)));
    }
    Ok(Reply {
        content,
        is_error: reply.is_error,
    })
}

/// Returns the names of the tools that a reply says it has found. A list that cannot be read names none.
pub(super) fn found(reply: &wit::Reply) -> Vec<String> {
    /// The name in a reply's `extra`.
    const FOUND: &str = "found";
    /// The most bytes of the list: those of more names than a chat remembers.
    const MOST: usize = 64 << 10;
    let mut extra = reply.extra.iter();
    let found = extra.find(|(name, json)| name == FOUND && json.len() <= MOST);
    let names = found.map(|(_, json)| serde_json::from_str(json).unwrap_or_default());
    names.unwrap_or_default()
}

fn convert(part: wit::Content, replaced: &mut usize) -> Result<Content, Failure> {
    Ok(match part {
        wit::Content::Text(text) => Content::Text { text },
        wit::Content::Json(text) => {
            let not_json =
                |error| Failure::Broken(format!("it replied with JSON that is not valid: {error}"));
            let mut json = RawValue::from_string(text).map_err(not_json)?;
            if let Some((text, halves)) = well_formed(json.get()) {
                *replaced += halves;
                json = RawValue::from_string(text).map_err(not_json)?;
            }
            if depth(json.get()) > MAX_DEPTH {
                let text =
                    format!("it replied with JSON that nests deeper than {MAX_DEPTH} levels");
                return Err(Failure::Broken(text));
            }
            Content::Json { json }
        }
        wit::Content::Image(blob) => Content::Image {
            media_type: blob.media_type,
            data: blob.data,
        },
        wit::Content::Audio(blob) => Content::Audio {
            media_type: blob.media_type,
            data: blob.data,
        },
        wit::Content::Document(wit::Document {
            uri,
            media_type,
            data,
        }) => Content::Document {
            uri,
            media_type,
            data,
        },
    })
}

/// Returns a valid JSON text in which the escapes of single halves of surrogate pairs are those of U+FFFD, and how many there were; `None`
/// if there is none. JSON's grammar allows them, but they are no characters, so that many parsers refuse them.
fn well_formed(json: &str) -> Option<(String, usize)> {
    /// How many bytes an escape of four digits has.
    const ESCAPE: usize = 6;
    let unit = |at: usize| {
        let digits = json.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let is_low = |unit: u16| (0xdc00..0xe000).contains(&unit);
    let (mut mended, mut copied, mut replaced) = (String::new(), 0, 0);
    let mut rest = 0;
    while let Some(at) = json.get(rest..)?.find('\\').map(|found| rest + found) {
        // A backslash and the byte behind it, unless it is more.
        rest = at + 2;
        match unit(at) {
            Some(0xd800..0xdc00) if unit(at + ESCAPE).is_some_and(is_low) => rest = at + 2 * ESCAPE,
            Some(0xd800..0xe000) => {
                rest = at + ESCAPE;
                mended.push_str(json.get(copied..at)?);
                mended.push_str("\\ufffd");
                (copied, replaced) = (rest, replaced + 1);
            }
            _ => {}
        }
    }
    mended.push_str(json.get(copied..)?);
    (replaced > 0).then_some((mended, replaced))
}

/// Returns how deep a valid JSON text nests. Callers parse the text, and a recursive parser could run out of stack.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl From<wit::ToolError> for ToolError {
    fn from(error: wit::ToolError) -> Self {
        /// The longest message in bytes, as a model reads it; a longer one is cut.
        const MAX_MESSAGE: usize = 32 << 10;
        let (kind, mut message) = match error {
            wit::ToolError::UnknownTool(text) => (ErrorKind::UnknownTool, text),
            wit::ToolError::InvalidArguments(text) => (ErrorKind::InvalidArguments, text),
            wit::ToolError::Denied(text) => (ErrorKind::Denied, text),
            wit::ToolError::Unavailable(text) => (ErrorKind::Unavailable, text),
            wit::ToolError::Failed(text) => (ErrorKind::Failed, text),
        };
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        // The part that was cut must not stay in memory for as long as the outcome is kept.
        message.shrink_to_fit();
        Self { kind, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(content: Vec<wit::Content>) -> wit::Reply {
        wit::Reply {
            content,
            is_error: false,
            extra: Vec::new(),
        }
    }

    #[test]
    fn the_size_of_all_parts_counts() {
        let text = |len: usize| wit::Content::Text("x".repeat(len));
        assert!(check(reply(vec![text(100), text(100)]), 400, "t").is_ok());
        let error = check(reply(vec![text(200), text(100)]), 400, "t").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the tool was stopped: reply limit of 400 bytes reached: it has 428 bytes"
        );
        assert!(check(reply((0..100).map(|_| text(0)).collect()), 400, "t").is_err());
    }

    #[test]
    fn the_tools_that_a_reply_has_found_are_names() {
        let found = |name: &str, json: &str| {
            let extra = vec![
                ("other".to_owned(), "1".to_owned()),
                (name.to_owned(), json.to_owned()),
            ];
            super::found(&wit::Reply {
                extra,
                ..reply(Vec::new())
            })
        };
        assert_eq!(found("found", r#"["a","b"]"#), ["a", "b"]);
        let long = format!("[{:?}]", "a".repeat(64 << 10));
        for (name, json) in [
            ("else", r#"["a"]"#),
            ("found", "a"),
            ("found", "[1]"),
            ("found", "{}"),
            ("found", long.as_str()),
        ] {
            assert!(found(name, json).is_empty(), "{name} {json}");
        }
    }

    #[test]
    fn what_is_cut_of_an_error_is_not_kept() {
        let error = ToolError::from(wit::ToolError::Failed("ä".repeat(4 << 20)));
        assert_eq!(error.message.len(), 32 << 10);
        assert!(error.message.capacity() < 64 << 10);
    }

    #[test]
    fn a_json_part_must_be_json() {
        let json = |text: &str| check(reply(vec![wit::Content::Json(text.into())]), 1000, "t");
        assert_eq!(
            json(r#"{"a":1}"#).unwrap().structured().unwrap().get(),
            r#"{"a":1}"#
        );
        for bad in ["", "{", "{} x", "nope"] {
            let error = ToolError::from(json(bad).unwrap_err());
            assert!(
                error.kind == ErrorKind::Broken && error.message.contains("not valid"),
                "{error}"
            );
        }
    }

    #[test]
    fn json_nests_no_deeper_than_parsers_follow() {
        let nested = |levels: usize| {
            let text = "[".repeat(levels) + "\"[[\\\"[[\"" + &"]".repeat(levels);
            check(reply(vec![wit::Content::Json(text)]), 1000, "t")
        };
        assert!(nested(MAX_DEPTH).is_ok());
        let error = nested(MAX_DEPTH + 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the tool is broken: it replied with JSON that nests deeper than 64 levels"
        );
    }

    #[test]
    fn halves_of_surrogate_pairs_become_replacement_characters() {
        let cases = [
            (r#""a\ud800b""#, r#""a\ufffdb""#),
            (r#""\udc00\ud800""#, r#""\ufffd\ufffd""#),
            (
                r#"{"\uD83D":"\ud83d\ude00"}"#,
                r#"{"\ufffd":"\ud83d\ude00"}"#,
            ),
            (r#""\ud800\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud800\n""#, r#""\ufffd\n""#),
            (r#""\\ud800 ☃\\""#, r#""\\ud800 ☃\\""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        ];
        for (json, expected) in cases {
            let checked = check(reply(vec![wit::Content::Json(json.into())]), 1000, "t").unwrap();
            let checked = checked.structured().unwrap().get();
            assert_eq!(checked, expected);
            serde_json::from_str::<serde_json::Value>(checked).unwrap();
        }
    }
}
