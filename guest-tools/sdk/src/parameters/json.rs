//! A small reader of JSON. Numbers, arrays and objects stay the texts that they are, so that it makes no tree of values and links no
//! code for what a parameter does not have.

/// How deep arrays and objects may nest; serde_json has the same limit.
const MAX_DEPTH: u32 = 127;

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(&'a str),
    /// A text.
    Text(String),
    /// An array, as it is written; `Parts` reads it.
    Array(&'a str),
    /// An object, as it is written; `Parts` reads it.
    Object(&'a str),
}

/// Reads the text of one JSON value.
///
/// # Errors
///
/// The offset in bytes from which on the text is not JSON.
pub(super) fn parse(text: &str) -> Result<Value<'_>, usize> {
    let mut reader = Reader { text, at: 0 };
    reader
        .value(MAX_DEPTH)
        .filter(|_| {
            reader.skip_space();
            reader.at == text.len()
        })
        .ok_or(reader.at)
}

/// The elements of an array, or the properties of an object in the order in which they are written.
pub(super) struct Parts<'a>(Reader<'a>);

impl<'a> Parts<'a> {
    /// Takes the text of an array or object that was read before.
    pub(super) fn of(text: &'a str) -> Self {
        Self(Reader { text, at: 1 })
    }

    /// Returns the next element of an array.
    pub(super) fn element(&mut self) -> Option<Value<'a>> {
        self.0.skip_space();
        self.0.takes(b',');
        // At the end, the bracket is no value.
        self.0.value(MAX_DEPTH)
    }

    /// Returns the next property of an object.
    pub(super) fn property(&mut self) -> Option<(String, Value<'a>)> {
        self.0.skip_space();
        self.0.takes(b',');
        // At the end, the brace is no name.
        let name = self.0.name()?;
        Some((name, self.0.value(MAX_DEPTH)?))
    }
}

/// A text, and how much of it was read. A method that returns `None` has found something else than JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Goes over this byte, if it is the next one.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Option<Value<'a>> {
        let rest = self.text.get(self.at..)?;
        rest.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: u32) -> Option<Value<'a>> {
        self.skip_space();
        match self.peek()? {
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'"' => self.string().map(Value::Text),
            b'[' => self.parts(b']', depth).map(Value::Array),
            b'{' => self.parts(b'}', depth).map(Value::Object),
            _ => self.number(),
        }
    }

    /// Goes over an array or an object, which ends with this byte.
    fn parts(&mut self, end: u8, depth: u32) -> Option<&'a str> {
        let depth = depth.checked_sub(1)?;
        let start = self.at;
        self.at += 1;
        self.skip_space();
        if !self.takes(end) {
            loop {
                if end == b'}' {
                    self.name()?;
                }
                self.value(depth)?;
                self.skip_space();
                if self.takes(end) {
                    break;
                }
                self.takes(b',').then_some(())?;
            }
        }
        self.text.get(start..self.at)
    }

    /// Reads the name of a property, and the colon behind it.
    fn name(&mut self) -> Option<String> {
        self.skip_space();
        let name = self.string()?;
        self.skip_space();
        self.takes(b':').then_some(name)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<Value<'a>> {
        let start = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        self.text.get(start..self.at).map(Value::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.takes(b'"').then_some(())?;
        let mut string = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            string.push_str(self.text.get(start..self.at)?);
            match self.next()? {
                b'"' => return Some(string),
                b'\\' => string.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return None,
        })
    }

    /// Reads four hexadecimal digits, and those of the second half of a pair.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hexadecimal()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        (self.takes(b'\\') && self.takes(b'u')).then_some(())?;
        let second = self.hexadecimal()?;
        let second = second.checked_sub(0xdc00).filter(|bits| *bits < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + char::from(self.next()?).to_digit(16)?;
        }
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Expected;

    use super::*;

    fn same(value: &Value, expected: &Expected) -> bool {
        match (value, expected) {
            (Value::Null, Expected::Null) => true,
            (Value::Bool(one), Expected::Bool(other)) => one == other,
            (Value::Number(one), Expected::Number(other)) => {
                one.parse::<f64>().ok() == other.as_f64()
            }
            (Value::Text(one), Expected::String(other)) => one == other,
            (Value::Array(one), Expected::Array(other)) => {
                let mut parts = Parts::of(one);
                other
                    .iter()
                    .all(|other| parts.element().is_some_and(|one| same(&one, other)))
                    && parts.element().is_none()
            }
            (Value::Object(one), Expected::Object(other)) => {
                // serde_json keeps the last property of a name.
                let mut parts = Parts::of(one);
                let properties: Vec<_> = std::iter::from_fn(|| parts.property()).collect();
                properties.iter().all(|(name, _)| other.contains_key(name))
                    && other.iter().all(|(name, other)| {
                        let last = properties.iter().rfind(|(one, _)| one == name);
                        last.is_some_and(|(_, one)| same(one, other))
                    })
            }
            _ => false,
        }
    }

    #[track_caller]
    fn check(text: &str) {
        match (parse(text), serde_json::from_str::<Expected>(text)) {
            (Ok(value), Ok(expected)) => assert!(same(&value, &expected), "{text}: {value:?}"),
            (Err(_), Err(_)) => {}
            (read, expected) => panic!("{text}: {read:?}, and serde_json: {expected:?}"),
        }
    }

    #[test]
    fn reads_what_serde_json_reads_and_refuses_the_rest() {
        for text in [
            "",
            " ",
            "null",
            "nul",
            " true\n",
            "falsehood",
            "0",
            "-0",
            "01",
            "-",
            "1.",
            ".5",
            "1.5e+10",
            "1e",
            "1e400x",
            "+1",
            "\"\"",
            "\"a\\\"b\\\\c\\/\\b\\f\\n\\r\\t\"",
            "\"\\x\"",
            "\"\\u00e9\\u20ac\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "\"\\ude00\"",
            "\"\\u12g4\"",
            "\"\\u12",
            "\"a\nb\"",
            "\"é€😀\"",
            "\"open",
            "[]",
            "[ 1 , \"a\" , [ ] , { } ]",
            "[1,]",
            "[1 2]",
            "[",
            "{}",
            "{ \"a\" : 1 , \"b\" : { \"c\" : null } }",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "{} {}",
            "{",
        ] {
            check(text);
        }
    }

    #[test]
    fn nests_as_deep_as_serde_json() {
        for depth in [127, 128, 129, 100_000] {
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
            check(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
        }
    }

    #[test]
    fn says_where_the_text_is_not_json() {
        assert_eq!(parse(r#"{"a": 1, b}"#), Err(9));
        assert_eq!(parse("{} x"), Err(3));
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_serde_json_on_texts_that_look_like_json(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- nulltrue]{0,24}"#) {
            check(&text);
        }
    }
}
