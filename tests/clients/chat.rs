//! The chats of `examples/chat`: with a model that follows a script, over a connection that fails.

use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::unreliable::{FAULTS, Unreliable};
use super::*;
use crate::harness::{file, until_dead};

/// A chat in some language.
struct Example {
    interpreter: PathBuf,
    program: PathBuf,
    /// Where the program was built.
    _built: Option<tempfile::TempDir>,
}

impl Example {
    /// The one in Python.
    fn python() -> Self {
        Self {
            interpreter: prepared("python").join("bin/python"),
            program: root().join("examples/chat/python/chat.py"),
            _built: None,
        }
    }

    /// The one in TypeScript, built.
    async fn typescript() -> Self {
        let built = super::typescript::built().await;
        Self {
            interpreter: "node".into(),
            program: built.path().join("examples/chat/typescript/dist/chat.js"),
            _built: Some(built),
        }
    }

    fn command(&self) -> Command {
        let mut command = clean(&self.interpreter);
        command.env("PYTHONPATH", root().join("clients/python"));
        command.arg(&self.program);
        command
    }
}

/// The model, with a script.
fn model(script: &Path) -> (Running, String) {
    let mut command = clean("python3");
    command.arg(root().join("examples/chat/model")).arg(script);
    command.args(["--port", "0"]);
    listening(command)
}

fn addresses(command: &mut Command, model: &str, toolhost: &str) {
    command
        .env("OPENAI_API_KEY", "none")
        .env("OPENAI_BASE_URL", format!("{model}/v1"))
        .env("ANTHROPIC_API_KEY", "none")
        .env("ANTHROPIC_BASE_URL", model)
        .env("GEMINI_API_KEY", "none")
        .env("GOOGLE_GEMINI_BASE_URL", model)
        .env("AWS_ACCESS_KEY_ID", "none")
        .env("AWS_SECRET_ACCESS_KEY", "none")
        .env("AWS_DEFAULT_REGION", "us-east-1")
        // The same for JavaScript.
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", model)
        .env("TOOLHOST_URL", toolhost)
        .env("TOOLHOST_TOKEN", TOKEN);
}

/// A model writes a note and reads it, once with each provider.
async fn writes_a_note(example: Example, providers: &[&str]) {
    let workspace = tempfile::tempdir().unwrap();
    let serving = serving(workspace.path(), &[]);
    let (_model, model) = model(&root().join("examples/chat/script.json"));
    for provider in providers {
        let proxy = Unreliable::before(&serving.url).await;
        let note = workspace.path().join("note.txt");
        // The second time it is a chat server that was restarted: it asks for the calls of the same chat again.
        for requests in [FAULTS + 2, FAULTS + 4] {
            let mut command = example.command();
            addresses(&mut command, &model, &proxy.url);
            command.args(["--provider", provider, "--chat", provider, "Write a note."]);
            let output = run(command).await;
            let lines: Vec<_> = printed(&output)
                .lines()
                .filter(|line| !line.is_empty())
                .collect();
            // The command adds a line: had it run twice, there would be two.
            let expected = [
                "I will write the note.",
                "Lines in the note: 1",
                "read_file says: 1\thello from the workspace",
            ];
            assert_eq!(lines, expected, "{provider}");
            let text = std::fs::read_to_string(&note).unwrap();
            assert_eq!(text, "hello from the workspace\n", "{provider}");
            // Each time two calls, of which the very first was asked for again and again.
            assert_eq!(proxy.calls(), requests, "{provider}");
        }
        std::fs::remove_file(note).unwrap();
    }
}

/// What models get wrong is told to them, and the chat goes on.
async fn answers_mistakes(example: Example, providers: &[&str]) {
    let workspace = tempfile::tempdir().unwrap();
    let echo = |name: &str| {
        let command = format!("echo {name}");
        json!({ "as": name, "id": "call_0", "tool": "execute", "arguments": { "command": command } })
    };
    let asked = |name: &str, tool: &str, arguments: &str| json!({ "as": name, "tool": tool, "arguments": arguments });
    let text = "x".repeat(1_200_000);
    let turns = json!([
        { "calls": [asked("broken", "execute", r#"{"command": "echo"#)] },
        { "calls": [asked("none", "process_list", "")] },
        { "calls": [echo("one"), echo("two")] },
        { "calls": [asked("list", "process_list", "[]")] },
        { "calls": [{ "as": "large", "tool": "write_file", "arguments": { "path": "x", "content": text } }] },
        { "text": "{broken}\n{none}\n{two.output}{list}\n{large}" },
    ]);
    let script = workspace.path().join("script.json");
    std::fs::write(&script, json!({ "turns": turns }).to_string()).unwrap();
    let serving = serving(workspace.path(), &[]);
    let (_model, model) = model(&script);
    for provider in providers {
        let mut command = example.command();
        addresses(&mut command, &model, &serving.url);
        command.args(["--provider", provider, "--chat", provider, "Make mistakes."]);
        let output = run(command).await;
        let lines: Vec<_> = printed(&output)
            .lines()
            .filter(|line| !line.is_empty())
            .collect();
        let [broken, none, two, list, large] = lines[..] else {
            panic!("{provider}: {lines:#?}");
        };
        assert!(broken.contains("not valid JSON"), "{provider}: {broken}");
        assert!(none.contains("processes"), "{provider}: {none}");
        assert_eq!(two, "two", "{provider}");
        assert!(list.contains("object"), "{provider}: {list}");
        assert!(large.starts_with("too_large: "), "{provider}: {large}");
    }
}

/// Ctrl-C ends the command that runs.
async fn is_interrupted(example: Example) {
    let mut command = example.command();
    let workspace = tempfile::tempdir().unwrap();
    let script = workspace.path().join("script.json");
    let call = json!({
        "tool": "execute",
        "arguments": { "command": "echo $$ > pid; exec sleep 1000", "timeout": "1h" },
    });
    let turns = json!({ "turns": [{ "calls": [call] }] });
    std::fs::write(&script, turns.to_string()).unwrap();
    let serving = serving(workspace.path(), &[]);
    let (_model, model) = model(&script);
    addresses(&mut command, &model, &serving.url);
    command.arg("Sleep.").stderr(Stdio::piped());
    let mut chat = Running(command.spawn().unwrap());
    let pid = file(&workspace.path().join("pid")).await;
    let pid: u32 = pid.trim().parse().unwrap();

    let id = Pid::from_raw(i32::try_from(chat.0.id()).unwrap());
    kill(id, Signal::SIGINT).unwrap();
    let status = until("the chat ends", || chat.0.try_wait().unwrap()).await;
    let mut said = String::new();
    let mut stderr = chat.0.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.ends_with("cancelled 1.0\n"), "{said}");
    until_dead(pid).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn a_chat_in_python() {
    let providers = [
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
    ];
    writes_a_note(Example::python(), &providers).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn a_chat_in_typescript() {
    let example = Example::typescript().await;
    let providers = [
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
    ];
    writes_a_note(example, &providers).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn a_chat_in_python_answers_mistakes() {
    answers_mistakes(Example::python(), &["openai", "openai-responses"]).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn a_chat_in_typescript_answers_mistakes() {
    let providers = ["openai", "openai-responses"];
    answers_mistakes(Example::typescript().await, &providers).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn a_chat_in_python_is_interrupted() {
    is_interrupted(Example::python()).await;
}

#[needs(client = "typescript")]
#[tokio::test]
async fn a_chat_in_typescript_is_interrupted() {
    is_interrupted(Example::typescript().await).await;
}
