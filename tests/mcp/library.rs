//! A library of scripts that changes on disk, below a running server: its clients hear of the new tools.

use crate::harness::serving::{Serving, server};
use crate::harness::until;

use super::*;

const CHANGED: &str = "notifications/tools/list_changed";

/// The directory of a library, beside the configuration that names it.
struct Library(TempDir);

impl Library {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("scripts")).unwrap();
        let text = "tool_mode = 'script'\n[plugins.script]\nsettings = { library = 'scripts' }\n";
        std::fs::write(base.path().join("toolhost.toml"), text).unwrap();
        Self(base)
    }

    /// Replaces a file at once.
    fn write(&self, name: &str, text: &str) {
        let new = self.0.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.path(name)).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join("scripts").join(name)
    }
}

/// The tools that are offered, and their descriptions.
async fn offered(wire: &Wire) -> Vec<(String, String)> {
    let listed = wire.request("tools/list", json!({}), json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut tools: Vec<_> = tools
        .filter(|tool| tool["name"] != "run_script")
        .map(|tool| (text(&tool["name"]), text(&tool["description"])))
        .collect();
    tools.sort();
    tools
}

/// Waits until these tools are offered; each change is told.
async fn until_offered(wire: &Wire, stream: &mut Events, expected: &[(&str, &str)]) {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    let expected: Vec<_> = expected.iter().map(owned).collect();
    while offered(wire).await != expected {
        assert_eq!(stream.next().await.unwrap()["method"], CHANGED);
    }
}

/// What a tool of the library returns.
async fn returned(wire: &Wire, tool: &str) -> Value {
    let call = json!({ "name": tool, "arguments": {} });
    let reply = wire.request("tools/call", call, json!({})).await;
    reply["result"]["structuredContent"]["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_takes_each_change_that_is_right() {
    let library = Library::new();
    library.write("one.js", "/** The first. */ return 1");
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    command
        .arg("--config")
        .arg(library.0.path().join("toolhost.toml"));
    command.arg("serve");
    let (serving, says) = Serving::logged(command, workspace.path().join("log")).await;
    let wire = Wire::to(&serving.url);
    let session = wire.session().await;
    let mut stream = wire.listen(&session, None).await;
    let (one, two) = (("one", "The first."), ("two", "The second."));
    until_offered(&wire, &mut stream, &[one]).await;
    assert_eq!(returned(&wire, "one").await, 1);

    // A script that is added is a tool.
    library.write(
        "two.ts",
        "/** The second. */ const two: number = 2; return two",
    );
    until_offered(&wire, &mut stream, &[one, two]).await;
    assert_eq!(returned(&wire, "two").await, 2);

    // One that is edited is another tool.
    library.write("one.js", "/** It was edited. */ return 10");
    let one = ("one", "It was edited.");
    until_offered(&wire, &mut stream, &[one, two]).await;
    assert_eq!(returned(&wire, "one").await, 10);

    // One that is broken is left out alone, and the log says why.
    let broken = "/** It was broken. */ const two: number = ; return two";
    library.write("two.ts", broken);
    until_offered(&wire, &mut stream, &[one]).await;
    says("the script two of the library is left out: it is no script").await;
    assert_eq!(returned(&wire, "one").await, 10);

    // So is one that makes a tool a second time, with the first.
    library.write("one.ts", "/** Another first. */ return 100");
    until_offered(&wire, &mut stream, &[]).await;
    says("two files in ").await;

    // A script that is right again is offered again.
    std::fs::remove_file(library.path("one.ts")).unwrap();
    std::fs::remove_file(library.path("two.ts")).unwrap();
    until_offered(&wire, &mut stream, &[one]).await;
    // Where the description stays, clients hear nothing: the next call runs the new text.
    library.write("one.js", "/** It was edited. */ return 11");
    until("the new text runs", || {
        let value = crate::harness::wait(returned(&wire, "one"));
        (value == 11).then_some(())
    })
    .await;
}
