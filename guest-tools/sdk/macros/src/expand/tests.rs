//! Errors of `#[tool]` for the usual mistakes. Tools without mistakes are tested in toolhost-sdk.

use super::*;

/// Asserts that the attribute, or the function below it, is refused with these words, and that the tool is there all the same.
#[track_caller]
fn refused(attribute: &str, function: &str, words: &str) {
    let expanded = tool(attribute.parse().unwrap(), &function.parse().unwrap()).to_string();
    let expected = format!("compile_error ! {{ \"{}", words.escape_debug());
    assert!(expanded.contains(&expected), "{expanded}");
    if function.contains("fn ") && function.contains('{') {
        assert!(expanded.contains("Exported for"), "{expanded}");
    }
}

fn described(function: &str) -> String {
    format!("/// Does it.\n{function}")
}

#[test]
fn a_function_that_cannot_be_a_tool_is_refused() {
    for (function, words) in [
        ("async fn a() -> String {}", "a tool is no async function"),
        ("unsafe fn a() -> String {}", "a tool is no unsafe function"),
        (
            "extern \"C\" fn a() -> String {}",
            "a tool is an ordinary Rust function",
        ),
        (
            "fn a<T>(a: T) -> String {}",
            "a tool has no type parameters",
        ),
        (
            "fn a<'a>(a: &'a Call) -> String {}",
            "a tool has no type parameters",
        ),
        ("fn a() {}", "a tool replies: return `String`"),
        ("fn a(&self) -> String {}", "a tool is a free function"),
        (
            "fn wordCount() -> String {}",
            "`wordCount` cannot be the name of a tool",
        ),
        (
            "fn a__b() -> String {}",
            "`a__b` cannot be the name of a tool",
        ),
        ("fn _a() -> String {}", "`_a` cannot be the name of a tool"),
        (
            "fn a(text: &str) -> String {}",
            "a tool owns its arguments: take a `String`",
        ),
        (
            "fn a(list: &[u8]) -> String {}",
            "a tool owns its arguments: take a `Vec`",
        ),
        (
            "fn a(it: &It) -> String {}",
            "a tool owns its arguments: take it by value",
        ),
        (
            "fn a((b, c): (u8, u8)) -> String {}",
            "a parameter of a tool needs a name",
        ),
        (
            "fn a(_: Option<u8>) -> String {}",
            "a parameter of a tool needs a name",
        ),
    ] {
        refused("", &described(function), words);
    }
    let long = format!("fn {}() -> String {{}}", "a".repeat(32));
    refused(
        "",
        &described(&long),
        "`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` cannot be",
    );
}

#[test]
fn a_tool_without_a_description_is_refused() {
    for function in [
        "fn a() -> String {}",
        "#[doc = \" \"] fn a() -> String {}",
        "#[doc(hidden)] fn a() -> String {}",
    ] {
        refused(
            "",
            function,
            "a tool needs a description: write a doc comment (`/// …`)",
        );
    }
}

#[test]
fn only_a_function_can_have_it() {
    for item in [
        "struct A;",
        "/// Does it.\nfn a() -> String;",
        "impl A { fn b() {} }",
    ] {
        let expanded = tool(TokenStream::new(), &item.parse().unwrap()).to_string();
        assert!(
            expanded.contains("#[tool] stands above a function with a body"),
            "{expanded}"
        );
    }
}

#[test]
fn an_attribute_with_a_mistake_is_refused() {
    for (attribute, words) in [
        (
            "readonly",
            "there is no `readonly`; #[tool] knows `read_only`, ",
        ),
        ("\"read_only\"", "#[tool] knows `read_only`, "),
        (
            "read_only, title = \"a\", read_only",
            "`read_only` stands here twice",
        ),
        ("read_only idempotent", "expected `,`"),
        ("title", "expected `=`"),
        ("title = 5", "expected string literal"),
        (
            "max_duration = \"5\"",
            "a time is a whole number above 0 and a unit",
        ),
        (
            "max_duration = \"1.5s\"",
            "a time is a whole number above 0 and a unit",
        ),
        (
            "max_duration = \"0s\"",
            "a time is a whole number above 0 and a unit",
        ),
        (
            "max_duration = \"99999999999999999999h\"",
            "a time is a whole number",
        ),
        (
            "max_duration = \"9999999999999999h\"",
            "a time is a whole number",
        ),
        (
            "example(\"a\", \"[]\")",
            "the arguments of an example are a JSON object",
        ),
        (
            "example(\"a\", \"{}\", fails)",
            "only `is_error` can stand here",
        ),
        ("example(\"a\")", "expected `,`"),
    ] {
        refused(attribute, &described("fn a() -> String {}"), words);
    }
}

#[test]
fn times_have_units() {
    for (text, milliseconds) in [
        ("500ms", 500),
        ("5s", 5_000),
        ("10m", 600_000),
        ("1h", 3_600_000),
    ] {
        let attribute: Attribute = syn::parse_str(&format!("max_duration = \"{text}\"")).unwrap();
        assert_eq!(attribute.max_duration.unwrap().as_millis(), milliseconds);
    }
}
