//! Outcomes of calls as results of `tools/call`.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

use toolhost_call::call::Outcome;
use toolhost_call::tool::Content;
use toolhost_http::time::milliseconds;
use toolhost_state::id::ChatId;

/// Renders an outcome. The parts are those of the reply, in their order. The first part that is JSON is also the structured
/// content, for a client that wants it.
pub(super) fn result(chat: &ChatId, outcome: &Outcome, structured: bool) -> CallToolResult {
    let mut meta = object(json!({
        "io.toolhost/chat": chat.as_str(),
        "io.toolhost/call": outcome.id.as_str(),
        "io.toolhost/state": outcome.state(),
        "io.toolhost/durationMs": milliseconds(outcome.duration),
    }));
    if !outcome.processes.is_empty() {
        meta.insert(
            "io.toolhost/processes".into(),
            outcome.processes.clone().into(),
        );
    }
    let mut result = match &outcome.result {
        Ok(reply) => {
            let content = reply.content.iter().map(block).collect();
            let mut result = CallToolResult::success(content);
            result.is_error = Some(reply.is_error);
            let json = reply.structured().filter(|_| structured);
            let json = json.and_then(|json| serde_json::from_str::<Value>(json.get()).ok());
            // Nothing else may be structured content, and a client refuses the whole reply for it.
            result.structured_content = json.filter(Value::is_object);
            result
        }
        Err(error) => {
            let kind = serde_json::to_value(error.kind).unwrap_or_default();
            meta.insert("io.toolhost/error".into(), kind);
            CallToolResult::error(vec![ContentBlock::text(error.message.clone())])
        }
    };
    result.meta = Some(meta);
    result
}

/// Renders the reason why no tool ran, for a model that may try again.
pub(super) fn refusal(
    word: &str,
    retry_after: Option<u64>,
    message: impl Display,
) -> CallToolResult {
    let mut meta = object(json!({ "io.toolhost/error": word }));
    if let Some(seconds) = retry_after {
        meta.insert("io.toolhost/retryAfter".into(), seconds.into());
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(message.to_string())]);
    result.meta = Some(meta);
    result
}

fn block(part: &Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text.clone()),
        // Models read it as text.
        Content::Json { json } => ContentBlock::text(json.get()),
        Content::Image { media_type, data } => {
            ContentBlock::image(BASE64.encode(data), media_type.clone())
        }
        Content::Audio { media_type, data } => {
            ContentBlock::audio(BASE64.encode(data), media_type.clone())
        }
        Content::Document {
            uri,
            media_type,
            data,
        } => match data {
            Some(data) => ContentBlock::resource(contents(uri, media_type.as_deref(), data)),
            None => {
                let name = uri.rsplit('/').find(|part| !part.is_empty());
                let mut link = Resource::new(uri.clone(), name.unwrap_or(uri));
                link.mime_type.clone_from(media_type);
                ContentBlock::resource_link(link)
            }
        },
    }
}

/// Returns bytes as contents of a resource: as text if they are UTF-8 and their media type is a text type or absent.
pub(super) fn contents(uri: &str, media_type: Option<&str>, data: &[u8]) -> ResourceContents {
    let contents = match std::str::from_utf8(data) {
        Ok(text) if media_type.is_none_or(is_text) => ResourceContents::text(text, uri),
        _ => ResourceContents::blob(BASE64.encode(data), uri),
    };
    match media_type {
        Some(media_type) => contents.with_mime_type(media_type),
        None => contents,
    }
}

fn is_text(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || ["application/json", "application/xml", "application/yaml"].contains(&essence.as_str())
}

pub(super) fn object(value: Value) -> MetaObject {
    match value {
        Value::Object(fields) => MetaObject(fields),
        _ => MetaObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use toolhost_call::tool::{ErrorKind, Reply, ToolError};

    fn rendered(result: Result<Reply, ToolError>) -> Value {
        let outcome = Outcome {
            processes: vec!["p1".into()],
            duration: Duration::from_millis(5),
            ..Outcome::new("call_1".parse().unwrap(), "t", result)
        };
        let chat = "c".parse().unwrap();
        let render = |structured| {
            let result = super::result(&chat, &outcome, structured);
            serde_json::to_value(result).unwrap()
        };
        let mut structured = render(true);
        let text = render(false);
        assert!(text.get("structuredContent").is_none(), "{text}");
        let content = structured.as_object_mut().unwrap();
        let content = content.remove("structuredContent");
        assert_eq!(structured, text);
        if let Some(content) = content {
            structured["structuredContent"] = content;
        }
        structured
    }

    #[test]
    fn every_kind_of_content_has_its_block() {
        let document = |uri: &str, media_type: Option<&str>, data: Option<&[u8]>| {
            let (media_type, data) = (media_type.map(str::to_owned), data.map(<[u8]>::to_vec));
            Content::Document {
                uri: uri.into(),
                media_type,
                data,
            }
        };
        let json = serde_json::value::RawValue::from_string(r#"{"b":1,"a":2}"#.into()).unwrap();
        let content = vec![
            Content::Text { text: "hi".into() },
            Content::Json { json },
            Content::Image {
                media_type: "image/png".into(),
                data: vec![1, 2, 3],
            },
            Content::Audio {
                media_type: "audio/wav".into(),
                data: vec![1, 2, 3],
            },
            document("x://a/note", Some("text/markdown"), Some(b"# a")),
            document("x://a/raw", None, Some(&[0xff])),
            document("x://a/archive", Some("application/zip"), Some(b"PK")),
            document("x://a/link.txt", Some("text/plain"), None),
        ];
        let value = rendered(Ok(Reply {
            content,
            is_error: false,
        }));
        assert_eq!(
            value["content"],
            json!([
                { "type": "text", "text": "hi" },
                { "type": "text", "text": r#"{"b":1,"a":2}"# },
                { "type": "image", "data": "AQID", "mimeType": "image/png" },
                { "type": "audio", "data": "AQID", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "x://a/note", "mimeType": "text/markdown", "text": "# a" } },
                { "type": "resource", "resource": { "uri": "x://a/raw", "blob": "/w==" } },
                { "type": "resource", "resource": { "uri": "x://a/archive", "mimeType": "application/zip", "blob": "UEs=" } },
                { "type": "resource_link", "uri": "x://a/link.txt", "name": "link.txt", "mimeType": "text/plain" },
            ])
        );
        assert_eq!(value["structuredContent"], json!({ "b": 1, "a": 2 }));
        assert_eq!(value["isError"], false);
        assert_eq!(
            value["_meta"],
            json!({
                "io.toolhost/chat": "c", "io.toolhost/call": "call_1", "io.toolhost/state": "finished",
                "io.toolhost/durationMs": 5, "io.toolhost/processes": ["p1"],
            })
        );
    }

    #[test]
    fn an_error_is_a_result_with_its_text() {
        let error = ToolError::new(ErrorKind::InvalidArguments, "command is required");
        let value = rendered(Err(error));
        assert_eq!(value["isError"], true);
        assert_eq!(value["content"][0]["text"], "command is required");
        assert_eq!(value["_meta"]["io.toolhost/error"], "invalid_arguments");
        let reply = Reply {
            content: vec![Content::Text { text: "no".into() }],
            is_error: true,
        };
        assert_eq!(rendered(Ok(reply))["isError"], true);
    }
}
