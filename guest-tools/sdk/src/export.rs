//! From a list of tools to the export of a component.

use std::time::Duration;

use crate::bindings::exports::toolhost::plugin::tools as wit;
use crate::{Call, Example, Hints, Reply, Resource, Schema, Tool, ToolError, arguments, log};

/// Offers tools: makes a component export `tools`, with these functions that have [`#[tool]`](crate::tool) and types that
/// implement [`Tool`].
///
/// It is used once, in the crate whose type is `cdylib`. Off WebAssembly it only checks the names, so that the crate's
/// tests run natively. A name that is not allowed, or that two tools share, fails to compile.
///
/// ```
/// # struct Answer;
/// # impl toolhost_sdk::Tool for Answer {
/// #     const NAME: &'static str = "answer";
/// #     const DESCRIPTION: &'static str = "Answers.";
/// #     type Arguments = std::collections::BTreeMap<String, String>;
/// #     fn call(_: &toolhost_sdk::Call, _: Self::Arguments) -> Result<toolhost_sdk::Reply, toolhost_sdk::ToolError> {
/// #         Ok(toolhost_sdk::Reply::text("42"))
/// #     }
/// # }
/// toolhost_sdk::export_tools!(Answer);
/// # fn main() {}
/// ```
///
/// ```compile_fail
/// # struct Answer;
/// # impl toolhost_sdk::Tool for Answer {
/// #     const NAME: &'static str = "answer";
/// #     const DESCRIPTION: &'static str = "Answers.";
/// #     type Arguments = std::collections::BTreeMap<String, String>;
/// #     fn call(_: &toolhost_sdk::Call, _: Self::Arguments) -> Result<toolhost_sdk::Reply, toolhost_sdk::ToolError> {
/// #         Ok(toolhost_sdk::Reply::text("42"))
/// #     }
/// # }
/// toolhost_sdk::export_tools!(Answer, Answer); // "two tools have the same name"
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_tools {
    ($($tool:ty),+ $(,)?) => {
        #[allow(
            dead_code,
            unsafe_code,
            reason = "the exports of a component are unsafe functions, and there are none off WebAssembly"
        )]
        const _: () = {
            const TOOLS: &[$crate::__private::Entry] = $crate::tools![$($tool),+];
            const _: () = $crate::__private::check(TOOLS);

            #[cfg(target_family = "wasm")]
            struct Plugin;

            #[cfg(target_family = "wasm")]
            impl $crate::__private::wit::Guest for Plugin {
                fn list_tools()
                -> ::core::result::Result<$crate::__private::Vec<$crate::__private::wit::Tool>, $crate::__private::String>
                {
                    $crate::__private::list_tools(TOOLS)
                }

                fn call_tool(
                    call: $crate::__private::wit::Call,
                ) -> ::core::result::Result<$crate::__private::wit::Reply, $crate::__private::wit::ToolError> {
                    $crate::__private::call_tool(TOOLS, call)
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::__private::bindings::export!(Plugin with_types_in $crate::__private::bindings);
        };
    };
}

/// Lists tools for [`testing::cases`](crate::testing::cases), as [`export_tools!`](crate::export_tools) does.
#[macro_export]
macro_rules! tools {
    ($($tool:ty),+ $(,)?) => {
        &[$({
            // With the alias, a function without `#[tool]` is refused as "expected type, found function".
            #[allow(dead_code, reason = "only the compiler reads it")]
            type __Tool = $tool;
            $crate::__private::Entry::of::<$tool>()
        }),+]
    };
}

/// An argument of [`export_tools!`](crate::export_tools): a type that implements [`Tool`], or the type beside a function with
/// [`#[tool]`](crate::tool). Only that attribute implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "write `#[tool]` above the function, or implement `Tool` for the type"
)]
pub trait Exported {
    /// As in [`Tool`].
    const NAME: &'static str;
    /// As in [`Tool`].
    const DESCRIPTION: &'static str;
    /// As in [`Tool`].
    const TITLE: Option<&'static str> = None;
    /// As in [`Tool`].
    const HINTS: Hints = Hints::NONE;
    /// As in [`Tool`].
    const MAX_DURATION: Option<Duration> = None;
    /// As in [`Tool`].
    const EXAMPLES: &'static [Example] = &[];
    /// As in [`Tool`].
    const RESOURCES: &'static [Resource] = &[];

