//! Request bodies, decoded as leniently as the reference does.

use axum::extract::Request;
use axum::http::StatusCode;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;

use super::BODY_BYTES;
use super::error::ApiError;
use toolhost_http::body::{self, BodyError};

/// Reads the body of a request and decodes it.
pub(super) async fn read<T: DeserializeOwned + Default>(request: Request) -> Result<T, ApiError> {
    let read = body::read(request, BODY_BYTES).await;
    let read = read.map_err(|error| match error {
        BodyError::Broken(detail) => not_json(detail),
        error => error.into(),
    })?;
    decode(&read.bytes).map_err(not_json)
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        let broke_off =
            |status, detail| Self::new(status, "Request body broke off.").detail(detail);
        match error {
            BodyError::TooLarge(most) => {
                let message = format!("Request body must have at most {most} bytes.");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
            }
            BodyError::Slow => {
                let message = "Request body took too long.";
                Self::new(StatusCode::REQUEST_TIMEOUT, message)
            }
            BodyError::Broken(detail) => broke_off(StatusCode::INTERNAL_SERVER_ERROR, detail),
            BodyError::Stopping(stopping) => {
                broke_off(StatusCode::SERVICE_UNAVAILABLE, stopping.to_string())
            }
            BodyError::Busy(busy) => busy.into(),
        }
    }
}

fn not_json(detail: String) -> ApiError {
    ApiError::bad_request("Request body must be valid JSON.").detail(detail)
}

/// Decodes the first JSON value and ignores the bytes after it. `null` is a value with nothing set. Bytes that are not UTF-8
/// become U+FFFD. If a key occurs twice, the last one counts.
fn decode<T: DeserializeOwned + Default>(bytes: &[u8]) -> Result<T, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    match values.next() {
        None => Err("the body is empty".into()),
        Some(Err(error)) => Err(error.to_string()),
        Some(Ok(Value::Null)) => Ok(T::default()),
        Some(Ok(value @ Value::Object(_))) => {
            T::deserialize(value).map_err(|error| error.to_string())
        }
        Some(Ok(_)) => Err("the body is no JSON object".into()),
    }
}

/// Decodes a field in which `null` counts as absent.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Eq, serde::Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "nullable")]
        text: String,
    }

    #[test]
    fn only_the_first_value_counts() {
        for (json, text) in [
            (r#"{"text":"a"}"#, "a"),
            (r#" {"text":"a","more":[1]} garbage"#, "a"),
            (r#"{"text":"a"}{"text":"b"}"#, "a"),
            (r#"{"text":"a","text":"b"}"#, "b"),
            (r#"{"text":null}"#, ""),
            ("{}", ""),
            ("null", ""),
            ("null {", ""),
        ] {
            let body: Body = decode(json.as_bytes()).unwrap();
            assert_eq!(body.text, text, "{json}");
        }
        let body: Body = decode(b"{\"text\":\"a\xffb\"}").unwrap();
        assert_eq!(body.text, "a\u{FFFD}b");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in [
            "",
            " ",
            "{",
            "[]",
            r#"["a"]"#,
            "1",
            r#""a""#,
            r#"{"text":1}"#,
        ] {
            assert!(decode::<Body>(json.as_bytes()).is_err(), "{json}");
        }
    }
}
