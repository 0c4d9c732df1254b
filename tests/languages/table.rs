//! One table for all languages: plugins with the same tools, in `table/`, behave alike through their components.
//!
//! `examples/plugins/build` builds those in Python and JavaScript beside the examples. That in Rust is a guest of the repository. Those
//! in C and Go are made of their templates, whose helpers they use. QuickJS sends no requests, and bindings check no arguments.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_call::call::Actor;
use toolhost_call::tool::ErrorKind;
use toolhost_core::{Host, Options, Outcome};
use toolhost_guests::TABLE;
use toolhost_needs::needs;
use toolhost_workspace::files::FilesGrant;

use super::{Language, definition, error_of, guests, invalid, uncaught};
use crate::cli::authoring::Author;
use crate::harness::{Setup, call, logged, request};
use crate::outgoing::support::{Server, response};

/// How a plugin of the table reads arguments and sends requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    /// A front end with types: it checks each argument, also its bounds.
    Typed { sends_requests: bool },
    /// The SDK of Rust, which leaves bounds to the tool.
    Sdk,
    /// The bindings alone.
    Bindings,
}

#[needs(language = "python-table")]
#[tokio::test]
async fn python() {
    let front = Front::Typed {
        sends_requests: true,
    };
    table(&Language::read("python-table"), front).await;
}

#[needs(language = "quickjs-table")]
#[tokio::test]
async fn quickjs() {
    let front = Front::Typed {
        sends_requests: false,
    };
    table(&Language::read("quickjs-table"), front).await;
}

#[needs(language = "starlingmonkey-table")]
#[tokio::test]
async fn starlingmonkey() {
    let front = Front::Typed {
        sends_requests: true,
    };
    table(&Language::read("starlingmonkey-table"), front).await;
}

#[tokio::test]
async fn rust() {
    let language = Language {
        name: "rust-table",
        component: TABLE.to_vec(),
    };
    table(&language, Front::Sdk).await;
}

#[needs(toolchain = "go")]
#[tokio::test]
async fn go() {
    let source = "export_toolhost_plugin_tools/plugin.go";
    let component = built("go", source, include_str!("table/table.go"));
    let language = Language {
        name: "go-table",
        component,
    };
    table(&language, Front::Bindings).await;
}

#[needs(toolchain = "c")]
#[tokio::test]
async fn c() {
    let component = built("c", "plugin.c", include_str!("table/table.c"));
    let language = Language {
        name: "c-table",
        component,
    };
    table(&language, Front::Bindings).await;
}

/// Builds the plugin of a template with these tools in the place of its own.
fn built(language: &str, source: &str, tools: &str) -> Vec<u8> {
    let all = ["--lang", language, "--with", "processes,files,http"];
    let author = Author::makes("table", &all);
    author.has_tools_of(language);
    std::fs::write(author.path("table").join(source), tools).unwrap();
    author.succeeds(&["plugin", "build", "table"]);
    std::fs::read(author.path("table/build/table.wasm")).unwrap()
}

/// Every row, in one host, since loading takes longest.
async fn table(language: &Language, front: Front) {
    let server = Server::answering(response(
        "201 Created\r\nContent-Type: text/plain",
        "hello é",
    ))
    .await;
    let setup = host(language, server.port).await;
    definitions(&setup, front);
    arguments(&setup, front).await;
    replies(&setup).await;
    errors(&setup, front).await;
    log_and_progress(&setup).await;
    surroundings(&setup).await;
    limits(&setup).await;
    commands(&setup).await;
    cancellation(&setup).await;
    files(&setup).await;
    let sends_requests = !matches!(
        front,
        Front::Typed {
            sends_requests: false
        }
    );
    if sends_requests {
        requests(&setup, server).await;
    } else {
        let url = json!({ "url": "http://127.0.0.1/" });
        uncaught(&setup, "get", url, "QuickJS waits for no promise").await;
    }
    setup.host.shutdown().await;
}

