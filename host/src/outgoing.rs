//! HTTP requests that plugins send: where they may go, and how they get there.

use std::convert::Infallible;
use std::str::FromStr;

/// Where requests may go: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl FromStr for Pattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}
