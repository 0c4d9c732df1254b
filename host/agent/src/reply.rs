//! Replies as JSON, written as the reference writes them.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The content type of a reply.
pub(super) const JSON: &str = "application/json; charset=utf-8";

/// Returns a reply with this status and body.
pub fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let mut text = to_text(body);
    text.push('\n');
    (status, [(CONTENT_TYPE, JSON)], text).into_response()
}

/// Writes a value as JSON that can stand within HTML and JavaScript.
pub(super) fn to_text(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|error| {
        // None of the replies can fail: their keys are strings.
        tracing::error!(%error, "a reply cannot be written");
        r#"{"message":"The reply cannot be written."}"#.into()
    });
    escape(&json)
}

/// Escapes characters that are special in HTML or end a line in JavaScript. In JSON such characters are only within strings.
fn escape(json: &str) -> String {
    let special = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    if !json.contains(special) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        if special(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_escaped() {
        let text = to_text(&"<a href=\"x\">&\u{2028}\u{2029}ä</a>");
        let expected = r#""\u003ca href=\"x\"\u003e\u0026\u2028\u2029ä\u003c/a\u003e""#;
        assert_eq!(text, expected);
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, "<a href=\"x\">&\u{2028}\u{2029}ä</a>");
    }
}