async fn host(language: &Language, port: u16) -> Setup {
    let mut options: Options = language.options(&[("setting", "é")]);
    let pattern = format!("http://127.0.0.1:{port}").parse().unwrap();
    // Tests that run at the same time find their own lines in the log.
    options.name = language.name.replace('-', "_");
    options.grants = options
        .grants
        .with_processes()
        .with_files(FilesGrant::Write)
        .with_http([pattern]);
    Setup::with(|builder| {
        builder
            .without_shell()
            .plugin(language.component.clone(), options)
    })
    .await
}

fn definitions(setup: &Setup, front: Front) {
    let echo = definition(setup, "echo");
    assert_eq!(echo.description, "Repeats a text.");
    assert!(echo.hints.read_only && echo.hints.non_destructive && echo.hints.idempotent);
    assert!(!echo.hints.closed_world);
    if front != Front::Bindings {
        assert_eq!(echo.title.as_deref(), Some("Echo"));
    }
    let schema = &echo.input_schema;
    assert_eq!(schema["required"], json!(["text"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let text = json!({ "type": "string", "description": "The text." });
    assert_eq!(schema["properties"]["text"], text);
    let times = &schema["properties"]["times"];
    assert_eq!(times["description"], "How often.");
    if front != Front::Sdk {
        assert_eq!(
            times,
            &json!({ "type": "integer", "description": "How often.", "minimum": 1, "maximum": 3, "default": 1 })
        );
    }
    let store = definition(setup, "store").hints;
    assert!(!store.read_only && !store.non_destructive);
}

async fn arguments(setup: &Setup, front: Front) {
    for (arguments, expected) in [
        (json!({ "text": "a" }), "a"),
        (json!({ "text": "é😀\n\"", "times": 2 }), "é😀\n\"é😀\n\""),
        (
            json!({ "text": "\u{1}\u{7f}\u{ffff}" }),
            "\u{1}\u{7f}\u{ffff}",
        ),
    ] {
        assert_eq!(text_of(setup, "echo", arguments).await, expected);
    }
    for (tool, arguments, named) in [
        ("echo", json!({}), "text"),
        ("echo", json!({ "text": 5 }), "text"),
        ("echo", json!({ "text": "", "times": 4 }), "times"),
        ("echo", json!({ "text": "", "tims": 1 }), "tims"),
        ("fail", json!({ "how": "é" }), "how"),
    ] {
        let message = invalid(setup, tool, arguments).await;
        assert!(message.contains(named), "{message}");
    }
    if front == Front::Bindings {
        return;
    }
    for (arguments, expected) in [
        (json!({ "text": "\u{0}", "times": "3" }), "\u{0}\u{0}\u{0}"),
        (json!({ "text": "a", "times": null, "note": null }), "a"),
        (json!({ "text": "", "times": "", "note": "" }), ""),
    ] {
        assert_eq!(text_of(setup, "echo", arguments).await, expected);
    }
    for (arguments, expected) in [
        (json!({}), "invalid arguments: missing field `text`"),
        (
            json!({ "text": 5 }),
            "invalid argument `text`: invalid type: integer `5`, expected a string",
        ),
        (
            json!({ "text": "", "tims": 1 }),
            "invalid arguments: there is no argument `tims`; did you mean `times`? The arguments are `text`, `times`, `note`.",
        ),
    ] {
        assert_eq!(invalid(setup, "echo", arguments).await, expected);
    }
    let message = invalid(setup, "fail", json!({ "how": "é" })).await;
    assert!(
        message.starts_with(
            "invalid argument `how`: unknown variant `é`, expected one of `invalid`, `denied`"
        ),
        "{message}"
    );
    if front != Front::Sdk {
        let message = invalid(setup, "echo", json!({ "text": "", "times": 4 })).await;
        assert_eq!(
            message,
            "invalid argument `times`: invalid value: integer `4`, expected an integer from 1 to 3"
        );
    }
}

async fn replies(setup: &Setup) {
    assert_eq!(text_of(setup, "big", json!({ "kib": 0 })).await, "");
    let big = text_of(setup, "big", json!({ "kib": 1000 })).await;
    assert_eq!(big.len(), 1000 << 10);
    let error = error_of(setup, "big", json!({ "kib": 1100 })).await;
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    assert_eq!(
        shown(setup.outcome("parts", json!({})).await)["content"],
        json!([
            { "type": "text", "text": "é" },
            { "type": "json", "json": { "ü": [1, null] } },
            { "type": "image", "media_type": "image/png", "data": "AP8=" },
            { "type": "document", "uri": "docs:a", "media_type": "text/plain", "data": "ZA==" },
            { "type": "document", "uri": "docs:b" },
        ])
    );
}

async fn errors(setup: &Setup, front: Front) {
    for (how, kind) in [
        ("invalid", ErrorKind::InvalidArguments),
        ("denied", ErrorKind::Denied),
        ("unavailable", ErrorKind::Unavailable),
        ("failed", ErrorKind::Failed),
    ] {
        let error = error_of(setup, "fail", json!({ "how": how })).await;
        assert_eq!((error.kind, error.message), (kind, format!("é {how}")));
    }
    let reply = setup.outcome("fail", json!({ "how": "reply" })).await;
    assert!(reply.result.as_ref().unwrap().is_error);
    let lines = logged(async {
        let error = error_of(setup, "fail", json!({ "how": "broken" })).await;
        // The packages for Python and JavaScript tell of an exception; elsewhere it is a trap.
        let kind = match front {
            Front::Typed { .. } => ErrorKind::Failed,
            _ => ErrorKind::Broken,
        };
        assert_eq!(error.kind, kind, "{error}");
    })
    .await;
    assert!(told(setup, &lines, "é broken") > 0, "{lines}");
    // The next call has an instance of its own.
    assert_eq!(text_of(setup, "echo", json!({ "text": "a" })).await, "a");
}

async fn log_and_progress(setup: &Setup) {
    let lines = logged(async {
        assert_eq!(text_of(setup, "tell", json!({})).await, "told");
    })
    .await;
    assert_eq!(told(setup, &lines, "told é"), 4, "{lines}");
    for level in ["DEBUG", "INFO", "WARN", "ERROR"] {
        let at_level = |line: &&str| line.contains(level) && line.contains("told é");
        assert!(
            lines.lines().any(|line| at_level(&line)),
            "{level}: {lines}"
        );
    }
    assert_eq!(told(setup, &lines, "printed é"), 1, "{lines}");
    assert_eq!(told(setup, &lines, "half é"), 1, "{lines}");
}

async fn surroundings(setup: &Setup) {
    let mut request = request("chat", "surroundings", &json!({}));
    request.attributes.insert("locale".into(), "de".into());
    let outcome = call(&setup.host, request).await.unwrap();
    assert_eq!(
        structured(outcome),
        json!({
            "chat": "chat",
            "root": setup.root(),
            "has_time": true,
            "cancelled": false,
            "locale": "de",
            "setting": "é",
            "other": "default",
            "secret": "the operator gave this plugin no secret named \"key\"",
        })
    );
}

async fn limits(setup: &Setup) {
    let error = error_of(setup, "spin", json!({})).await;
    let text = "the tool was stopped: guest time limit of 2000 ms reached";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Limit, text)
    );
    let lines = logged(async {
        let error = error_of(setup, "hoard", json!({})).await;
        let text = "the tool was stopped: memory limit of 64 MiB reached";
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Limit, text)
        );
    })
    .await;
    assert_eq!(guests(&lines, &plugin(setup)).len(), 1, "{lines}");
}

