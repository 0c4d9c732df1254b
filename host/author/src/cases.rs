//! `cases.json`: calls with the replies that they must get, natively and through the component.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

/// The cases of a plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
}

/// One call, and its expected outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The settings of the plugin: texts, numbers and truth values, which a plugin gets as texts.
    #[serde(default, deserialize_with = "texts")]
    pub settings: BTreeMap<String, String>,
    /// The secrets of the plugin.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// All files of the workspace before the call: their paths in it, and their texts. `None`: what the cases before left.
    pub files: Option<BTreeMap<String, String>>,
    /// Answers to the requests of the call, in place of the network; `None`: requests are sent, as far as they are granted.
    pub http: Option<Vec<Exchange>>,
    #[serde(default, deserialize_with = "present")]
    reply: Option<Value>,
    text: Option<String>,
    error: Option<ExpectedError>,
    #[serde(default)]
    is_error: bool,
}

/// A request, and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The answer.
    #[serde(default)]
    pub answer: Answer,
}

/// A request that a tool sends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The method; `GET` by default.
    #[serde(default = "get")]
    pub method: String,
    /// The address, with the query.
    pub url: String,
}

/// The answer to a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status; 200 by default.
    #[serde(default = "ok")]
    pub status: u16,
    /// The headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
}

/// An error that a call must end with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    kind: String,
    #[serde(default)]
    message: String,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    /// The tool replied.
    Reply {
        /// The structured part.
        structured: Option<Value>,
        /// All text parts, joined.
        text: String,
        /// Whether the tool reports a failure.
        is_error: bool,
    },
    /// The call failed.
    Error {
        /// The kind of the error, such as `invalid-arguments`.
        kind: String,
        /// The text that the caller reads.
        message: String,
    },
}

/// How the outcome of a call differs from its case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The expected outcome.
    pub expected: String,
    /// The actual outcome.
    pub got: String,
}

/// A file of cases that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("{} is not valid: {text}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The problem.
        text: String,
    },
}

/// Reads a value that is there, also if it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads settings.
fn texts<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    use serde::de::Error as _;
    let values: BTreeMap<String, Value> = Deserialize::deserialize(deserializer)?;
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err(D::Error::custom(format!(
            "the setting `{name}` is no text, number or boolean"
        ))),
    };
    values.into_iter().map(text).collect()
}

fn get() -> String {
    "GET".to_owned()
}

fn ok() -> u16 {
    200
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: ok(),
            headers: BTreeMap::new(),
            body: None,
            json: None,
        }
    }
}

impl Answer {
    /// Returns the body.
    pub fn body(&self) -> String {
        match (&self.json, &self.body) {
            (Some(json), _) => json.to_string(),
            (None, body) => body.clone().unwrap_or_default(),
        }
    }
}

/// Returns whether a path names a place in the workspace.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty()
        && !path.ends_with('/')
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl Cases {
    /// The name of the file in the folder of a plugin.
    pub const FILE: &'static str = "cases.json";

    /// Reads the cases in the folder of a plugin. A folder without the file has none.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub fn read(folder: &Path) -> Result<Self, CasesError> {
        let path = folder.join(Self::FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { cases: Vec::new() });
            }
            Err(source) => return Err(CasesError::Unreadable { path, source }),
        };
        Self::parse(&text).map_err(|text| CasesError::Invalid { path, text })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let cases: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for case in &cases.cases {
            let given = [
                case.reply.is_some(),
                case.text.is_some(),
                case.error.is_some(),
            ];
            if given.into_iter().filter(|given| *given).count() != 1 {
                return Err(format!(
                    "the case {:?} must have one of reply, text and error",
                    case.name
                ));
            }
            case.check()
                .map_err(|problem| format!("the case {:?}: {problem}", case.name))?;
        }
        Ok(cases)
    }
}

