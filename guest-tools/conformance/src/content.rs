//! Tools that reply one kind of content each, all kinds at once, or an error.

use toolhost_sdk::{Call, Content, Hints, Reply, Tool, ToolError};

use crate::{HARMLESS, Nothing};

/// One red pixel.
const PNG: &[u8] = include_bytes!("red.png");
/// A millisecond of silence.
const WAV: &[u8] = include_bytes!("silence.wav");

/// Replies a text.
#[derive(Debug)]
pub(crate) struct SimpleText;

/// Replies an image.
#[derive(Debug)]
pub(crate) struct ImageContent;

/// Replies a sound.
#[derive(Debug)]
pub(crate) struct AudioContent;

/// Replies a document with its text.
#[derive(Debug)]
pub(crate) struct EmbeddedResource;

/// Replies a text, an image and a document.
#[derive(Debug)]
pub(crate) struct MultipleContentTypes;

/// Replies that it failed.
#[derive(Debug)]
pub(crate) struct ErrorHandling;

impl Tool for SimpleText {
    const NAME: &'static str = "test_simple_text";
    const DESCRIPTION: &'static str = "Returns simple text content, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::text("This is a simple text response for testing."))
    }
}

impl Tool for ImageContent {
    const NAME: &'static str = "test_image_content";
    const DESCRIPTION: &'static str = "Returns image content, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::new().and(image()))
    }
}

impl Tool for AudioContent {
    const NAME: &'static str = "test_audio_content";
    const DESCRIPTION: &'static str = "Returns audio content, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::new().and(Content::Audio {
            media_type: "audio/wav".to_owned(),
            data: WAV.to_vec(),
        }))
    }
}

impl Tool for EmbeddedResource {
    const NAME: &'static str = "test_embedded_resource";
    const DESCRIPTION: &'static str = "Returns an embedded resource, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::new().and(document(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )))
    }
}

impl Tool for MultipleContentTypes {
    const NAME: &'static str = "test_multiple_content_types";
    const DESCRIPTION: &'static str =
        "Returns a text, an image and an embedded resource, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::text("Multiple content types test:")
            .and(image())
            .and(document(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            )))
    }
}

impl Tool for ErrorHandling {
    const NAME: &'static str = "test_error_handling";
    const DESCRIPTION: &'static str = "Always fails, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        Ok(Reply::error(
            "This tool intentionally returns an error for testing",
        ))
    }
}

fn image() -> Content {
    Content::Image {
        media_type: "image/png".to_owned(),
        data: PNG.to_vec(),
    }
}

fn document(uri: &str, media_type: &str, text: &str) -> Content {
    Content::Document {
        uri: uri.to_owned(),
        media_type: Some(media_type.to_owned()),
        data: Some(text.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::testing;

    use super::*;

    fn reply<T: Tool>() -> Reply {
        testing::call::<T>("{}").unwrap()
    }

    #[test]
    fn replies_what_the_suite_asks_for() {
        let text = "This is a simple text response for testing.";
        assert_eq!(reply::<SimpleText>(), Reply::text(text));
        assert_eq!(reply::<ImageContent>().content(), [image()]);
        let audio = reply::<AudioContent>();
        assert!(
            matches!(audio.content(), [Content::Audio { media_type, .. }] if media_type == "audio/wav")
        );
        let text = "This is an embedded resource content.";
        let resource = document("test://embedded-resource", "text/plain", text);
        assert_eq!(reply::<EmbeddedResource>().content(), [resource]);
    }

    #[test]
    fn keeps_the_order_of_several_parts() {
        let reply = reply::<MultipleContentTypes>();
        let [
            Content::Text(text),
            Content::Image { .. },
            Content::Document { uri, data, .. },
        ] = reply.content()
        else {
            panic!("{reply:?}");
        };
        assert_eq!(text, "Multiple content types test:");
        assert_eq!(uri, "test://mixed-content-resource");
        let json: serde_json::Value = serde_json::from_slice(data.as_ref().unwrap()).unwrap();
        assert_eq!(json, serde_json::json!({ "test": "data", "value": 123 }));
    }

    #[test]
    fn fails_with_a_text() {
        let reply = reply::<ErrorHandling>();
        assert!(reply.is_error());
        let text = "This tool intentionally returns an error for testing";
        assert_eq!(reply.content(), [Content::Text(text.to_owned())]);
    }

    #[test]
    fn images_and_sounds_are_what_they_say() {
        assert_eq!(PNG.get(..8), Some(b"\x89PNG\r\n\x1a\n".as_slice()));
        assert_eq!(WAV.get(..4), Some(b"RIFF".as_slice()));
        assert_eq!(WAV.get(8..12), Some(b"WAVE".as_slice()));
    }

    #[test]
    fn takes_no_arguments() {
        let error = testing::call::<SimpleText>(r#"{"a": 1}"#).unwrap_err();
        assert!(matches!(error, ToolError::InvalidArguments(_)), "{error}");
    }
}