    /// Returns the text of the schema of the arguments.
    fn input_schema() -> String;

    /// As in [`Tool`].
    #[must_use]
    fn output_schema() -> Option<Schema> {
        None
    }

    /// Runs one call with the text of its arguments.
    ///
    /// # Errors
    ///
    /// Those of the tool, and [`ToolError::InvalidArguments`].
    fn call(call: &Call, arguments: &str) -> Result<Reply, ToolError>;
}

impl<T: Tool> Exported for T {
    const NAME: &'static str = <T as Tool>::NAME;
    const DESCRIPTION: &'static str = <T as Tool>::DESCRIPTION;
    const TITLE: Option<&'static str> = <T as Tool>::TITLE;
    const HINTS: Hints = <T as Tool>::HINTS;
    const MAX_DURATION: Option<Duration> = <T as Tool>::MAX_DURATION;
    const EXAMPLES: &'static [Example] = <T as Tool>::EXAMPLES;
    const RESOURCES: &'static [Resource] = <T as Tool>::RESOURCES;

    fn input_schema() -> String {
        Schema::of_arguments::<T::Arguments>().value().to_string()
    }

    fn output_schema() -> Option<Schema> {
        <T as Tool>::output_schema()
    }

    fn call(call: &Call, arguments: &str) -> Result<Reply, ToolError> {
        <T as Tool>::call(call, arguments::parse(arguments)?)
    }
}

/// The facts about a tool that `export_tools!` keeps.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    name: &'static str,
    describe: fn() -> wit::Tool,
    call: fn(&Call, &str) -> Result<Reply, ToolError>,
}

impl Entry {
    /// Takes the facts of a tool.
    #[must_use]
    pub const fn of<T: Exported>() -> Self {
        Self {
            name: T::NAME,
            describe: describe::<T>,
            call: T::call,
        }
    }

    /// Returns the name of the tool.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Runs one call.
    ///
    /// # Errors
    ///
    /// As in [`Exported::call`].
    pub fn call(&self, call: &Call, arguments: &str) -> Result<Reply, ToolError> {
        (self.call)(call, arguments)
    }
}

/// Answers `list-tools`.
///
/// # Errors
///
/// None so far.
pub fn list_tools(tools: &[Entry]) -> Result<Vec<wit::Tool>, String> {
    log::install();
    Ok(tools.iter().map(|tool| (tool.describe)()).collect())
}

/// Answers `call-tool`.
///
/// # Errors
///
/// Those of the tool, and that there is none of this name.
pub fn call_tool(tools: &[Entry], call: wit::Call) -> Result<wit::Reply, wit::ToolError> {
    log::install();
    match tools.iter().find(|tool| tool.name == call.tool) {
        Some(tool) => (tool.call)(&Call::new(call.id), &call.arguments)
            .map(Into::into)
            .map_err(|error| with_advice(error).into()),
        None => Err(wit::ToolError::UnknownTool(call.tool)),
    }
}

/// Adds what to do to an error of `std::fs`, which says no more than that there is no such file.
fn with_advice(error: ToolError) -> ToolError {
    match error {
        ToolError::Failed(mut text) if text.ends_with("(os error 44)") => {
            text.push_str("; std::fs reaches no files of the workspace: use toolhost_sdk::files");
            ToolError::Failed(text)
        }
        other => other,
    }
}

fn describe<T: Exported>() -> wit::Tool {
    let examples = T::EXAMPLES.iter().map(|example| wit::Example {
        name: example.name.to_owned(),
        arguments: example.arguments.to_owned(),
        is_error: example.is_error,
    });
    wit::Tool {
        name: T::NAME.to_owned(),
        title: T::TITLE.map(str::to_owned),
        description: T::DESCRIPTION.to_owned(),
        input_schema: T::input_schema(),
        output_schema: T::output_schema().map(|schema| schema.value().to_string()),
        hints: T::HINTS.into(),
        max_duration_ms: T::MAX_DURATION
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        examples: examples.collect(),
        extra: extra::<T>(),
    }
}

