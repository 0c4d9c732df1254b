//! The body of a call, which is bounded and checked for ambiguity before it is used.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use axum::extract::Request as HttpRequest;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{Object, ObjectBuilder, Type};

use crate::ENVELOPE;
use crate::unknown;
use toolhost_call::call::{Arguments, MAX_ARGUMENTS, Outcome, Request};
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_core::{CallError, Host};
use toolhost_http::access::Principal;
use toolhost_http::body;
use toolhost_http::limits::Held;
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::trace;
use toolhost_state::id::{CallId, ChatId};

/// The maximum number of attributes of a call, and the maximum characters of their names and values.
const ATTRIBUTES: usize = 64;
const ATTRIBUTE_NAME: usize = 128;
const ATTRIBUTE_VALUE: usize = 4096;

/// A call of a tool. Keys that occur twice are refused, here and in the arguments.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRequest<'a> {
    /// The name of the tool.
    #[schema(examples("execute"))]
    tool: String,
    /// See [`arguments_schema`].
    #[serde(borrow, default, deserialize_with = "present")]
    #[schema(schema_with = arguments_schema, required = false)]
    arguments: Option<&'a RawValue>,
    /// Attributes of the client, such as `locale` or `client`: at most 64, with names of at most 128 characters and values of
    /// at most 4,096.
    #[serde(default, deserialize_with = "attributes")]
    #[schema(schema_with = attributes_schema, required = false)]
    attributes: BTreeMap<String, String>,
    /// The workspace that the chat belongs to from now on. One that is not there is made, as an empty directory. Absent: the one that
    /// the chat belongs to already.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+(/(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+)*$",
        examples("team-a/web")
    )]
    workspace: Option<String>,
}

/// Reads `null` as a value, where an option would take it for an absence.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn attributes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Attributes;

    impl<'de> Visitor<'de> for Attributes {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut attributes = BTreeMap::new();
            while let Some((name, value)) = access.next_entry::<String, String>()? {
                if name.chars().count() > ATTRIBUTE_NAME {
                    return Err(A::Error::custom(format_args!(
                        "the name of an attribute has more than {ATTRIBUTE_NAME} characters"
                    )));
                }
                if value.chars().count() > ATTRIBUTE_VALUE {
                    return Err(A::Error::custom(format_args!(
                        "the attribute {name:?} has more than {ATTRIBUTE_VALUE} characters"
                    )));
                }
                match attributes.entry(name) {
                    Entry::Vacant(vacant) => vacant.insert(value),
                    Entry::Occupied(known) => {
                        let name = known.key();
                        return Err(A::Error::custom(format_args!(
                            "the attribute {name:?} occurs twice"
                        )));
                    }
                };
                if attributes.len() > ATTRIBUTES {
                    return Err(A::Error::custom(format_args!(
                        "there are more than {ATTRIBUTES} attributes"
                    )));
                }
            }
            Ok(attributes)
        }
    }

    deserializer.deserialize_map(Attributes)
}

fn arguments_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .description(Some(
            "The arguments: an object, as the schema of the tool describes it, or whatever the model wrote; absent: none. At most 1 MiB and 64 \
             levels deep. Two calls are the same if their arguments have the same meaning (RFC 8785), even if they are written differently.",
        ))
        .examples([serde_json::json!({ "command": "echo hello" })])
        .build()
}

fn attributes_schema() -> Object {
    let text = |most| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(most))
    };
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .max_properties(Some(ATTRIBUTES))
        .property_names(Some(text(ATTRIBUTE_NAME)))
        .additional_properties(Some(text(ATTRIBUTE_VALUE)))
        .description(Some("What the client says about itself."))
        .build()
}

/// A call that was read, and the permit that counts its bytes while it is under way.
#[derive(Debug)]
pub(super) struct Read {
    call: Parsed,
    _held: Held,
}

/// A call, or what its model has to read: its arguments are none.
#[derive(Debug)]
enum Parsed {
    Call(Request),
    Refused(Outcome),
}

/// What the client of a call gets.
#[derive(Debug)]
pub(super) enum Answer {
    /// The outcome of a call that the host knows from now on.
    Kept(Arc<Outcome>),
    /// What the model reads of a call that ran nothing. Nothing of the call is kept.
    Refused(Outcome),
}

impl Answer {
    pub(super) fn outcome(&self) -> &Outcome {
        match self {
            Self::Kept(outcome) => outcome,
            Self::Refused(outcome) => outcome,
        }
    }
}

/// Reads a call that gets this id.
pub(super) async fn read(
    request: HttpRequest,
    chat: &ChatId,
    id: &CallId,
) -> Result<Read, Problem> {
    if let Some(wrong) = body::not_json(request.headers()) {
        return Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, wrong));
    }
    let traced = trace::onward(request.headers());
    let body = body::read(request, MAX_ARGUMENTS + ENVELOPE).await?;
    let mut call = parse(&body.bytes, chat, id)?;
    if let (Some(traced), Parsed::Call(request)) = (&traced, &mut call) {
        traced.set(&mut request.attributes);
    }
    Ok(Read {
        call,
        _held: body.into_held(),
    })
}

