//! A call as text for people. All texts of tools are escaped.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::calls::table::{state, took};
use crate::cli::{remote, table};
use toolhost_call::call::Outcome;
use toolhost_call::tool::Content;
use toolhost_plugin::shown;
use toolhost_server::{ListedCall, ListedState};

/// Returns everything about a call.
pub(super) fn render(call: &ListedCall, content: &remote::Content) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            lines.push(format!("{name:<9}  {value}"));
        }
    };
    field("call", Some(call.id.clone()));
    field("chat", Some(call.chat.clone()));
    field("tool", Some(shown(&call.tool)));
    field("token", call.token.as_deref().map(shown));
    field("state", Some(state(call).to_owned()));
    field("began", Some(table::time(call.began_at_unix_ms)));
    field("ended", call.ended_at_unix_ms.map(table::time));
    field("took", took(call));
    let time = |ms| table::duration(Duration::from_millis(ms));
    field("queued", call.queued_ms.filter(|ms| *ms > 0).map(time));
    field("guest", call.guest_ms.map(time));
    let outcome = content.reply.as_deref().map(RawValue::get);
    let outcome = outcome.map(serde_json::from_str::<Outcome>).transpose()?;
    let processes = outcome.iter().flat_map(|outcome| &outcome.processes);
    let processes: Vec<_> = processes.map(|process| shown(process)).collect();
    field(
        "processes",
        (!processes.is_empty()).then(|| processes.join(", ")),
    );
    lines.extend(["".to_owned(), "arguments".to_owned()]);
    match &content.arguments {
        Some(arguments) => value(&serde_json::from_str(arguments.get())?, &mut lines),
        None => lines.push("  (not kept; the host keeps them with --keep-arguments)".to_owned()),
    }
    lines.extend(["".to_owned(), "reply".to_owned()]);
    match &outcome {
        Some(outcome) => reply(outcome, &mut lines)?,
        None => lines.push(format!("  ({})", missing(call))),
    }
    Ok(lines.join("\n"))
}

/// Returns why there is no reply.
fn missing(call: &ListedCall) -> &'static str {
    match call.state {
        ListedState::Running => "the call runs",
        ListedState::Unknown => "unknown: the host stopped while the call ran",
        _ => "no longer kept",
    }
}

fn reply(outcome: &Outcome, lines: &mut Vec<String>) -> anyhow::Result<()> {
    match &outcome.result {
        Ok(reply) => parts(&reply.content, lines),
        Err(error) => {
            block(&error.message, lines);
            Ok(())
        }
    }
}

/// Adds the parts of a reply.
pub(in crate::cli) fn parts(content: &[Content], lines: &mut Vec<String>) -> anyhow::Result<()> {
    for part in content {
        match part {
            Content::Text { text } => block(text, lines),
            Content::Json { json } => value(&serde_json::from_str(json.get())?, lines),
            Content::Image { media_type, data } | Content::Audio { media_type, data } => {
                lines.push(format!("  ({}, {} bytes)", shown(media_type), data.len()));
            }
            Content::Document {
                uri,
                media_type,
                data,
            } => {
                let kind = media_type.as_deref().unwrap_or("a document");
                let size = data.as_ref().map(|data| format!(", {} bytes", data.len()));
                let size = size.unwrap_or_default();
                lines.push(format!("  ({}: {}{size})", shown(uri), shown(kind)));
            }
        }
    }
    Ok(())
}

/// Adds a value: each field of an object on a line of its own, and a text of several lines as these lines.
pub(in crate::cli) fn value(value: &Value, lines: &mut Vec<String>) {
    let Value::Object(fields) = value else {
        return match value {
            Value::String(text) => block(text, lines),
            other => block(&format!("{other:#}"), lines),
        };
    };
    for (name, value) in fields {
        let name = shown(name);
        let text = match value {
            Value::String(text) => text.trim_end_matches('\n').to_owned(),
            Value::Array(_) | Value::Object(_) => format!("{value:#}"),
            other => other.to_string(),
        };
        if text.contains('\n') {
            lines.push(format!("  {name}:"));
            lines.extend(text.split('\n').map(|line| indented(4, line)));
        } else {
            lines.push(indented(2, &format!("{name}: {text}")));
        }
    }
}

/// Adds the lines of a text.
pub(in crate::cli) fn block(text: &str, lines: &mut Vec<String>) {
    let text = text.trim_end_matches('\n');
    lines.extend(text.split('\n').map(|line| indented(2, line)));
}

/// Returns a line behind some spaces. A tab in it stays one.
fn indented(width: usize, line: &str) -> String {
    let parts: Vec<_> = line.split('\t').map(shown).collect();
    format!("{:width$}{}", "", parts.join("\t"))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown_of(reply: Value, arguments: Option<Value>) -> String {
        let raw = |value: Value| RawValue::from_string(value.to_string()).unwrap();
        let call = ListedCall {
            chat: "support-42".into(),
            id: "3.call_0".into(),
            tool: "execute".into(),
            state: ListedState::Finished,
            success: Some(true),
            token: Some("chat-server".into()),
            began_at_unix_ms: 0,
            ended_at_unix_ms: Some(12),
            duration_ms: None,
            queued_ms: Some(0),
            guest_ms: Some(3),
            arguments_bytes: None,
            reply_bytes: Some(1),
        };
        let content = remote::Content {
            arguments: arguments.map(raw),
            reply: Some(raw(reply)),
        };
        render(&call, &content).unwrap()
    }

    fn outcome(content: &Value) -> Value {
        json!({
            "id": "3.call_0", "tool": "execute", "state": "finished", "is_error": false, "content": content, "processes": ["p-1"],
            "duration_ms": 12, "queued_ms": 0,
        })
    }

    #[test]
    fn a_reply_is_shown_as_a_person_reads_it() {
        let reply = json!({ "success": true, "output": "a\n\tb\u{1b}[2J\n", "exit_code": 0 });
        let text = shown_of(
            outcome(&json!([{ "type": "json", "json": reply }])),
            Some(json!({ "command": "make", "env": { "A": "b" } })),
        );
        let (head, rest) = text.split_once("\n\n").unwrap();
        let head: Vec<_> = head.lines().collect();
        assert_eq!(head[0], "call       3.call_0");
        assert!(head.contains(&"took       12ms"), "{head:?}");
        assert!(head.contains(&"guest      3ms"), "{head:?}");
        assert!(head.contains(&"processes  p-1"), "{head:?}");
        let expected = "arguments\n  command: make\n  env:\n    {\n      \"A\": \"b\"\n    }\n\nreply\n  success: true\n  output:\n    a\n";
        assert!(rest.starts_with(expected), "{rest}");
        assert!(rest.ends_with("\n  exit_code: 0"), "{rest}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn other_replies_are_named() {
        let text = shown_of(
            outcome(&json!([
                { "type": "text", "text": "one\ntwo\n" },
                { "type": "image", "media_type": "image/png", "data": "AAAA" },
            ])),
            None,
        );
        let expected = "\n  (not kept; the host keeps them with --keep-arguments)\n\nreply\n  one\n  two\n  (image/png, 3 bytes)";
        assert!(text.ends_with(expected), "{text}");
    }
}
