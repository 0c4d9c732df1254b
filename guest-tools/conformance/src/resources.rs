//! The resources that the suite reads: a text, bytes, all of a pattern, and one to watch.

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::{Call, Content, Hints, Reply, Resource, Tool, ToolError};

use crate::HARMLESS;

/// One red pixel.
const PNG: &[u8] = include_bytes!("red.png");

/// Returns a resource by its address.
#[derive(Debug)]
pub(crate) struct ReadResource;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The address.
    uri: String,
}

impl Tool for ReadResource {
    const NAME: &'static str = "test_read_resource";
    const DESCRIPTION: &'static str = "Returns a resource by its address, for testing.";
    const HINTS: Hints = HARMLESS;
    const RESOURCES: &'static [Resource] = &[
        Resource {
            title: Some("A text"),
            media_type: Some("text/plain"),
            ..Resource::new("test://static-text", "static-text")
        },
        Resource {
            title: Some("Bytes"),
            media_type: Some("image/png"),
            ..Resource::new("test://static-binary", "static-binary")
        },
        Resource {
            description: Some("Data with an id"),
            media_type: Some("application/json"),
            ..Resource::new("test://template/{id}/data", "template")
        },
        Resource {
            media_type: Some("text/plain"),
            ..Resource::new("test://watched-resource", "watched-resource")
        },
    ];
    type Arguments = Arguments;

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        let uri = arguments.uri;
        let template = uri.strip_prefix("test://template/");
        let id = template.and_then(|rest| rest.strip_suffix("/data"));
        let (media_type, data) = match (uri.as_str(), id) {
            ("test://static-text", _) => (
                "text/plain",
                b"This is the content of the static text resource.".to_vec(),
            ),
            ("test://static-binary", _) => ("image/png", PNG.to_vec()),
            ("test://watched-resource", _) => ("text/plain", b"Watched resource content".to_vec()),
            (_, Some(id)) => {
                let data = serde_json::json!({
                    "id": id,
                    "templateTest": true,
                    "data": format!("Data for ID: {id}"),
                });
                ("application/json", data.to_string().into_bytes())
            }
            _ => return Err(ToolError::InvalidArguments(format!("there is no {uri}"))),
        };
        Ok(Reply::new().and(Content::Document {
            uri,
            media_type: Some(media_type.to_owned()),
            data: Some(data),
        }))
    }
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::testing;

    use super::*;

    #[test]
    fn what_is_listed_can_be_read_and_nothing_else() {
        for resource in ReadResource::RESOURCES {
            let uri = resource.uri.replace("{id}", "123");
            let arguments = serde_json::json!({ "uri": uri }).to_string();
            let reply = testing::call::<ReadResource>(&arguments).unwrap();
            let [Content::Document { uri: replied, .. }] = reply.content() else {
                panic!("{reply:?}")
            };
            assert_eq!(*replied, uri);
        }
        assert!(testing::call::<ReadResource>(r#"{"uri":"test://other"}"#).is_err());
    }
}