async fn commands(setup: &Setup) {
    let command =
        json!({ "command": "printf $A; cat; exit 3", "env": { "A": "é" }, "stdin": "😀" });
    assert_eq!(
        structured(setup.outcome("shell", command).await),
        json!({ "code": 3, "signal": null, "text": "é😀", "total": 6 })
    );
    let long = json!({ "command": "head -c 100000 /dev/zero | tr '\\0' x" });
    let long = structured(setup.outcome("shell", long).await);
    let gap = "\n[34464 bytes left out]\n";
    assert!(long["text"].as_str().unwrap().contains(gap));
    let killed = structured(
        setup
            .outcome("shell", json!({ "command": "kill -9 $$" }))
            .await,
    );
    assert_eq!(
        (&killed["code"], &killed["signal"]),
        (&json!(null), &json!("SIGKILL"))
    );
    let slow = json!({ "command": "exec sleep 1000", "timeout": 0.01 });
    let error = error_of(setup, "shell", slow).await;
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    let text = "the command was ended: it took more than 0.01 s";
    assert!(error.message.starts_with(text), "{error}");
    let command = "echo is ready; exec sleep 1000";
    assert_eq!(
        structured(
            setup
                .outcome("background", json!({ "command": command }))
                .await
        ),
        json!({
            "wake": "matched",
            "read": "is ready",
            "listed": [command],
            "before": "running",
            "after": "SIGKILL",
            "cause": "signalled",
        })
    );
}

