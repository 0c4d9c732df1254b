//! One line of the trail: an event as JSON, bounded and escaped.

use std::fmt::Write;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::time::rfc3339;

/// The longest text in an event, in bytes; a longer one is cut and ends with `…`.
const MAX_TEXT: usize = 1024;

/// The longest id that is shown as it is, and how much is shown of a longer one, in bytes.
const MAX_ID: usize = 96;
const SHOWN_ID: usize = 64;

/// The most entries of a list in an event; the last one says how many more there are.
const MAX_LIST: usize = 200;

/// The first fields of many lines, as JSON.
#[derive(Debug, Default)]
pub(super) struct First(Vec<(&'static str, String)>);

impl First {
    /// Writes the fields, cut if they are too long.
    pub(super) fn new<'a>(fields: impl IntoIterator<Item = (&'static str, &'a str)>) -> Self {
        let json = |(name, text): (_, &str)| (name, bounded(name, text.into()).to_string());
        Self(fields.into_iter().map(json).collect())
    }
}

/// Returns the line of an event, without its end. Its texts, ids and lists are cut where they are too long. A field replaces the one of
/// `first` that has its name.
pub(super) fn line(time: SystemTime, event: &str, first: &First, fields: Value) -> String {
    let mut line = format!(
        r#"{{"time":"{}","event":{}"#,
        rfc3339(time),
        Value::from(event)
    );
    let mut fields = match bounded("", fields) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for (name, json) in &first.0 {
        _ = match fields.shift_remove(*name) {
            Some(own) => write!(line, r#","{name}":{own}"#),
            None => write!(line, r#","{name}":{json}"#),
        };
    }
    for (name, value) in fields {
        _ = write!(line, ",{}:{value}", Value::from(name));
    }
    line.push('}');
    escaped(line)
}

/// Returns the value of a field, cut if it is too long. A long id is cut and gets a digest, so that it still differs from other ids.
pub(super) fn bounded(name: &str, value: Value) -> Value {
    let start = |text: &str, length| {
        let start = text.get(..text.floor_char_boundary(length));
        start.unwrap_or_default().to_owned()
    };
    match value {
        Value::String(id) if matches!(name, "chat" | "call") && id.len() > MAX_ID => {
            let digest = blake3::hash(id.as_bytes()).to_hex();
            format!("{}…{}", start(&id, SHOWN_ID), start(&digest, 16)).into()
        }
        Value::String(text) if text.len() > MAX_TEXT => {
            format!("{}…", start(&text, MAX_TEXT)).into()
        }
        Value::Array(items) => {
            let more = items.len().saturating_sub(MAX_LIST);
            let more = (more > 0).then(|| format!("… and {more} more").into());
            let items = items.into_iter().take(MAX_LIST);
            items.map(|item| bounded("", item)).chain(more).collect()
        }
        Value::Object(mut fields) => {
            for (name, value) in &mut fields {
                *value = bounded(name, value.take());
            }
            Value::Object(fields)
        }
        other => other,
    }
}

/// Escapes characters that JSON allows but that affect a terminal, such as DEL and marks of text direction. In JSON, they occur only in
/// strings.
fn escaped(json: String) -> String {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return json;
    }
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        let acts = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if acts {
            for unit in c.encode_utf16(&mut [0; 2]) {
                _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_with_its_time_first() {
        assert_eq!(
            line(UNIX_EPOCH, "lost", &First::default(), json!({ "count": 2 })),
            r#"{"time":"1970-01-01T00:00:00.000Z","event":"lost","count":2}"#
        );
    }

    #[test]
    fn nothing_in_it_acts_on_a_terminal() {
        let hostile = "a\n\"\u{9b}2J\u{202e}\u{7f}ä";
        let first = First::new([("chat", hostile)]);
        let line = line(UNIX_EPOCH, "x", &first, json!({ "text": hostile }));
        assert!(line.contains(r#"a\n\"\u009b2J\u202e\u007fä"#), "{line}");
        let parsed: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&parsed["text"], &parsed["chat"]),
            (&hostile.into(), &hostile.into())
        );
    }

    #[test]
    fn first_fields_come_first_and_can_be_replaced() {
        let first = First::new([("chat", "a"), ("call", "b")]);
        let line = line(UNIX_EPOCH, "x", &first, json!({ "size": 1, "call": "c" }));
        let text = r#""event":"x","chat":"a","call":"c","size":1}"#;
        assert!(line.ends_with(text), "{line}");
    }

    #[test]
    fn long_ids_are_cut_and_still_differ() {
        let fits = "x".repeat(MAX_ID);
        let id = |id: String| bounded("chat", id.into());
        assert_eq!(id(fits.clone()), fits);
        let (one, other) = (id(format!("{fits}1")), id(format!("{fits}2")));
        assert_ne!(one, other);
        let text = one.as_str().unwrap();
        assert!(
            text.starts_with(&format!("{}…", "x".repeat(SHOWN_ID))),
            "{text}"
        );
        assert_eq!(text.len(), SHOWN_ID + "…".len() + 16);
    }

    #[test]
    fn texts_and_lists_are_bounded() {
        let long = "ä".repeat(MAX_TEXT);
        let cut = bounded("", long.into());
        assert_eq!(cut.as_str().unwrap().len(), MAX_TEXT + "…".len());
        let many: Vec<String> = (0..1000).map(|index| index.to_string()).collect();
        let cut = bounded("", many.into());
        assert_eq!(cut.as_array().unwrap().len(), MAX_LIST + 1);
        assert_eq!(cut[MAX_LIST], "… and 800 more");
    }
}
