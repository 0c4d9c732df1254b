//! Arguments of one or more values, which models write as a text or as a list of texts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// One text, which may hold several values.
    Text(String),
    /// A list of texts, each of which is one value.
    List(Vec<String>),
}

impl Values {
    /// Returns the values. A text is divided at white space and commas.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => {
                let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
                let words = words.filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            }
            Self::List(values) => values.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMore)
    }
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    /// Reads a text. A list may be written as JSON in a text.
    fn visit_str<E: Error>(self, text: &str) -> Result<Values, E> {
        let list = text.trim().starts_with("[\"").then_some(text);
        let list = list.and_then(|list| serde_json::from_str(list).ok());
        Ok(list.map_or_else(|| Values::Text(text.to_owned()), Values::List))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Values::List(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_a_list_are_read() {
        let read = |json: &str| serde_json::from_str::<Values>(json).map_err(|e| e.to_string());
        let list = Values::List(vec!["a".to_owned(), "b c".to_owned()]);
        assert_eq!(read(r#""rust py""#), Ok(Values::Text("rust py".to_owned())));
        assert_eq!(read(r#"["a", "b c"]"#), Ok(list.clone()));
        assert_eq!(read(r#""[\"a\", \"b c\"]""#), Ok(list.clone()));
        assert_eq!(read(r#""[ab]""#), Ok(Values::Text("[ab]".to_owned())));
        assert!(read("5").unwrap_err().contains("expected a string"));
        assert_eq!(list.words(), ["a", "b c"]);
        assert_eq!(Values::Text("rust, py".to_owned()).words(), ["rust", "py"]);
    }
}
