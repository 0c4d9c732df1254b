//! The parts of an address that a request needs.

use super::Error;

/// An address, in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) is_https: bool,
    /// The host, and the port if there is one.
    pub(crate) authority: &'a str,
    /// The path and the query: `/` if there are none.
    pub(crate) path: String,
}

impl<'a> Url<'a> {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], which names the missing part.
    pub(crate) fn read(url: &'a str) -> Result<Self, Error> {
        let invalid = |reason: &str| Error::Invalid(format!("the address {url:?} {reason}"));
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| invalid("does not start with https:// or http://"))?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err(invalid("does not start with https:// or http://"));
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid("has characters that must be percent-encoded"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() {
            return Err(invalid("has no host"));
        }
        if authority.contains('@') {
            return Err(invalid(
                "has a name or password before its host; send them in a header",
            ));
        }
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/{path}"),
        };
        Ok(Self {
            is_https,
            authority,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_parts_of_an_address() {
        for (url, is_https, authority, path) in [
            ("https://example.com", true, "example.com", "/"),
            ("HTTP://[::1]:80/a/b?c=/d#e", false, "[::1]:80", "/a/b?c=/d"),
            ("http://a?b", false, "a", "/?b"),
            ("http://a#b/c", false, "a", "/"),
        ] {
            let path = path.to_owned();
            let expected = Url {
                is_https,
                authority,
                path,
            };
            assert_eq!(Url::read(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn refuses_what_is_no_address() {
        for (url, words) in [
            ("example.com", "does not start with https://"),
            ("ftp://example.com", "does not start with https://"),
            ("https:///a", "has no host"),
            ("https://", "has no host"),
            ("https://a:b@c/", "has a name or password"),
            ("https://a/b c", "must be percent-encoded"),
            ("https://a/é", "must be percent-encoded"),
        ] {
            let error = Url::read(url).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}