fn parse(body: &[u8], chat: &ChatId, id: &CallId) -> Result<Parsed, Problem> {
    // `serde` would accept an array of the fields as well.
    if body
        .trim_ascii_start()
        .first()
        .is_some_and(|byte| *byte != b'{')
    {
        return Err(Problem::broken_request(
            "the body must be a JSON object with `tool` and perhaps `arguments`",
        ));
    }
    let call: CallRequest<'_> = serde_json::from_slice(body).map_err(|error| {
        Problem::broken_request(format!("the body is not what this takes: {error}"))
    })?;
    let workspace = call.workspace.as_deref().map(str::parse).transpose()?;
    let arguments = match Arguments::parse(call.arguments.map_or("{}", RawValue::get)) {
        Ok(arguments) => arguments,
        // A model wrote them, so the model reads what is wrong with them.
        Err(error) => {
            let error = ToolError::new(ErrorKind::InvalidArguments, error.to_string());
            return Ok(Parsed::Refused(Outcome::new(
                id.clone(),
                call.tool,
                Err(error),
            )));
        }
    };
    Ok(Parsed::Call(Request {
        attributes: call.attributes,
        reach: None,
        workspace,
        ..Request::new(chat.clone(), id.clone(), call.tool, arguments)
    }))
}

impl Read {
    /// Runs the call, or returns its outcome if it ran before. A call of a tool that the principal may not use ends like that of a tool that
    /// does not exist: no client can tell the two apart. The outcome of a call that ran nothing for the model's mistake is not kept.
    pub(super) async fn run(self, host: &Host, principal: &Principal) -> Result<Answer, Problem> {
        let request = match self.call {
            Parsed::Call(request) => request,
            Parsed::Refused(outcome) => return Ok(Answer::Refused(outcome)),
        };
        let (id, tool) = (request.id.clone(), request.tool.clone());
        let called = match principal.may_use(&tool) {
            true => {
                let actor = principal.actor().clone();
                host.call(Request { actor, ..request }).await
            }
            false => Err(CallError::UnknownTool {
                name: tool.clone(),
                known: Vec::new(),
            }),
        };
        match called {
            Err(CallError::UnknownTool { .. }) => {
                let text = unknown::tool(host, principal, &tool);
                let error = ToolError::new(ErrorKind::UnknownTool, text);
                Ok(Answer::Refused(Outcome::new(id, tool, Err(error))))
            }
            called => Ok(Answer::Kept(called?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> Result<Request, String> {
        let ids = ("a".parse().unwrap(), "1".parse().unwrap());
        let parsed = parse(body.as_bytes(), &ids.0, &ids.1);
        match parsed.map_err(|problem| problem.detail().to_owned())? {
            Parsed::Call(request) => Ok(request),
            Parsed::Refused(outcome) => Err(outcome.result.unwrap_err().message),
        }
    }

    #[test]
    fn a_call_is_read_as_documented() {
        let request = parsed(r#"{"tool":"t","arguments":{"a":1},"attributes":{"locale":"de"}}"#);
        let request = request.unwrap();
        assert_eq!(
            (request.tool.as_str(), request.arguments.as_str()),
            ("t", r#"{"a":1}"#)
        );
        assert_eq!(request.attributes["locale"], "de");
        assert_eq!(parsed(r#"{"tool":"t"}"#).unwrap().arguments.as_str(), "{}");
    }

    #[test]
    fn ambiguous_and_unbounded_bodies_are_refused() {
        let many: Vec<_> = (0..65).map(|index| format!("\"{index}\":\"\"")).collect();
        for (body, text) in [
            (
                r#"{"tool":"t","tool":"u"}"#.to_owned(),
                "duplicate field `tool`",
            ),
            (
                r#"{"tool":"t","arguments":{},"arguments":{}}"#.into(),
                "duplicate field",
            ),
            (
                r#"{"tool":"t","attributes":{"a":"1","\u0061":"2"}}"#.into(),
                "occurs twice",
            ),
            (
                format!(r#"{{"tool":"t","attributes":{{{}}}}}"#, many.join(",")),
                "more than 64 attributes",
            ),
            (
                format!(
                    r#"{{"tool":"t","attributes":{{"a":"{}"}}}}"#,
                    "x".repeat(4097)
                ),
                "more than 4096",
            ),
            (
                format!(
                    r#"{{"tool":"t","attributes":{{"{}":""}}}}"#,
                    "x".repeat(129)
                ),
                "more than 128",
            ),
            (
                r#"{"tool":"t","attributes":null}"#.into(),
                "an object of texts",
            ),
            (r#"{"tool":"t","arguments":[1]}"#.into(), "not an array"),
            (r#"{"tool":"t"} {}"#.into(), "trailing"),
            ("null".into(), "must be a JSON object"),
            ("[\"t\"]".into(), "must be a JSON object"),
            (" ".into(), "EOF"),
        ] {
            let error = parsed(&body).unwrap_err();
            assert!(error.contains(text), "{body:.80}: {error}");
        }
    }
}