fn extra<T: Exported>() -> Vec<(String, String)> {
    let resources = (!T::RESOURCES.is_empty()).then(|| serde_json::to_string(T::RESOURCES));
    let resources = resources.and_then(Result::ok);
    let pairs = resources.map(|json| ("resources".to_owned(), json));
    pairs.into_iter().collect()
}

/// Fails to compile unless every name is allowed and no two are the same.
pub const fn check(mut tools: &[Entry]) {
    while let Some((first, rest)) = tools.split_first() {
        assert!(
            is_name(first.name),
            "a tool's name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most 31 bytes"
        );
        let mut others = rest;
        while let Some((other, rest)) = others.split_first() {
            assert!(
                !equal(first.name, other.name),
                "two tools have the same name"
            );
            others = rest;
        }
        tools = rest;
    }
}

const fn is_name(name: &str) -> bool {
    let mut rest = name.as_bytes();
    // A name starts as if after an underscore, but with a letter.
    let mut after_underscore = true;
    while let Some((byte, others)) = rest.split_first() {
        let fits = match byte {
            b'a'..=b'z' => true,
            b'0'..=b'9' => rest.len() < name.len(),
            b'_' => !after_underscore,
            _ => false,
        };
        if !fits {
            return false;
        }
        after_underscore = *byte == b'_';
        rest = others;
    }
    !after_underscore && name.len() <= 31
}

const fn equal(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let (Some((a, one_rest)), Some((b, other_rest))) =
        (one.split_first(), other.split_first())
    {
        if *a != *b {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.is_empty() && other.is_empty()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde::Deserialize;

    use super::*;
    use crate::{Hints, Reply};

    #[derive(Debug)]
    struct Greet;

    #[derive(Deserialize, schemars::JsonSchema)]
    struct Arguments {
        name: String,
    }

    impl Tool for Greet {
        const NAME: &'static str = "greet";
        const DESCRIPTION: &'static str = "Greets.";
        const HINTS: Hints = Hints {
            read_only: true,
            closed_world: true,
            ..Hints::NONE
        };
        const MAX_DURATION: Option<Duration> = Some(Duration::from_secs(5));
        type Arguments = Arguments;

        fn call(call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
            Ok(Reply::text(format!(
                "{}: hello {}",
                call.id, arguments.name
            )))
        }
    }

    fn call(tool: &str, arguments: &str) -> Result<wit::Reply, wit::ToolError> {
        let call = wit::Call {
            id: "c1".into(),
            tool: tool.into(),
            arguments: arguments.into(),
        };
        call_tool(&[Entry::of::<Greet>()], call)
    }

    #[test]
    fn describes_tools() {
        let tools = list_tools(&[Entry::of::<Greet>()]).unwrap();
        assert_eq!(tools[0].name, "greet");
        assert_eq!(
            tools[0].hints,
            wit::Hints::READ_ONLY | wit::Hints::CLOSED_WORLD
        );
        assert_eq!(tools[0].max_duration_ms, Some(5000));
        assert_eq!(tools[0].output_schema, None);
        assert!(
            tools[0]
                .input_schema
                .starts_with(r#"{"type":"object","properties":{"name""#),
            "{tools:?}"
        );
    }

    #[test]
    fn finds_the_tool_of_a_call() {
        let reply = call("greet", r#"{"name": "Ada"}"#).unwrap();
        assert_eq!(reply.content, [wit::Content::Text("c1: hello Ada".into())]);
        assert_eq!(
            call("shout", "{}"),
            Err(wit::ToolError::UnknownTool("shout".into()))
        );
        let missing =
            wit::ToolError::InvalidArguments("invalid arguments: missing field `name`".into());
        assert_eq!(call("greet", "{}"), Err(missing));
    }

    #[test]
    fn allows_only_names_that_every_provider_takes() {
        assert!(
            is_name("read_file2") && is_name("a_2") && is_name("a") && is_name(&"a".repeat(31))
        );
        let bad = [
            "",
            "_a",
            "a_",
            "a__b",
            "1a",
            "Read",
            "a-b",
            "a.b",
            "ä",
            &"a".repeat(32),
        ];
        for name in bad {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn tells_names_apart() {
        assert!(equal("read", "read"));
        assert!(!equal("read", "reader") && !equal("reader", "read") && !equal("read", "rear"));
    }
}
