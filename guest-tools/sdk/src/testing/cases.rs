//! Cases in a file, which run natively here and through the component with `toolhost plugin test`.

mod difference;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};

#[cfg(feature = "http")]
use super::FakeHttp;
use super::{FakeFiles, Surroundings, surroundings};
use crate::arguments::whole_numbers;
use crate::export::Entry;
#[cfg(feature = "http")]
use crate::http::Response;
use crate::{Call, Content, Reply, ToolError};
use difference::difference;

/// The content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// The files of the workspace before the call.
    files: Option<BTreeMap<String, String>>,
    /// Answers to requests, which need the feature `http`.
    #[cfg(feature = "http")]
    http: Option<Vec<Exchange>>,
    /// Told apart from one that is null.
    #[serde(default, deserialize_with = "present")]
    reply: Option<Value>,
    text: Option<String>,
    #[serde(default)]
    is_error: bool,
    error: Option<Expected>,
}

/// A request, and its answer.
#[cfg(feature = "http")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    request: Target,
    #[serde(default)]
    answer: Answer,
}

#[cfg(feature = "http")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    method: Option<String>,
    url: String,
}

#[cfg(feature = "http")]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
}

/// The error that is expected instead of a reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    kind: String,
    #[serde(default)]
    message: String,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Runs the cases of a file such as `cases.json`, each with surroundings of its own. A relative path starts at the directory of the
/// crate, where `cargo test` runs tests.
///
/// The file is `{"cases": […]}`. A case has a `name`, a `tool`, and `arguments` and `settings` unless there are none. It expects one of
/// three outcomes:
///
/// Beside `settings`, a case gives `"secrets": {"key": "…"}`, `"files": {"src/a.txt": "…"}`, which are all of the workspace, and
/// `"http": [{"request": {"method": "GET", "url": "…"}, "answer": {"status": 200, "body": "…"}}]` with the feature `http`. What it does not
/// give is that of the [`Surroundings`] of the test; without files there, the workspace is empty.
///
/// - `"reply": {…}`: the JSON part of the reply is this value. `1.0` is the same as `1`.
/// - `"text": "…"`: the text parts of the reply are together this text.
/// - `"error": {"kind": "invalid-arguments", "message": "…"}`: the call fails, and its text contains the message. The kind is one of
///   `unknown-tool`, `invalid-arguments`, `denied`, `unavailable` and `failed`.
///
/// Beside the first two, `"is_error": true` says that the reply reports a failure.
///
/// ```no_run
/// # use toolhost_sdk::prelude::*;
/// # /// Counts words.
/// # #[tool]
/// # fn word_count(text: String) -> String { text }
/// #[test]
/// fn cases() {
///     toolhost_sdk::testing::cases("cases.json", toolhost_sdk::tools![word_count]);
/// }
/// ```
///
/// # Panics
///
/// If the file cannot be read or has no case, and if any case fails. The text names each case that failed, and shows what was expected
/// (`-`) and what came (`+`).
#[track_caller]
pub fn cases(path: impl AsRef<Path>, tools: &[Entry]) {
    crate::log::install();
    let path = path.as_ref();
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| refuse(path, &error.to_string()));
    let file: File =
        serde_json::from_str(&text).unwrap_or_else(|error| refuse(path, &error.to_string()));
    if file.cases.is_empty() {
        refuse(path, "there is no case");
    }
    let total = file.cases.len();
    let mut names = BTreeSet::new();
    let mut failures = Vec::new();
    for (index, case) in file.cases.into_iter().enumerate() {
        let name = case.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("case {}", index + 1), str::to_owned);
        let outcome = serde_json::from_value(case)
            .map_err(|error| error.to_string())
            .and_then(|case: Case| case.check(tools));
        if let Err(reason) = outcome {
            failures.push(format!("{name}\n{}", indented(&reason)));
        }
        if !names.insert(name.clone()) {
            failures.push(format!("{name}\n    two cases have this name"));
        }
    }
    if !failures.is_empty() {
        let count = failures.len();
        let failures = failures.join("\n\n");
        refuse(
            path,
            &format!("{count} of {total} cases failed\n\n{failures}\n"),
        );
    }
}

