//! Documents with an address that a tool returns, and the patterns of their addresses.

use std::fmt;

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
#[derive(Clone, PartialEq, Eq)]
pub struct UriPattern {
    text: String,
    /// The parts of the text, in order.
    parts: Vec<Part>,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// This text.
    Literal(String),
    /// At least one character: of any kind, or of those within a segment.
    Variable {
        /// Whether it is of any kind.
        any: bool,
    },
}

/// Why a text is no pattern of addresses.
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
        let parts = parts(text).ok_or_else(|| InvalidPattern::Variable(text.to_owned()))?;
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// Returns the text of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether there is only one address that fits.
    pub fn is_fixed(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, Part::Literal(_)))
    }

    /// Returns whether an address fits. The time that this takes grows with the product of both lengths, never faster.
    pub fn matches(&self, uri: &str) -> bool {
        if uri.len() > MAX_URI {
            return false;
        }
        // For each byte offset: whether the parts so far can end there.
        let mut ends = vec![false; uri.len() + 1];
        if let Some(first) = ends.first_mut() {
            *first = true;
        }
        for part in &self.parts {
            ends = part.after(&ends, uri);
        }
        ends.last() == Some(&true)
    }
}

impl Part {
    /// Returns the offsets at which this part can end, if it begins at one of these.
    fn after(&self, begins: &[bool], uri: &str) -> Vec<bool> {
        let mut ends = vec![false; begins.len()];
        match self {
            Self::Literal(text) => {
                let begins = begins.iter().enumerate().filter(|(_, begins)| **begins);
                for (at, _) in begins {
                    let fits = uri
                        .get(at..)
                        .is_some_and(|rest| rest.starts_with(text.as_str()));
                    if let (true, Some(end)) = (fits, ends.get_mut(at + text.len())) {
                        *end = true;
                    }
                }
            }
            Self::Variable { any } => {
                let mut within = false;
                for (at, c) in uri.char_indices() {
                    within =
                        (within || begins.get(at) == Some(&true)) && (*any || !"/?&#".contains(c));
                    if let Some(end) = ends.get_mut(at + c.len_utf8()) {
                        *end = within;
                    }
                }
            }
        }
        ends
    }
}

/// Takes a pattern apart; `None` if it has a variable that is none of ours.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}')?;
        let any = name.starts_with('+');
        let name = name.strip_prefix('+').unwrap_or(name);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if before.contains('}') || name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        parts.push(Part::Literal(before.to_owned()));
        parts.push(Part::Variable { any });
        rest = behind;
    }
    parts.push(Part::Literal(rest.to_owned()));
    (!rest.contains('}')).then_some(parts)
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

    /// The same as a regular expression, for whole characters.
    fn expression(pattern: &UriPattern) -> regex::Regex {
        let part = |part: &Part| match part {
            Part::Literal(text) => regex::escape(text),
            Part::Variable { any: true } => ".+".to_owned(),
            Part::Variable { any: false } => "[^/?&#]+".to_owned(),
        };
        let parts: String = pattern.parts.iter().map(part).collect();
        regex::Regex::new(&format!("^(?s:{parts})$")).unwrap()
    }

    proptest::proptest! {
        #[test]
        fn addresses_fit_as_they_fit_a_regular_expression(
            text in "[ab]:(a|b|/|\\?|\\{x\\}|\\{\\+y\\}){0,6}",
            uri in "[ab]:[ab/?ä]{0,12}",
        ) {
            let pattern = pattern(&text);
            proptest::prop_assert_eq!(pattern.matches(&uri), expression(&pattern).is_match(&uri));
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
