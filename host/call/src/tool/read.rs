//! Parts of a reply, read back from their serialized form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Content;

/// Every field that a part of any kind may have. Derived reading of tagged enums loses the bytes of raw JSON.
#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    json: Option<Box<RawValue>>,
    uri: Option<String>,
    media_type: Option<String>,
    data: Option<String>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = Part::deserialize(deserializer)?;
        let data = part.data.map(|data| BASE64.decode(data));
        let data = data.transpose().map_err(D::Error::custom)?;
        let missing = D::Error::missing_field;
        let blob = |media_type: Option<String>, data: Option<Vec<u8>>| {
            let media_type = media_type.ok_or_else(|| missing("media_type"))?;
            Ok((media_type, data.ok_or_else(|| missing("data"))?))
        };
        Ok(match part.kind.as_str() {
            "text" => Self::Text {
                text: part.text.ok_or_else(|| missing("text"))?,
            },
            "json" => Self::Json {
                json: part.json.ok_or_else(|| missing("json"))?,
            },
            "image" => {
                let (media_type, data) = blob(part.media_type, data)?;
                Self::Image { media_type, data }
            }
            "audio" => {
                let (media_type, data) = blob(part.media_type, data)?;
                Self::Audio { media_type, data }
            }
            "document" => Self::Document {
                uri: part.uri.ok_or_else(|| missing("uri"))?,
                media_type: part.media_type,
                data,
            },
            other => {
                const KINDS: &[&str] = &["text", "json", "image", "audio", "document"];
                return Err(D::Error::unknown_variant(other, KINDS));
            }
        })
    }
}
