//! Query parameters of the file endpoints. Unlike the process endpoints, these refuse unknown parameters, and report all
//! problems at once.

use std::borrow::Cow;

use crate::error::{ApiError, quote};
use crate::query::Parameters;

/// The largest number: what an offset into a file can be.
const MAX_NUMBER: u64 = i64::MAX.unsigned_abs();

/// The parameters of one request, as far as they were asked for.
#[derive(Debug)]
pub(super) struct Query<'a> {
    parameters: &'a Parameters,
    known: Vec<&'static str>,
    /// Each with its name.
    wrong: Vec<(Cow<'static, str>, String)>,
}

impl<'a> Query<'a> {
    pub(super) fn new(parameters: &'a Parameters) -> Self {
        Self {
            parameters,
            known: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Returns the text of a parameter; an empty one if it is absent.
    pub(super) fn text(&mut self, name: &'static str) -> &'a str {
        self.known.push(name);
        self.parameters.text(name).unwrap_or_default()
    }

    /// Returns the text of a required parameter.
    pub(super) fn required(&mut self, name: &'static str) -> &'a str {
        let text = self.text(name);
        if text.is_empty() {
            let detail = format!("Query param {name:?} is required.");
            self.wrong.push((name.into(), detail));
        }
        text
    }

    /// Returns the number that a parameter is; `None` if it is absent or none.
    pub(super) fn number(&mut self, name: &'static str) -> Option<u64> {
        let text = self.text(name);
        if text.is_empty() {
            return None;
        }
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // `parse` would take a sign as well.
        let number = text.parse().ok().filter(|_| digits(text));
        if let Some(number) = number.filter(|number| *number <= MAX_NUMBER) {
            return Some(number);
        }
        let why = match text.strip_prefix('-') {
            Some(rest) if digits(rest) => ": value is negative",
            _ => ".",
        };
        let detail = format!("Query param {name:?} must be a whole number from 0 to 2^63-1{why}");
        self.wrong.push((name.into(), detail));
        None
    }

    /// Refuses the request if a parameter is wrong or unknown. A parameter is unknown if no method of this type was called with
    /// its name.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        let mut unknown: Vec<_> = self.parameters.names().collect();
        unknown.retain(|name| !self.known.contains(name));
        unknown.sort_unstable();
        unknown.dedup();
        self.wrong.extend(unknown.into_iter().map(|name| {
            let detail = format!("Query param {} is not a valid query param.", quote(name));
            (name.to_owned().into(), detail)
        }));
        let mut wrong = self.wrong.into_iter();
        let Some((field, detail)) = wrong.next() else {
            return Ok(());
        };
        let first = ApiError::invalid(field, detail);
        Err(wrong.fold(first, |error, (field, detail)| {
            error.validation(field, detail)
        }))
    }
}