#[expect(clippy::panic, reason = "a test fails by panicking")]
#[track_caller]
fn refuse(path: &Path, reason: &str) -> ! {
    panic!("{}: {reason}", path.display())
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

impl Case {
    /// Runs the case; the error says how its outcome differs from what it expects.
    fn check(self, tools: &[Entry]) -> Result<(), String> {
        let expectations = [
            self.reply.is_some(),
            self.text.is_some(),
            self.error.is_some(),
        ];
        if expectations
            .into_iter()
            .filter(|is_there| *is_there)
            .count()
            != 1
        {
            return Err("a case has one of `reply`, `text` and `error`".to_owned());
        }
        if self.error.is_some() && self.is_error {
            return Err(
                "`is_error` stands beside `reply` or `text`: an `error` is no reply".to_owned(),
            );
        }
        let outcome = self.run(tools)?;
        let (expected, actual) = (self.expected(), self.actual(&outcome));
        match (&self.error, &outcome) {
            (Some(expected), Err(error))
                if kind(error) == expected.kind
                    && error.to_string().contains(&expected.message) =>
            {
                Ok(())
            }
            (None, Ok(_)) if expected == actual => Ok(()),
            _ => Err(difference(&expected, &actual)),
        }
    }

    fn run(&self, tools: &[Entry]) -> Result<Result<Reply, ToolError>, String> {
        let Some(tool) = tools.iter().find(|tool| tool.name() == self.tool) else {
            let names: Vec<_> = tools.iter().map(Entry::name).collect();
            return Ok(match self.error {
                Some(_) => Err(ToolError::UnknownTool(self.tool.clone())),
                None => {
                    return Err(format!(
                        "there is no tool \"{}\"; the tools are {}",
                        self.tool,
                        names.join(", ")
                    ));
                }
            });
        };
        let own = self.surroundings()?;
        #[cfg(feature = "http")]
        let http = own.http.clone();
        let before = surroundings(|now| std::mem::replace(now, own));
        let arguments = Value::from(self.arguments.clone()).to_string();
        let call = Call::new(self.name.as_str());
        let outcome = catch_unwind(AssertUnwindSafe(|| tool.call(&call, &arguments)));
        surroundings(|now| *now = before);
        #[cfg(feature = "http")]
        if let Some(unanswered) = http
            .map(|http| http.unanswered())
            .filter(|lines| !lines.is_empty())
        {
            return Err(unanswered.join("\n"));
        }
        outcome.map_err(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            format!("the tool panicked: {}", text.unwrap_or("no text"))
        })
    }

    /// Returns what the call sees: what the test has, and what the case gives.
    fn surroundings(&self) -> Result<Surroundings, String> {
        let mut own = surroundings(|now| now.clone());
        own.logged.clear();
        own.progress.clear();
        own.settings.extend(self.settings()?);
        own.secrets.extend(self.secrets.clone());
        if self.files.is_some() || own.files.is_none() {
            let files = self.files.iter().flatten();
            let files = files.fold(FakeFiles::new(), |files, (path, text)| {
                files.with(path, text)
            });
            own.files = Some(Rc::new(files));
        }
        #[cfg(feature = "http")]
        if let Some(script) = &self.http {
            own.http = Some(network(script));
        }
        Ok(own)
    }

    /// Returns the settings as the plugin reads them: the operator may write texts, numbers and booleans.
    fn settings(&self) -> Result<BTreeMap<String, String>, String> {
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(format!(
                "the setting `{name}` is no text, number or boolean"
            )),
        };
        self.settings.iter().map(text).collect()
    }

    /// Returns the expected outcome of the case, as a text of lines.
    fn expected(&self) -> String {
        let is_error = reports(self.is_error);
        match (&self.reply, &self.text, &self.error) {
            (Some(reply), ..) => format!("{is_error}{:#}", whole_numbers(reply.clone())),
            (_, Some(text), _) => format!("{is_error}{text}"),
            (.., error) => {
                let error = error.as_ref();
                let (kind, message) = error.map_or(("", ""), |error| (&error.kind, &error.message));
                format!("error {kind}: … {message} …")
            }
        }
    }

    /// Returns the same of an outcome.
    fn actual(&self, outcome: &Result<Reply, ToolError>) -> String {
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => return format!("error {}: {error}", kind(error)),
        };
        let is_error = reports(reply.is_error());
        let json = reply.content().iter().find_map(|part| match part {
            Content::Json(text) => Some(text),
            _ => None,
        });
        let json = json.map(|json| match serde_json::from_str(json) {
            Ok(value) => format!("{is_error}{:#}", whole_numbers(value)),
            Err(error) => format!("{is_error}no JSON: {json} ({error})"),
        });
        let texts = reply.content().iter().filter_map(|part| match part {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text = format!("{is_error}{}", texts.collect::<String>());
        match (json, self.reply.is_some()) {
            (Some(json), true) => json,
            (None, true) => format!("a reply without a JSON part\n{text}"),
            (_, false) => text,
        }
    }
}

/// Returns the network of a case.
#[cfg(feature = "http")]
fn network(script: &[Exchange]) -> FakeHttp {
    let mut network = FakeHttp::new().repeating();
    for Exchange { request, answer } in script {
        let method = request
            .method
            .as_deref()
            .unwrap_or("GET")
            .to_ascii_uppercase();
        let headers = answer.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let body = answer.json.as_ref().map(ToString::to_string);
        let response = Response {
            status: answer.status.unwrap_or(200),
            headers: headers.collect(),
            body: body
                .or_else(|| answer.body.clone())
                .unwrap_or_default()
                .into(),
        };
        network = network.gives(&method, &request.url, Ok(response));
    }
    network
}

fn reports(is_error: bool) -> &'static str {
    if is_error {
        "a failure is reported\n"
    } else {
        ""
    }
}

fn kind(error: &ToolError) -> &'static str {
    match error {
        ToolError::UnknownTool(_) => "unknown-tool",
        ToolError::InvalidArguments(_) => "invalid-arguments",
        ToolError::Denied(_) => "denied",
        ToolError::Unavailable(_) => "unavailable",
        ToolError::Failed(_) => "failed",
    }
}
