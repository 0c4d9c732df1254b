//! `toolhost plugin dev`: each change is built, loaded and tested.

use std::io::{BufRead, BufReader, Lines};
use std::process::ChildStdout;

use nix::sys::signal::Signal;
use reqwest::Method;

use super::*;

/// What it prints.
pub(super) struct Printed(pub(super) Lines<BufReader<ChildStdout>>);

impl Printed {
    /// Reads up to a line that contains this text, and returns all lines until there.
    pub(super) fn until(&mut self, end: &str) -> String {
        let mut read = String::new();
        for line in &mut self.0 {
            let line = line.unwrap();
            read.push_str(&line);
            read.push('\n');
            if line.contains(end) {
                return read;
            }
        }
        panic!("it ended without {end:?}: {read}");
    }
}

/// Calls the tool through the server, and returns its reply.
async fn words(serving: &Serving) -> Value {
    let body = json!({ "tool": "dev_count", "arguments": { "text": "a b" } });
    let answer = serving
        .request(Method::POST, "/v1/chats/dev/calls")
        // The next call comes after a build, which may be just when the server closes what was idle for long.
        .header("connection", "close")
        .json(&body)
        .send();
    let answer: Value = answer.await.unwrap().json().await.unwrap();
    answer["structured"]["words"].clone()
}

#[tokio::test]
async fn an_edit_is_built_served_and_tested() {
    // Tests share a folder of cargo, where each component needs a name of its own.
    let author = Author::makes("dev_count", &[]);
    let mut command = author.command();
    command
        .args(["plugin", "dev", "dev_count"])
        .env("TOOLHOST_TOKEN", TOKEN)
        .stdout(Stdio::piped());
    let mut serving = Serving::of(command);
    let stdout = serving.child.stdout.take().unwrap();
    let mut printed = Printed(BufReader::new(stdout).lines());
    let first = printed.until("waiting for changes");
    assert!(
        first.contains("serves  dev_count\ncases: 3 ok, 0 failed\n"),
        "{first}"
    );
    assert_eq!(words(&serving).await, 2);

    let source = "dev_count/src/lib.rs";
    author.edits(source, ".count();", ".count() + 40;");
    let second = printed.until("waiting for changes");
    assert!(
        second.contains("FAILED  two words") && second.contains("{\"words\":42}"),
        "{second}"
    );
    assert_eq!(words(&serving).await, 42);

    // What is not built replaces nothing.
    author.edits(source, ".count() + 40;", ".count() +;");
    printed.until("no new component");
    assert_eq!(words(&serving).await, 42);

    // Cases are sources as well.
    author.edits(source, ".count() +;", ".count();");
    author.edits("dev_count/cases.json", "\"words\": 2", "\"words\": 7");
    printed.until("expected  {\"words\":7}");
    printed.until("waiting for changes");

    assert!(serving.signal(Signal::SIGINT).success());
    let said = serving.rest();
    assert!(said.contains("call    dev_count  ok"), "{said}");
    assert!(said.contains("expected expression"), "{said}");
}