impl Case {
    /// Checks what the call finds.
    fn check(&self) -> Result<(), String> {
        if let Some(path) = self
            .files
            .iter()
            .flatten()
            .map(|(path, _)| path)
            .find(|path| !is_inside(path))
        {
            return Err(format!(
                "{path:?} is not the path of a file in the workspace; write it as \"src/main.py\""
            ));
        }
        let answers = self.http.iter().flatten().map(|exchange| &exchange.answer);
        let has_two = |answer: &Answer| answer.body.is_some() && answer.json.is_some();
        match answers.filter(|answer| has_two(answer)).count() {
            0 => Ok(()),
            _ => Err("an answer has a `body` or a `json`, and not both".to_owned()),
        }
    }

    /// Compares the outcome of the call with the case. Returns the difference, if there is one.
    pub fn difference(&self, got: &Got) -> Option<Difference> {
        (!self.fits(got)).then(|| Difference {
            expected: self.expected(),
            got: got.to_string(),
        })
    }

    fn fits(&self, got: &Got) -> bool {
        match (got, &self.error) {
            (Got::Error { kind, message }, Some(expected)) => {
                kind.replace('_', "-") == expected.kind.replace('_', "-")
                    && message.contains(&expected.message)
            }
            (Got::Error { .. }, None) | (Got::Reply { .. }, Some(_)) => false,
            (
                Got::Reply {
                    structured,
                    text,
                    is_error,
                },
                None,
            ) => {
                let reply = self.reply.as_ref().is_none_or(|expected| {
                    structured.as_ref().is_some_and(|got| equal(expected, got))
                });
                let text = self.text.as_ref().is_none_or(|expected| expected == text);
                reply && text && *is_error == self.is_error
            }
        }
    }

    fn expected(&self) -> String {
        if let Some(ExpectedError { kind, message }) = &self.error {
            return match message.is_empty() {
                true => format!("the error {kind}"),
                false => format!("the error {kind} with {message:?}"),
            };
        }
        let reply = self.reply.as_ref().map(ToString::to_string);
        let text = self.text.as_ref().map(|text| format!("the text {text:?}"));
        let expected = reply.or(text).unwrap_or_default();
        match self.is_error {
            true => format!("{expected}, as a failure"),
            false => expected,
        }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error { kind, message } => {
                write!(formatter, "the error {}: {message}", kind.replace('_', "-"))
            }
            Self::Reply {
                structured,
                text,
                is_error,
            } => {
                match structured {
                    Some(value) => write!(formatter, "{value}")?,
                    None => write!(formatter, "the text {text:?}")?,
                }
                if *is_error {
                    formatter.write_str(", as a failure")?;
                }
                Ok(())
            }
        }
    }
}

