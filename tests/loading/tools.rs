//! Tools that are not sound, and plugins that do not say which they have.

use std::time::Duration;

use toolhost_core::Options;
use toolhost_plugin::{Limits, Plugin};

use super::made::{self, Reply, Says, Tool};
use super::{engine, error};
use crate::guest::{guest, limited};
use crate::harness;

/// Why a plugin with one such tool does not load.
async fn unsound(change: impl FnOnce(&mut Tool)) -> String {
    error(&made::tool(change)).await.to_string()
}

fn plugin(tools: Vec<Tool>) -> Vec<u8> {
    made::plugin(&Says::Tools(tools), &Reply::Empty)
}

#[tokio::test]
async fn names_and_texts_are_bounded_and_visible() {
    insta::assert_snapshot!(unsound(|tool| tool.name = "No\u{202e}pe".into()).await, @r#"the tool "No\u{202e}pe" of the plugin is not sound: its name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most 31 bytes"#);
    insta::assert_snapshot!(unsound(|tool| tool.name = "x".repeat(32)).await, @r#"the tool "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" of the plugin is not sound: its name must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most 31 bytes"#);
    insta::assert_snapshot!(unsound(|tool| tool.title = Some("two\nlines".into())).await, @r#"the tool "t" of the plugin is not sound: its title has the character \u{a}, which a model reads and a person does not see: remove it"#);
    insta::assert_snapshot!(unsound(|tool| tool.title = Some("x".repeat(257))).await, @r#"the tool "t" of the plugin is not sound: its title has 257 bytes, the most is 256"#);
    insta::assert_snapshot!(unsound(|tool| tool.description = "a\u{1b}[2J".into()).await, @r#"the tool "t" of the plugin is not sound: its description has the character \u{1b}, which a model reads and a person does not see: remove it"#);
    insta::assert_snapshot!(unsound(|tool| tool.description = "tags \u{e0041}".into()).await, @r#"the tool "t" of the plugin is not sound: its description has the character \u{e0041}, which a model reads and a person does not see: remove it"#);
    insta::assert_snapshot!(unsound(|tool| tool.description = "x".repeat((16 << 10) + 1)).await, @r#"the tool "t" of the plugin is not sound: its description has 16385 bytes, the most is 16384"#);
    insta::assert_snapshot!(unsound(|tool| tool.max_duration_ms = Some(0)).await, @r#"the tool "t" of the plugin is not sound: its max-duration-ms is 0, with which no call could succeed: leave it out, or give a time in milliseconds"#);
}

#[tokio::test]
async fn tools_are_bounded_in_number_and_text_and_their_names_differ() {
    let named = |name: String| Tool {
        name,
        ..Tool::default()
    };
    insta::assert_snapshot!(error(&plugin(vec![Tool::default(), Tool::default()])).await, @r#"the tool "t" of the plugin is not sound: the name occurs twice"#);
    let many = |count: usize| plugin((0..count).map(|index| named(format!("t{index}"))).collect());
    insta::assert_snapshot!(error(&many(129)).await, @"the plugin lists 129 tools, the most is 128: make several plugins of it");
    let plugin_of_128 = Plugin::load(engine(), &many(128), Options::new("x"))
        .await
        .unwrap();
    assert_eq!(plugin_of_128.tools().len(), 128);
    let long = (0..80).map(|index| Tool {
        description: "x".repeat(16 << 10),
        ..named(format!("t{index}"))
    });
    insta::assert_snapshot!(error(&plugin(long.collect())).await, @"the plugin lists tools with 1325110 bytes of text, the most is 1 MiB: shorten the descriptions and schemas");
}

#[tokio::test]
async fn schemas_are_sound() {
    insta::assert_snapshot!(unsound(|tool| tool.input = "nope".into()).await, @r#"the tool "t" of the plugin is not sound: its input schema is not valid JSON: expected ident at line 1 column 2"#);
    insta::assert_snapshot!(unsound(|tool| tool.input = "[]".into()).await, @r#"the tool "t" of the plugin is not sound: its input schema is not a JSON object"#);
    insta::assert_snapshot!(unsound(|tool| tool.input = "{}".into()).await, @r#"the tool "t" of the plugin is not sound: its input schema does not describe an object: add "type": "object""#);
    insta::assert_snapshot!(unsound(|tool| tool.input = r#"{"type":"object","properties":{"a":{"type":"strnig"}}}"#.into()).await, @r#"the tool "t" of the plugin is not sound: its input schema is not a valid JSON Schema: "strnig" is not valid under any of the schemas listed in the 'anyOf' keyword, at /properties/a/type"#);
    insta::assert_snapshot!(unsound(|tool| tool.input = r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}"#.into()).await, @r##"the tool "t" of the plugin is not sound: its input schema refers to https://example.com/a.json at /properties/a/$ref: nothing is fetched, so put that into $defs and refer to "#/$defs/…""##);
    insta::assert_snapshot!(unsound(|tool| tool.input = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}"##.into()).await, @r#"the tool "t" of the plugin is not sound: its input schema refers to #/$defs/a at /properties/a/$ref, which it does not have"#);
    insta::assert_snapshot!(unsound(|tool| tool.input = format!(r#"{{"type":"object","a":{}}}"#, "[".repeat(50_000))).await, @r#"the tool "t" of the plugin is not sound: its input schema nests deeper than 64 levels: flatten it"#);
    insta::assert_snapshot!(unsound(|tool| tool.input = format!(r#"{{"type":"object","a":"{}"}}"#, "x".repeat(64 << 10))).await, @r#"the tool "t" of the plugin is not sound: its input schema has 65560 bytes, the most is 65536: shorten it"#);
    insta::assert_snapshot!(unsound(|tool| tool.output = Some(r#"{"minimum":"1"}"#.into())).await, @r#"the tool "t" of the plugin is not sound: its output schema is not a valid JSON Schema: "1" is not of type "number", at /minimum"#);
}

#[tokio::test]
async fn examples_are_bounded_and_a_wrong_one_is_only_a_warning() {
    let example = |arguments: String| ("shows".into(), arguments, false);
    insta::assert_snapshot!(unsound(|tool| tool.examples = vec![example(" ".repeat(65_537))]).await, @r#"the tool "t" of the plugin is not sound: the arguments of an example have 65537 bytes, the most is 65536"#);
    insta::assert_snapshot!(unsound(|tool| tool.examples = vec![example("{}".into()); 33]).await, @r#"the tool "t" of the plugin is not sound: it has 33 examples, the most is 32"#);
    insta::assert_snapshot!(unsound(|tool| tool.examples = vec![("a\nb".into(), "{}".into(), false)]).await, @r#"the tool "t" of the plugin is not sound: its example's name has the character \u{a}, which a model reads and a person does not see: remove it"#);
    let wrong = made::tool(|tool| {
        tool.input = r#"{"type":"object","required":["a"]}"#.into();
        tool.examples = vec![
            example("{}".into()),
            example("[]".into()),
            example(r#"{"a":1}"#.into()),
        ];
    });
    let lines = harness::logged(async {
        let plugin = Plugin::load(engine(), &wrong, Options::new("unusual"))
            .await
            .unwrap();
        assert_eq!(plugin.examples().len(), 3);
    })
    .await;
    let warnings = lines
        .lines()
        .filter(|line| line.contains("plugin=\"unusual\"") && line.contains("WARN"));
    let problems: Vec<_> = warnings
        .map(|line| line.split("problem=").nth(1).unwrap())
        .collect();
    insta::assert_debug_snapshot!(problems, @r#"
[
    "\"the example \\\"shows\\\" of t cannot be called: the arguments must be a JSON object, not an array\"",
]
"#);
}

#[tokio::test]
async fn a_plugin_that_does_not_list_its_tools_says_why() {
    let fails = Says::Fails(format!("no key\u{1b}[2J {}", "x".repeat(10_000)));
    let error_of = error(&made::plugin(&fails, &Reply::Empty))
        .await
        .to_string();
    assert!(
        error_of.starts_with("the plugin did not list its tools: it says: no key\\u{1b}[2J xxx"),
        "{error_of}"
    );
    assert!(error_of.len() < 700, "{} bytes", error_of.len());
    let trap = error(&guest("trap_in_list_tools")).await;
    let trap = with_one_offset(&trap.to_string());
    insta::assert_snapshot!(trap, @"the plugin did not list its tools: the tool is broken: wasm trap: wasm `unreachable` instruction executed, in function 1 at 0xae");
    let limits = Limits {
        guest_time: Duration::from_millis(100),
        ..Limits::default()
    };
    let options = limited("x", limits);
    let looping = Plugin::load(engine(), &guest("loop_in_list_tools"), options).await;
    let looping = with_one_offset(&looping.unwrap_err().to_string());
    insta::assert_snapshot!(looping, @r#"the plugin did not list its tools: the tool was stopped: guest time limit of 100 ms reached, in function 1 at 0xae; if it needs more, put `limits = { guest_time = "300ms" }` into [plugins.x]"#);
}

/// The message with the offset of the first instruction. A slow machine looks at the time first, at the offset before.
fn with_one_offset(message: &str) -> String {
    message.replace(" at 0xad", " at 0xae")
}
