//! Plugins in other languages: built by `examples/plugins/build`, they load and run with default limits, and what they throw
//! hurts nobody.
//!
//! The components take minutes to build and half a minute to compile, so there is one test for each, and it is ignored where
//! they were not built. Those in Rust are built with the tests.

/// What a call of each costs.
mod cost;
/// The packages for Python and JavaScript, without a component.
mod packages;
/// The examples in Python, and many calls of one plugin at once.
mod python;
/// The examples in JavaScript for QuickJS, which have no interfaces of the web.
mod quickjs;
/// Plugins in Rust: how small one is, and what is left of a panic.
mod rust;
/// The examples in JavaScript for StarlingMonkey, which have them.
mod starlingmonkey;
/// One table of tools and cases for all languages.
mod table;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_call::call::MAX_DEPTH;
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_core::{Definition, Options};
use toolhost_workspace::files::FilesGrant;

use crate::harness::{Server, Setup, logged};

/// A component and its name.
struct Language {
    name: &'static str,
    component: Vec<u8>,
}

impl Language {
    /// Reads a component, which a test says with `#[needs(language = …)]`.
    fn read(name: &'static str) -> Self {
        let directory = std::env::var_os("TOOLHOST_LANGUAGES").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/languages"),
            PathBuf::from,
        );
        let path = directory.join(format!("{name}.wasm"));
        let component = std::fs::read(&path).unwrap_or_else(|error| {
            let path = path.display();
            panic!("{path}: {error}; build it with `examples/plugins/build {name}`")
        });
        Self { name, component }
    }

    /// Options with default limits, nothing granted, and these settings.
    fn options(&self, settings: &[(&str, &str)]) -> Options {
        let mut options = Options::new(self.name);
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        options.settings.settings = settings.collect();
        options
    }

    /// A host with this plugin and nothing else.
    async fn host(&self, options: Options) -> Setup {
        Setup::with(|builder| {
            builder
                .without_shell()
                .files(FilesGrant::None)
                .plugin(self.component.clone(), options)
        })
        .await
    }
}

/// What a call is refused with.
async fn error_of(setup: &Setup, tool: &str, arguments: Value) -> ToolError {
    let outcome = setup.outcome(tool, arguments).await;
    outcome.result.clone().expect_err("it must be refused")
}

/// What a model is told about arguments that do not fit.
async fn invalid(setup: &Setup, tool: &str, arguments: Value) -> String {
    let error = error_of(setup, tool, arguments).await;
    assert_eq!(error.kind, ErrorKind::InvalidArguments, "{error}");
    error.message
}

fn definition(setup: &Setup, tool: &str) -> Definition {
    let tools = setup.host.tools();
    let mut tools = tools.iter();
    tools
        .find(|definition| definition.name == tool)
        .unwrap()
        .clone()
}

/// The reply to arguments that fit the schema of a tool, which fits the schema of its replies.
async fn reply(setup: &Setup, tool: &str, arguments: Value) -> Value {
    let definition = definition(setup, tool);
    assert!(jsonschema::is_valid(&definition.input_schema, &arguments));
    let reply = setup.call(tool, arguments).await;
    let promised = definition.output_schema.as_ref().unwrap();
    assert!(jsonschema::is_valid(promised, &reply), "{tool}: {reply}");
    reply
}

/// Calls that fail in every language alike: what the host refuses, and what just passes it. Ends the host.
async fn odd_arguments(setup: Setup, tool: &str) {
    let no_argument = "invalid arguments: there is no argument `aaa`.";
    let message = invalid(&setup, tool, json!({ "aaa": 2 })).await;
    assert!(message.starts_with(no_argument), "{message}");
    // As deep as the host allows; more would overflow the stack of a parser that recurses.
    let nested = (2..MAX_DEPTH).fold(json!([]), |inner, _| json!([inner]));
    let message = invalid(&setup, tool, json!({ "aaa": nested })).await;
    assert!(message.starts_with(no_argument), "{message}");

    let server = Server::start(setup.host.clone()).await;
    let arguments = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let mut status = None;
    let lines = logged(async {
        let path = "/v1/chats/chat/calls/deep";
        let body = format!("{{\"tool\":\"{tool}\",\"arguments\":{{\"aaa\":{arguments}}}}}");
        let request = server.request(reqwest::Method::PUT, path).body(body);
        let request = request.header("content-type", "application/json");
        status = Some(request.send().await.unwrap().status().as_u16());
    })
    .await;
    // The model reads that the arguments are too deep.
    assert_eq!(status, Some(200));
    let plugin = definition(&setup, tool).plugin;
    assert!(
        guests(&lines, &plugin).is_empty(),
        "it reached a guest: {lines}"
    );
    server.stop().await;
}

/// A call that ends in an exception that the tool does not catch: the caller and the log have its words and its place.
async fn uncaught(setup: &Setup, tool: &str, arguments: Value, thrown: &str) {
    let plugin = definition(setup, tool).plugin.clone();
    let lines = logged(async {
        let error = error_of(setup, tool, arguments).await;
        assert_eq!(error.kind, ErrorKind::Failed, "{error}");
        assert!(error.message.contains(thrown), "{error}");
        // File and line stand at the end.
        let place = error.message.rsplit_once(':').map(|(_, line)| line);
        let line = place.and_then(|line| line.strip_suffix(')'));
        assert!(
            line.is_some_and(|line| line.parse::<u32>().is_ok()),
            "{error}"
        );
    })
    .await;
    let told = |line: &&str| {
        line.contains("toolhost::guest") && line.contains(&format!("plugin=\"{plugin}\""))
    };
    let told: Vec<_> = lines.lines().filter(told).collect();
    assert!(told.iter().any(|line| line.contains(thrown)), "{told:#?}");
    assert!(told.iter().all(|line| line.contains("ERROR")), "{told:#?}");
}

/// A call that needs more memory than it may have: its limit is what the caller is told, whatever the language made of it.
async fn out_of_memory(language: &Language, most_mib: usize, tool: &str, arguments: Value) {
    let mut options = language.options(&[]);
    options.grants = options.grants.with_processes();
    options.limits.memory = most_mib << 20;
    let setup = language.host(options).await;
    let error = error_of(&setup, tool, arguments).await;
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    let text = format!("the tool was stopped: memory limit of {most_mib} MiB reached");
    assert_eq!(error.message, text);
    setup.host.shutdown().await;
}

/// The lines about the guests of a plugin that ended.
fn guests<'a>(lines: &'a str, plugin: &str) -> Vec<&'a str> {
    let name = format!("plugin=\"{plugin}\"");
    let ended = |line: &&str| line.contains("a guest ended") && line.contains(&name);
    lines.lines().filter(ended).collect()
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
