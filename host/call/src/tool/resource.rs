//! Documents with an address that a tool returns, and the patterns of their addresses.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// The longest pattern of an address, in bytes.
const MAX_PATTERN: usize = 1024;

/// The longest address that fits a pattern, in bytes.
const MAX_URI: usize = 8192;

/// The scheme that is reserved for the host itself.
const OWN_SCHEME: &str = "toolhost:";

/// Documents that a tool returns when it is called with `{"uri": …}`: one with a fixed address, or all whose address fits a
/// pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    /// The address, or a URI template (RFC 6570) of addresses, with variables as `{name}` and `{+name}`.
    #[schema(value_type = String)]
    pub uri: UriPattern,
    /// A name for programs.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// A description of the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// The media type, if it is the same for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub media_type: Option<String>,
}

/// An address, or a pattern of addresses: a URI template (RFC 6570) with variables of two kinds. `{name}` stands for at least
/// one character, and for none of `/`, `?`, `&` and `#`; `{+name}` for one or more of any.
#[derive(Clone)]
pub struct UriPattern {
    text: String,
    /// Matches the addresses that fit the pattern.
    expression: Regex,
}

/// A reason why a text is no pattern of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// It is too long.
    #[error("the address has {0} bytes, the most is {MAX_PATTERN}")]
    TooLong(usize),
    /// It has no scheme.
    #[error("the address {0:?} does not begin with a scheme, such as docs:")]
    NoScheme(String),
    /// The scheme is that of the host.
    #[error("the address {0:?} begins with {OWN_SCHEME}, which is the host's")]
    OwnScheme(String),
    /// There is a character in it that no address has.
    #[error("the address {0:?} has the character {1:?}: write it as %XX")]
    Character(String, char),
    /// There is a variable in it that is not understood.
    #[error("the address {0:?} must have variables as {{name}} or {{+name}}")]
    Variable(String),
}

impl UriPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// [`InvalidPattern`].
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        if text.len() > MAX_PATTERN {
            return Err(InvalidPattern::TooLong(text.len()));
        }
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if !is_scheme {
            return Err(InvalidPattern::NoScheme(text.to_owned()));
        }
        if OWN_SCHEME
            .trim_end_matches(':')
            .eq_ignore_ascii_case(scheme)
        {
            return Err(InvalidPattern::OwnScheme(text.to_owned()));
        }
        if let Some(c) = text
            .chars()
            .find(|c| !c.is_ascii_graphic() || "\"<>\\^`|".contains(*c))
        {
            return Err(InvalidPattern::Character(text.to_owned(), c));
        }
        let expression = expression(text).and_then(|text| Regex::new(&text).ok());
        Ok(Self {
            expression: expression.ok_or_else(|| InvalidPattern::Variable(text.to_owned()))?,
            text: text.to_owned(),
        })
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether there is only one address that fits.
    pub fn is_fixed(&self) -> bool {
        !self.text.contains('{')
    }

    /// Returns whether an address fits. The time that this takes grows with the product of both lengths, never faster.
    pub fn matches(&self, uri: &str) -> bool {
        uri.len() <= MAX_URI && self.expression.is_match(uri)
    }
}

/// Returns the regular expression of a pattern; `None` if the pattern has a variable of another kind.
fn expression(text: &str) -> Option<String> {
    let mut expression = String::from(r"\A");
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (variable, behind) = behind.split_once('}')?;
        let (name, fits) = match variable.strip_prefix('+') {
            Some(name) => (name, "(?s:.)+"),
            None => (variable, "[^/?&#]+"),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if before.contains('}') || name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        expression += &regex::escape(before);
        expression += fits;
        rest = behind;
    }
    expression += &regex::escape(rest);
    expression += r"\z";
    (!rest.contains('}')).then_some(expression)
}

impl PartialEq for UriPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for UriPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

impl Serialize for UriPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for UriPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> UriPattern {
        UriPattern::parse(text).unwrap()
    }

    #[test]
    fn variables_stand_for_what_they_may() {
        let one = pattern("test://template/{id}/data");
        assert!(!one.is_fixed() && one.matches("test://template/123/data"));
        for other in [
            "test://template//data",
            "test://template/1/2/data",
            "test://template/1?x/data",
            "test://template/1/data/",
            "Test://template/1/data",
            "",
        ] {
            assert!(!one.matches(other), "{other}");
        }
        let rest = pattern("docs:{+path}?v={version}");
        assert!(rest.matches("docs:a/b.md?v=1") && !rest.matches("docs:?v=1"));
        let fixed = pattern("docs:a.b");
        assert!(fixed.is_fixed() && fixed.matches("docs:a.b") && !fixed.matches("docs:axb"));
    }

    #[test]
    fn the_longest_patterns_are_patterns() {
        let name = "{a}";
        let text = format!("a:{}", name.repeat((MAX_PATTERN - 2) / name.len()));
        assert!(pattern(&text).matches(&format!("a:{}", "x".repeat(MAX_URI - 2))));
        assert!(!pattern(&text).matches("a:x"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for bad in [
            "",
            "no scheme",
            "1a:b",
            ":a",
            "/a",
            "toolhost://processes/p/output",
            "ToolHost:x",
            "a:b c",
            "a:ä",
            "a:\u{7}",
            "a:{",
            "a:}",
            "a:{}",
            "a:{+}",
            "a:{x*}",
            "a:{/x}",
            "a:{x}}",
            "a:}{x}",
            &format!("a:{}", "x".repeat(MAX_PATTERN)),
        ] {
            assert!(UriPattern::parse(bad).is_err(), "{bad}");
        }
    }

    /// The same, tried character by character.
    fn fits(pattern: &str, uri: &str) -> bool {
        let mut rest = pattern.chars();
        match rest.next() {
            None => uri.is_empty(),
            Some('{') => {
                let (name, behind) = rest.as_str().split_once('}').unwrap();
                let is_fit = |c: char| name.starts_with('+') || !"/?&#".contains(c);
                let ends = uri.char_indices().take_while(|(_, c)| is_fit(*c));
                let mut ends = ends.map(|(at, c)| at + c.len_utf8());
                ends.any(|end| fits(behind, &uri[end..]))
            }
            Some(c) => {
                let behind = uri.strip_prefix(c);
                behind.is_some_and(|behind| fits(rest.as_str(), behind))
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn addresses_fit_as_they_do_character_by_character(
            text in "[ab]:(a|b|/|\\?|\\{x\\}|\\{\\+y\\}){0,6}",
            uri in "[ab]:[ab/?ä]{0,12}",
        ) {
            let pattern = pattern(&text);
            proptest::prop_assert_eq!(pattern.matches(&uri), fits(&text, &uri));
            proptest::prop_assert_eq!(pattern.is_fixed(), !text.contains('{'));
        }

        #[test]
        fn any_text_is_a_pattern_or_is_none(text in "[a-z]{1,3}:[a-z{}+/?.*()]{0,20}", uri in ".{0,30}") {
            if let Ok(pattern) = UriPattern::parse(&text) {
                proptest::prop_assert!(!pattern.is_fixed() || pattern.matches(&uri) == (uri == text));
            }
        }
    }
}
