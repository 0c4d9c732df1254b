//! The approval hook as a URL.

use std::path::PathBuf;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode};
use serde::Deserialize;

use super::{Answer, ApprovalError};
use crate::client;
use toolhost_state::trusted::read_private;

/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// A header that is sent with every question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A URL that approves or refuses calls. [`super`] describes the question and the answer.
#[derive(Debug)]
pub struct Url {
    url: reqwest::Url,
    headers: HeaderMap,
    token_file: Option<PathBuf>,
    client: Client,
}

#[derive(Deserialize)]
struct Reply {
    approved: bool,
    #[serde(default)]
    reason: String,
}

impl Url {
    /// Makes a hook that sends these headers and, if `token_file` is given, the bearer token in that file. The file is read
    /// anew for every question.
    ///
    /// # Errors
    ///
    /// If the URL is not an absolute `http` or `https` URL, if a header is not valid, or if the token file is not private.
    pub fn new(
        url: &str,
        headers: &[Header],
        token_file: Option<PathBuf>,
    ) -> Result<Self, ApprovalError> {
        let unusable = |problem: String| ApprovalError::Url {
            url: url.to_owned(),
            problem,
        };
        let (parsed, client) = client::of_url(url).map_err(unusable)?;
        let mut map = HeaderMap::new();
        for header in headers {
            let bad = || ApprovalError::Header(header.name.clone());
            let name: HeaderName = header.name.parse().map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(&header.value).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(path) = &token_file {
            read_private(path)?;
        }
        Ok(Self {
            url: parsed,
            headers: map,
            token_file,
            client,
        })
    }

    /// Sends the question, and returns the answer, or the reason why there is none.
    pub(super) async fn ask(&self, body: Vec<u8>) -> Result<Answer, String> {
        let mut headers = self.headers.clone();
        if let Some(value) = self.token().await? {
            headers.insert(AUTHORIZATION, value);
        }
        let request = self
            .client
            .post(self.url.clone())
            .headers(headers)
            .body(body);
        let problem = |error: reqwest::Error| {
            let mut text = client::cause(&error).to_string();
            text.truncate(text.floor_char_boundary(500));
            text
        };
        let mut response = request.send().await.map_err(problem)?;
        if response.status() != StatusCode::OK {
            return Err(format!("it answered with status {}", response.status()));
        }
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(problem)? {
            if answer.len() + chunk.len() > MAX_ANSWER {
                return Err(format!("its answer has more than {MAX_ANSWER} bytes"));
            }
            answer.extend_from_slice(&chunk);
        }
        let reply: Reply = serde_json::from_slice(&answer)
            .map_err(|error| format!("its answer is not what it should be: {error}"))?;
        Ok(if reply.approved {
            Answer::Granted
        } else {
            Answer::refused(reply.reason.as_bytes())
        })
    }

    async fn token(&self) -> Result<Option<HeaderValue>, String> {
        let Some(path) = &self.token_file else {
            return Ok(None);
        };
        let path = path.clone();
        let read = tokio::task::spawn_blocking(move || read_private(&path)).await;
        let text = read.map_err(|error| error.to_string())?;
        let text = text.map_err(|error| format!("its token cannot be used: {error}"))?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
            .map_err(|_| "its token cannot be used: it is no text of a header".to_owned())?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let error = |url: &str| Url::new(url, &[], None).unwrap_err().to_string();
        insta::assert_snapshot!(error("ftp://localhost/x"), @r#"the URL "ftp://localhost/x" of the approval hook cannot be asked: its scheme must be http or https"#);
        insta::assert_snapshot!(error("localhost"), @r#"the URL "localhost" of the approval hook cannot be asked: it is no URL: relative URL without a base"#);
        let headers = [Header {
            name: "a b".into(),
            value: "x".into(),
        }];
        let error = Url::new("http://localhost", &headers, None).unwrap_err();
        insta::assert_snapshot!(error, @r#"the header "a b" of the approval hook cannot be sent"#);
    }
}