/// Compares two values. `2` and `2.0` are one number.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, one): (&String, &Value)| {
                other.get(key).is_some_and(|other| equal(one, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(expected: &str) -> Case {
        let text = format!(r#"{{"cases": [{{"name": "n", "tool": "t", {expected}}}]}}"#);
        Cases::parse(&text).unwrap().cases.remove(0)
    }

    fn reply(structured: Option<Value>, text: &str, is_error: bool) -> Got {
        Got::Reply {
            structured,
            text: text.into(),
            is_error,
        }
    }

    #[test]
    fn replies_are_compared_as_values() {
        let wanted = case(r#""reply": {"a": 2, "b": [1.5]}"#);
        let got = |value| wanted.difference(&reply(Some(value), "", false));
        assert_eq!(got(json!({ "b": [1.5], "a": 2.0 })), None);
        let difference = got(json!({ "a": 3, "b": [1.5] })).unwrap();
        assert_eq!(
            (difference.expected.as_str(), difference.got.as_str()),
            (r#"{"a":2,"b":[1.5]}"#, r#"{"a":3,"b":[1.5]}"#)
        );
        assert!(got(json!({ "a": 2, "b": [1.5], "c": 1 })).is_some());
        let null = case(r#""reply": null"#);
        assert_eq!(null.difference(&reply(Some(Value::Null), "", false)), None);
        assert!(null.difference(&reply(None, "", false)).is_some());
    }

    #[test]
    fn texts_failures_and_errors_are_compared() {
        let failure = case(r#""text": "no", "is_error": true"#);
        assert_eq!(failure.difference(&reply(None, "no", true)), None);
        let difference = failure.difference(&reply(None, "no", false)).unwrap();
        assert_eq!(difference.expected, r#"the text "no", as a failure"#);
        let wanted = case(r#""error": {"kind": "invalid-arguments", "message": "a is"}"#);
        let error = |kind: &str, message: &str| Got::Error {
            kind: kind.into(),
            message: message.into(),
        };
        assert_eq!(
            wanted.difference(&error("invalid_arguments", "a is required")),
            None
        );
        assert!(
            wanted
                .difference(&error("failed", "a is required"))
                .is_some()
        );
        assert!(
            wanted
                .difference(&error("invalid_arguments", "b"))
                .is_some()
        );
        let difference = wanted.difference(&reply(None, "x", false)).unwrap();
        assert_eq!(
            (difference.expected.as_str(), difference.got.as_str()),
            (
                r#"the error invalid-arguments with "a is""#,
                r#"the text "x""#
            )
        );
    }

    #[test]
    fn a_case_expects_one_thing() {
        let parse = |text: &str| Cases::parse(text).unwrap_err();
        assert_eq!(
            parse(r#"{"cases": [{"name": "n", "tool": "t"}]}"#),
            "the case \"n\" must have one of reply, text and error"
        );
        assert!(parse(r#"{"cases": [{"name": "n", "tol": "t"}]}"#).contains("unknown field `tol`"));
    }

    #[test]
    fn a_case_gives_settings_secrets_files_and_answers() {
        let given = case(
            r#""text": "", "settings": {"a": "b", "c": 5, "d": true}, "secrets": {"key": "k"},
            "files": {"a.py": "x", "src/deep/b.py": ""},
            "http": [{"request": {"url": "https://a"}},
                     {"request": {"method": "POST", "url": "https://a"}, "answer": {"status": 201, "headers": {"x": "y"}, "json": {"a": 1}}},
                     {"request": {"url": "https://b"}, "answer": {"body": "text"}}]"#,
        );
        let settings: Vec<_> = given.settings.into_iter().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            settings,
            [pair("a", "b"), pair("c", "5"), pair("d", "true")]
        );
        assert_eq!(given.secrets["key"], "k");
        assert_eq!(given.files.unwrap()["a.py"], "x");
        let http = given.http.unwrap();
        let shown: Vec<_> = http
            .iter()
            .map(|one| {
                (
                    one.request.method.as_str(),
                    one.answer.status,
                    one.answer.body(),
                )
            })
            .collect();
        let body = |text: &str| text.to_owned();
        assert_eq!(
            shown,
            [
                ("GET", 200, body("")),
                ("POST", 201, body(r#"{"a":1}"#)),
                ("GET", 200, body("text"))
            ]
        );
        assert!(case(r#""text": """#).http.is_none());
    }

    #[test]
    fn what_a_case_cannot_give_is_refused() {
        let error = |given: &str| {
            let text =
                format!(r#"{{"cases": [{{"name": "n", "tool": "t", "text": "", {given}}}]}}"#);
            Cases::parse(&text).unwrap_err()
        };
        for path in ["/etc/passwd", "../a", "a/../../b", "", "a/"] {
            let text = error(&format!(r#""files": {{"{path}": ""}}"#));
            assert!(
                text.contains("not the path of a file in the workspace"),
                "{text}"
            );
        }
        let both =
            r#""http": [{"request": {"url": "https://a"}, "answer": {"body": "", "json": 1}}]"#;
        assert!(error(both).contains("and not both"));
        let typo = r#""http": [{"request": {"uri": "https://a"}}]"#;
        assert!(error(typo).contains("unknown field `uri`"));
        assert!(error(r#""settings": {"a": []}"#).contains("the setting `a` is no text"));
    }
}
