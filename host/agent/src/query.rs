//! Query parameters. As in the reference, if a parameter is repeated, the first one counts, and an empty parameter is absent. The
//! endpoints of processes ignore unknown parameters; those of files refuse them. All problems are reported at once.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::error::{ApiError, quote};

/// The largest number of a parameter, and its text in errors.
type Most = (u64, &'static str);

/// Any number.
pub(super) const ANY: Most = (u64::MAX, "2^64-1");

/// The largest offset into a file.
pub(super) const OFFSET: Most = (i64::MAX.unsigned_abs(), "2^63-1");

/// The parameters of a request, and the problems that were found so far.
#[derive(Debug, Default)]
pub(super) struct Query {
    parameters: Vec<(String, String)>,
    known: Vec<&'static str>,
    /// The problems, each with the name of its parameter.
    wrong: Vec<(Cow<'static, str>, String)>,
}

impl Query {
    /// Returns the text of a parameter; `None` if it is absent or empty.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let mut all = self.parameters.iter();
        let (_, value) = all.find(|(key, _)| key == name)?;
        Some(value.clone()).filter(|value| !value.is_empty())
    }

    /// Returns the text of a required parameter.
    pub(super) fn required(&mut self, name: &'static str) -> String {
        let text = self.text(name);
        text.unwrap_or_else(|| self.reject(name, "is required."))
    }

    /// Parses a parameter as a number; `None` if it is absent or invalid.
    pub(super) fn number(&mut self, name: &'static str, (most, shown): Most) -> Option<u64> {
        let text = self.text(name)?;
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Check for digits, because `parse` would also accept a sign.
        let number = text.parse().ok();
        let number = number.filter(|number| digits(&text) && *number <= most);
        if number.is_none() {
            let why = match text.strip_prefix('-') {
                Some(rest) if digits(rest) => ": value is negative",
                _ => ".",
            };
            let problem = format!("must be a whole number from 0 to {shown}{why}");
            self.reject(name, &problem)
        }
        number
    }

    /// Returns whether a parameter is `true`; `false` if it is absent or invalid.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        let text = self.text(name);
        if !matches!(text.as_deref(), Some("true" | "false") | None) {
            self.reject(name, "must be true or false.")
        }
        text.as_deref() == Some("true")
    }

    /// Records a problem with a parameter, and returns the default value.
    fn reject<T: Default>(&mut self, name: &'static str, problem: &str) -> T {
        let detail = format!("Query param {name:?} {problem}");
        self.wrong.push((name.into(), detail));
        T::default()
    }

    /// Refuses the request if a parameter that was read is invalid.
    pub(super) fn finish(&mut self) -> Result<(), ApiError> {
        let mut wrong = std::mem::take(&mut self.wrong).into_iter();
        let Some((field, detail)) = wrong.next() else {
            return Ok(());
        };
        let first = ApiError::invalid(field, detail);
        Err(wrong.fold(first, |error, (field, detail)| {
            error.validation(field, detail)
        }))
    }

    /// Refuses the request if a parameter is invalid or unknown.
    pub(super) fn finish_strictly(mut self) -> Result<(), ApiError> {
        let names = self.parameters.iter().map(|(name, _)| name);
        let unknown = names.filter(|name| !self.known.contains(&name.as_str()));
        let unknown: std::collections::BTreeSet<_> = unknown.cloned().collect();
        self.wrong.extend(unknown.into_iter().map(|name| {
            let detail = format!("Query param {} is not a valid query param.", quote(&name));
            (name.into(), detail)
        }));
        self.finish()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let parameters = axum::extract::Query::from_request_parts(parts, state).await;
        Ok(Self {
            parameters: parameters.map_or_else(|_| Vec::new(), |query| query.0),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Query {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Query {
            parameters: pairs.iter().map(pair).collect(),
            ..Query::default()
        }
    }

    #[test]
    fn numbers_are_digits_only() {
        let number = |text, most| {
            let mut query = of(&[("n", text)]);
            let number = query.number("n", most);
            query.finish_strictly().map(|()| number)
        };
        let most = "18446744073709551615";
        assert_eq!(number(most, ANY).unwrap(), Some(u64::MAX));
        assert_eq!(number("", ANY).unwrap(), None);
        assert!(number("9223372036854775807", OFFSET).is_ok());
        assert!(number("9223372036854775808", OFFSET).is_err());
        for bad in ["-1", "+1", "1.5", "x", "18446744073709551616", " 1"] {
            assert!(number(bad, ANY).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_counts() {
        let mut query = of(&[("a", "true"), ("a", "x")]);
        assert!(query.flag("a"));
        assert!(!query.flag("b"));
        query.finish_strictly().unwrap();
        let mut query = of(&[("a", "1")]);
        query.flag("a");
        assert!(query.finish().is_err());
        assert!(of(&[("a", "1")]).finish_strictly().is_err());
    }
}
