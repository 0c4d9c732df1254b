//! Query parameters. As in the reference, the endpoints of processes ignore those that they do not know, and the first of
//! several counts.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;

use super::error::ApiError;

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Returns the text of a parameter; `None` if it is absent or empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        let (_, value) = all.find(|(key, _)| key == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the names of all parameters, each as often as it occurs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the number that a parameter is.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, ApiError> {
        let parse = |text: &str| {
            // `parse` would take a sign as well.
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = if digits { text.parse().ok() } else { None };
            number.ok_or_else(|| {
                let detail =
                    format!("Query param {name:?} must be a whole number from 0 to 2^64-1.");
                ApiError::invalid(name, detail)
            })
        };
        self.text(name).map(parse).transpose()
    }

    /// Returns whether a parameter is `true`; an absent one is not.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, ApiError> {
        match self.text(name) {
            Some("true") => Ok(true),
            Some("false") | None => Ok(false),
            Some(_) => {
                let detail = format!("Query param {name:?} must be true or false.");
                Err(ApiError::invalid(name, detail))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let query = Query::from_request_parts(parts, state).await;
        Ok(query.map_or_else(|_| Self::default(), |Query(pairs)| Self(pairs)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Parameters {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Parameters(pairs.iter().map(pair).collect())
    }

    #[test]
    fn numbers_are_digits_only() {
        let number = |text| of(&[("n", text)]).number("n");
        assert_eq!(number("18446744073709551615").unwrap(), Some(u64::MAX));
        assert_eq!(number("").unwrap(), None);
        for bad in ["-1", "+1", "1.5", "x", "18446744073709551616", " 1"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_counts() {
        let parameters = of(&[("a", "true"), ("a", "x")]);
        assert!(parameters.flag("a").unwrap());
        assert!(!parameters.flag("b").unwrap());
        assert!(of(&[("a", "1")]).flag("a").is_err());
    }
}
