//! `toolhost plugin inspect`, as a person and a program read it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use toolhost_plugin::Digest;

use super::made::{self, Reply, Says, Tool};
use crate::guest::guest;
use crate::harness::{program, shared_state};

/// A component in a file of this name.
pub(super) struct Component {
    pub(super) directory: tempfile::TempDir,
    pub(super) path: PathBuf,
    digest: String,
}

impl Component {
    pub(super) fn new(name: &str, bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self {
            directory,
            path,
            digest: Digest::of(bytes).to_string(),
        }
    }

    /// Runs `toolhost plugin` on it, and returns code, output and errors without what differs each time.
    pub(super) fn run(&self, subcommand: &str, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(subcommand, arguments);
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let text = text.replace(&self.digest, "SHA256");
            let size = std::fs::metadata(&self.path).unwrap().len();
            let text = text.replace(&format!("{size} bytes"), "SIZE bytes");
            text.replace(self.directory.path().to_str().unwrap(), "DIR")
        };
        (
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn command(&self, subcommand: &str, arguments: &[&str]) -> Output {
        plugin(self.directory.path(), subcommand)
            .args(arguments)
            .arg(&self.path)
            .output()
            .unwrap()
    }
}

fn plugin(workspace: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(program());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SECRET", "hunter2")
        // A notice about the compilation would come where that takes more than a second.
        .env("TOOLHOST_LOG", "warn")
        .current_dir(workspace)
        .arg("--state-dir")
        .arg(shared_state("cli"))
        .args(["plugin", subcommand]);
    command
}

/// A tool with everything that there is, some of it meant for a terminal.
fn full() -> Vec<u8> {
    let tool = Tool {
        name: "add".into(),
        title: Some("Add two numbers".into()),
        description: "Adds.\nUse it for sums.".into(),
        input: r#"{"type":"object","properties":{"a":{"type":"number","default":"\u001b[2J"}},"required":["a"]}"#.into(),
        output: Some(r#"{"type":"object","required":["sum"]}"#.into()),
        max_duration_ms: Some(5000),
        examples: vec![("one".into(), "{\"a\":\n1}".into(), false)],
    };
    made::plugin(&Says::Tools(vec![tool]), &Reply::Json(r#"{"sum":1}"#))
}

#[test]
fn a_person_sees_what_it_is_and_how_to_use_it() {
    let (code, text, errors) = Component::new("Adder-2.wasm", &full()).run("inspect", &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    insta::assert_snapshot!(text, @r#"
name         adder_2
size         SIZE bytes
sha256       SHA256
contract     0.1.0
world        plugin
exports      toolhost:plugin/tools@0.1.0

  tool       add
  title      Add two numbers
  promises   nothing
  at most    5000 ms
  says       Adds.
             Use it for sums.
  takes      {"type":"object","properties":{"a":{"type":"number","default":"\u001b[2J"}},"required":["a"]}
  gives      {"type":"object","required":["sum"]}
  example    one: {"a":\n1}

To use it:

[plugins.adder_2]
component = "DIR/Adder-2.wasm"
"#);
}

/// The section can be pasted anywhere, and survives the next build unless a pin is asked for.
#[test]
fn the_configuration_works_in_every_directory() {
    let component = Component::new("adder.wasm", &full());
    let configuration = |arguments: &[&str]| {
        let output = plugin(component.directory.path(), "inspect")
            .args(["adder.wasm", "--json"])
            .args(arguments)
            .output()
            .unwrap();
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        shown["configuration"].as_str().unwrap().to_owned()
    };
    let path = component.directory.path().join("adder.wasm");
    let plain = format!("[plugins.adder]\ncomponent = {path:?}\n");
    assert_eq!(configuration(&[]), plain);
    let pin = Digest::of(&full());
    assert_eq!(
        configuration(&["--pin"]),
        format!("{plain}sha256 = \"{pin}\"\n")
    );
}

#[test]
fn a_program_gets_all_of_it() {
    let (code, text, _) = Component::new("adder.wasm", &full()).run("inspect", &["--json"]);
    assert_eq!(code, 0);
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown["world"], "plugin");
    assert_eq!(shown["sha256"], "SHA256");
    assert_eq!(
        shown["tools"][0]["output_schema"],
        json!({"type": "object", "required": ["sum"]})
    );
    assert_eq!(shown["tools"][0]["examples"][0]["arguments"], "{\"a\":\n1}");
    assert_eq!(shown["error"], Value::Null);
}

#[test]
fn grants_are_in_the_configuration_to_paste() {
    let (code, text, _) = Component::new("curious.wasm", &guest("process_user"))
        .run("inspect", &["--name", "shelly"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @r#"
name         shelly
size         SIZE bytes
sha256       SHA256
contract     0.1.0
world        process-plugin
imports      toolhost:plugin/processes@0.1.0  (takes the grant `processes`)
exports      toolhost:plugin/tools@0.1.0

  tool       t
  promises   nothing
  says       t
  takes      {"type":"object"}

To use it:

[plugins.shelly]
component = "DIR/curious.wasm"
grants = { processes = "own" }
"#);
}

#[test]
fn what_does_not_load_is_shown_as_far_as_it_is_known() {
    let newer = made::names(
        &["toolhost:plugin/log@0.2.0", "evil:corp/door@1.0.0"],
        &["toolhost:plugin/tools@0.2.0"],
    );
    let (code, text, _) = Component::new("newer.wasm", &newer).run("inspect", &[]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @r#"
name         newer
size         SIZE bytes
sha256       SHA256
contract     0.2.0
imports      toolhost:plugin/log@0.2.0
imports      evil:corp/door@1.0.0
exports      toolhost:plugin/tools@0.2.0
error        the plugin names toolhost:plugin/tools@0.2.0, and this host speaks version 0.1 of the contract: use a newer Toolhost, or build the plugin against 0.1
"#);
    let (code, text, _) = Component::new("text.wasm", b"hello").run("inspect", &[]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @r#"
name         text
size         SIZE bytes
sha256       SHA256
error        this is not a WebAssembly component: it does not begin as WebAssembly does: give the .wasm file that your build made
"#);
}

#[test]
fn bad_usage_exits_with_2() {
    let directory = tempfile::tempdir().unwrap();
    for subcommand in ["inspect", "check"] {
        let run = |arguments: &[&str]| {
            let output = plugin(directory.path(), subcommand)
                .args(arguments)
                .output()
                .unwrap();
            (
                output.status.code(),
                String::from_utf8(output.stderr).unwrap(),
            )
        };
        let (code, text) = run(&["none.wasm"]);
        assert_eq!(
            (code, text.as_str()),
            (
                Some(2),
                "toolhost: cannot read none.wasm: No such file or directory\n"
            )
        );
        assert_eq!(run(&[]).0, Some(2));
        assert_eq!(run(&["x.wasm", "--format", "json"]).0, Some(2));
    }
}