async fn cancellation(setup: &Setup) {
    let command = "echo $$ > begun.new; mv begun.new begun; exec sleep 1000";
    let request = request("chat", "shell", &json!({ "command": command }));
    let (chat, id, host): (_, _, Host) =
        (request.chat.clone(), request.id.clone(), setup.host.clone());
    let running = tokio::spawn(async move { call(&host, request).await.unwrap() });
    setup.file("begun").await;
    setup
        .host
        .cancel(&chat, &id, &Actor::default())
        .await
        .unwrap();
    let error = running.await.unwrap().result.clone().unwrap_err();
    assert!(
        error.message.contains("the call was cancelled"),
        "{error:?}"
    );
    std::fs::remove_file(setup.root().join("begun")).unwrap();
}

async fn files(setup: &Setup) {
    let stored = json!({ "path": "directory/file", "text": "é" });
    assert_eq!(
        structured(setup.outcome("store", stored.clone()).await),
        json!({
            "size": 3,
            "text": "é\n",
            "lines": 1,
            "kind": "file",
            "names": ["directory"],
            "exists": false,
        })
    );
    let written = std::fs::read_to_string(setup.root().join("directory/file"));
    assert_eq!(written.unwrap(), "é\n");
    let error = error_of(setup, "store", stored).await;
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    let outside = json!({ "path": "../file", "text": "" });
    let error = error_of(setup, "store", outside).await;
    let text = "../file is outside of the workspace";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Failed, text)
    );
}

async fn requests(setup: &Setup, mut server: Server) {
    let url = format!("http://127.0.0.1:{}/path?q=1", server.port);
    assert_eq!(
        structured(setup.outcome("get", json!({ "url": url })).await),
        json!({ "status": 201, "type": "text/plain", "text": "hello é" })
    );
    let request = server.request().await.to_lowercase();
    assert!(
        request.starts_with("post /path?q=1 http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nx-asked: yes\r\n"), "{request}");
    assert!(
        request.contains("\r\ncontent-type: application/json\r\n"),
        "{request}"
    );
    let error = error_of(setup, "get", json!({ "url": "http://127.0.0.2:1/" })).await;
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
}

/// Returns the name of the plugin, which is that of its language.
fn plugin(setup: &Setup) -> String {
    let mut plugins = setup.host.plugins().into_iter();
    plugins
        .find(|plugin| plugin.name.ends_with("_table"))
        .unwrap()
        .name
}

/// How many lines of the guest have this text.
fn told(setup: &Setup, lines: &str, text: &str) -> usize {
    let name = format!("plugin=\"{}\"", plugin(setup));
    let by_guest = |line: &&str| line.contains(&name) && line.contains(text);
    lines.lines().filter(by_guest).count()
}

fn shown(outcome: Arc<Outcome>) -> Value {
    serde_json::to_value(outcome.as_ref()).unwrap()
}

fn structured(outcome: Arc<Outcome>) -> Value {
    let reply = outcome.result.as_ref();
    let reply = reply.unwrap_or_else(|error| panic!("{error:?}"));
    serde_json::from_str(reply.structured().unwrap().get()).unwrap()
}

/// The first text of a reply.
async fn text_of(setup: &Setup, tool: &str, arguments: Value) -> String {
    let outcome = shown(setup.outcome(tool, arguments).await);
    let text = outcome["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{outcome}")).to_owned()
}
