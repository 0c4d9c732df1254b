//! HTTP requests, with the feature `http` of this crate.
//!
//! Write the logic of a tool against `&dyn` [`Http`]: give it [`Host`] when it runs, and a
//! [`FakeHttp`](crate::testing::FakeHttp) in tests. A plugin that names [`Host`] imports `wasi:http`, and needs the grant
//! `http` for the hosts that it sends to. A request waits until the whole response is there; for streams or several requests at
//! once, use the crate `wstd` instead.

#[cfg(target_family = "wasm")]
mod codes;
mod host;
mod url;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

pub use host::Host;
pub(crate) use url::Url;

/// Sends requests.
pub trait Http: fmt::Debug {
    /// Sends a request, and reads the whole response. A response of any status is one, also 404.
    ///
    /// # Errors
    ///
    /// The [`Error`] says why there is no response, or for [`Error::UnknownOutcome`] that the request may have been served.
    fn send(&self, request: &Request) -> Result<Response, Error>;
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, in capital letters.
    pub method: String,
    /// The address: `http://` or `https://`, a host, a path and a query, with percent-encoding where they need it.
    pub url: String,
    /// Names and values, in this order. The host sets `host` and `content-length`.
    pub headers: Vec<(String, String)>,
    /// The body; empty: none.
    pub body: Vec<u8>,
    /// The longest time to connect, and the longest time without any byte; `None`: as long as the call may take.
    pub timeout: Option<Duration>,
    /// The most bytes that the body of the response may have; 4 MiB unless it is changed.
    pub max_response: usize,
}

impl Request {
    /// Makes a request without headers and body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: None,
            max_response: 4 << 20,
        }
    }

    /// Makes a request with the method GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Makes a request with the method POST, and a body of this media type.
    pub fn post(url: impl Into<String>, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::new("POST", url).header("content-type", media_type);
        request.body = body.into();
        request
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The status, as 200.
    pub status: u16,
    /// Names in small letters and values, in the order of the response. Bytes of values that are not UTF-8 are U+FFFD.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first header of this name, in letters of any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let header = headers.find(|(one, _)| one.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// Returns the body as a text; bytes that are not UTF-8 are U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

/// Why there is no response. The texts are for the model to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The operator lets the plugin send no requests there.
    Denied(String),
    /// The request cannot be sent as it is.
    Invalid(String),
    /// There was no connection. The request was not served.
    Unavailable(String),
    /// The connection broke. The request may have been served.
    UnknownOutcome(String),
    /// The body of the response is larger than this many bytes, which the request allows.
    TooLarge(usize),
    /// It failed in another way.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(most) => write!(f, "the response has more than {most} bytes"),
            Self::Denied(text)
            | Self::Invalid(text)
            | Self::Unavailable(text)
            | Self::UnknownOutcome(text)
            | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
