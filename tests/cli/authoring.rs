//! The way of an author from an empty folder to a tool, without a network and in a home directory with nothing in it.

mod cost;
mod dev;
mod languages;
mod missing;
mod mistakes;

use std::path::PathBuf;

use tempfile::TempDir;
use toolhost_needs::needs;

use super::*;

/// Returns the variables with which cargo finds the toolchain and the crates of whoever runs the tests, and asks no network.
pub(crate) fn toolchain() -> Vec<(&'static str, std::ffi::OsString)> {
    let home = std::env::var_os("HOME").map_or_else(PathBuf::new, PathBuf::from);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authors");
    let mut variables = vec![
        ("CARGO_NET_OFFLINE", "true".into()),
        ("CARGO_TERM_COLOR", "never".into()),
        // All of these tests compile the same crates and libraries.
        ("CARGO_TARGET_DIR", target.clone().into()),
        ("GOCACHE", target.join("go").into()),
        ("GOPROXY", "off".into()),
        ("ZIG_GLOBAL_CACHE_DIR", target.join("zig").into()),
    ];
    for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let value = std::env::var_os(name);
        variables.push((name, value.unwrap_or_else(|| home.join(default).into())));
    }
    for name in ["RUSTUP_TOOLCHAIN", "PYENV_ROOT"] {
        variables.extend(std::env::var_os(name).map(|value| (name, value)));
    }
    variables
}

/// An author in an empty directory.
pub(crate) struct Author {
    directory: TempDir,
}

impl Author {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a plugin.
    pub(crate) fn makes(name: &str, options: &[&str]) -> Self {
        let author = Self::new();
        let (code, text) = author.run(&[&["plugin", "new", name], options].concat());
        assert_eq!(code, 0, "{text}");
        author
    }

    /// The program in the directory. The toolchain of Rust and the crates that the repository itself needs are there.
    fn command(&self) -> Command {
        let mut command = client();
        command
            .current_dir(self.directory.path())
            .env("HOME", self.path("home"))
            // The home is below the directory of the test.
            .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
            .envs(toolchain())
            .arg("--state-dir")
            .arg(shared_state("authoring"));
        command
    }

    /// Runs the program, and returns its code and all that it said.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.command().args(arguments).output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        (output.status.code().unwrap_or(-1), said)
    }

    /// Runs the program, which must succeed, and returns what it printed to standard output.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        let stdout = text(&output.stdout);
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}\n{stdout}\n{stderr}");
        stdout.to_owned()
    }

    /// Runs the program, and returns the object that it prints.
    fn object(&self, arguments: &[&str]) -> Value {
        json_of(
            &self
                .command()
                .args(arguments)
                .arg("--json")
                .output()
                .unwrap(),
        )
    }

    /// Replaces a text in a file.
    fn edits(&self, file: &str, from: &str, to: &str) {
        let path = self.path(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }
}

const CASES: &str = "\
ok      two words
ok      no words
ok      no text
cases: 3 ok, 0 failed
";

#[test]
fn a_plugin_in_rust_from_an_empty_folder_to_a_call() {
    let author = Author::makes("word_count", &[]);
    let built = author.succeeds(&["plugin", "build", "word_count", "--debug"]);
    assert!(
        built.starts_with("word_count/build/word_count.wasm: ") && built.contains("sha256   "),
        "{built}"
    );
    let tested = author.succeeds(&["plugin", "test", "word_count", "--no-build"]);
    assert_eq!(tested, CASES);
    let component = "word_count/build/word_count.wasm";
    let built = author.object(&["plugin", "build", "word_count", "--debug"]);
    let size = author.path(component).metadata().unwrap().len();
    assert_eq!(
        (&built["file"], &built["size"]),
        (&json!(component), &json!(size))
    );
    assert!(built["imports"]["wasi"].is_array(), "{built}");
    let checked = author.succeeds(&["plugin", "check", component]);
    assert!(
        checked.contains("it fits the world plugin and lists 1 tool"),
        "{checked}"
    );
    // The folder stands for its component.
    let checked = author.succeeds(&["plugin", "check", "word_count"]);
    assert!(checked.contains("lists 1 tool"), "{checked}");
    let inspected = author.succeeds(&["plugin", "inspect", "word_count"]);
    assert!(inspected.contains("[plugins.word_count]"), "{inspected}");
    let said = "text=to be or not to be";
    let reply = author.succeeds(&["plugin", "run", "word_count", "word_count", said]);
    assert_eq!(reply, "{\"words\":6}\n");
    let reply = author.succeeds(&["plugin", "run", component, "word_count", said, "--text"]);
    assert_eq!(reply, "{\"words\":6}\n");
    let json = r#"{"text": "a b"}"#;
    let reply = author.succeeds(&["call", "word_count", json, "--plugin", component]);
    assert_eq!(reply, "{\"words\":2}\n");

    let (code, error) = author.run(&["plugin", "run", "word_count", "word_count", "txt=a"]);
    assert!(
        code == 1 && error.contains("did you mean `text`?"),
        "{error}"
    );

    author.edits("word_count/cases.json", "\"words\": 2", "\"words\": 3");
    let (code, failed) = author.run(&["plugin", "test", "word_count", "--no-build", "--cases"]);
    assert_eq!(code, 1, "{failed}");
    let test = ["plugin", "test", "word_count", "--no-build", "--cases"];
    assert_eq!(
        author.object(&test),
        json!({
            "passed": false, "language_tests_passed": null,
            "cases": [
                { "name": "two words", "passed": false, "expected": "{\"words\":3}", "got": "{\"words\":2}", "cause": [] },
                { "name": "no words", "passed": true },
                { "name": "no text", "passed": true },
            ],
        })
    );
    assert!(
        failed.contains(
            "FAILED  two words\n          expected  {\"words\":3}\n          got       {\"words\":2}\n"
        ),
        "{failed}"
    );
}

/// Builds the plugin of the template, which must have at most this many bytes.
fn builds_small(name: &str, most: usize) {
    let author = Author::makes(name, &[]);
    let built = author.succeeds(&["plugin", "build", name]);
    let component = std::fs::read(author.path(&format!("{name}/build/{name}.wasm"))).unwrap();
    assert!(component.len() <= most, "{built}");
    let tested = author.succeeds(&["plugin", "test", name, "--no-build", "--cases"]);
    assert_eq!(tested, CASES);
}

#[test]
fn a_component_is_small() {
    builds_small("small_count", 60 * 1024);
}

#[needs(program = "wasm-opt")]
#[test]
fn wasm_opt_makes_a_component_smaller() {
    builds_small("smaller_count", 54 * 1024);
}

/// Through the component: its files and its network are those of each case.
#[test]
fn a_case_gives_files_and_answers() {
    let author = Author::makes("given_count", &["--with", "files,http"]);
    let title = |name: &str, url: &str, expected: Value| {
        json!({
            "name": name, "tool": "page_title", "arguments": { "url": url }, "text": expected,
            "http": [{ "request": { "url": "https://example.com" }, "answer": { "body": "<title>A page</title>" } }],
        })
    };
    let line = json!({ "path": "docs/a.txt" });
    let cases = json!({ "cases": [
        { "name": "a file", "tool": "first_line", "arguments": line, "files": { "docs/a.txt": "one\ntwo" }, "text": "one" },
        { "name": "no file", "tool": "first_line", "arguments": line, "files": {}, "error": { "kind": "failed", "message": "no such file" } },
        title("a page", "https://example.com/", json!("A page")),
        title("another page", "https://example.com/b", json!("A page")),
    ] });
    std::fs::write(author.path("given_count/cases.json"), cases.to_string()).unwrap();
    let (code, said) = author.run(&["plugin", "test", "given_count", "--cases"]);
    assert_eq!(code, 1, "{said}");
    for line in [
        "ok      a file\n",
        "ok      no file\n",
        "ok      a page\n",
        "FAILED  another page\n",
        "http      no answer for GET https://example.com/b; there is one for GET https://example.com/\n",
        "cases: 3 ok, 1 failed\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let secret = author.path("secret");
    std::fs::write(&secret, "k\n").unwrap();
    let flag = format!("key={}", secret.display());
    let test = [
        "plugin",
        "test",
        "given_count",
        "--cases",
        "--no-build",
        "--secret",
        &flag,
    ];
    let (code, said) = author.run(&test);
    assert!(code == 2 && said.contains("--secret key: "), "{said}");
}

#[test]
fn a_case_that_traps_shows_its_cause_and_the_line() {
    let author = Author::makes("trap_count", &[]);
    let source = "trap_count/src/lib.rs";
    author.edits(
        source,
        "    let words = text",
        "    let letters: Vec<char> = text.chars().collect();\n    assert!(letters[0] != 'h', \"no greetings\");\n    let words = text",
    );
    let text = std::fs::read_to_string(author.path(source)).unwrap();
    let line = text.lines().position(|line| line.contains("no greetings"));
    let place = format!("src/lib.rs:{}", line.unwrap() + 1);
    let (code, said) = author.run(&["plugin", "test", "trap_count", "--cases"]);
    assert_eq!(code, 1, "{said}");
    let failed = said.split("FAILED  two words").nth(1).unwrap();
    let frames: Vec<_> = failed
        .lines()
        .filter(|line| line.starts_with("                    in "))
        .collect();
    assert!(failed.contains("no greetings"), "{said}");
    assert!(
        frames
            .iter()
            .any(|frame| frame.contains("trap_count") && frame.contains(&place)),
        "{place}: {said}"
    );
}

#[test]
fn a_call_that_traps_shows_its_cause_and_the_line() {
    let author = Author::makes("trap_run", &[]);
    author.edits(
        "trap_run/src/lib.rs",
        "    let words = text",
        "    assert!(text.len() < 9, \"text too long\");\n    let words = text",
    );
    let source = std::fs::read_to_string(author.path("trap_run/src/lib.rs")).unwrap();
    let line = source.lines().position(|line| line.contains("too long"));
    let place = format!("src/lib.rs:{}", line.unwrap() + 1);
    let call = [
        "plugin",
        "run",
        "trap_run",
        "trap_run",
        "text=more than that",
    ];
    author.succeeds(&["plugin", "build", "trap_run", "--debug"]);
    let (code, said) = author.run(&call);
    assert_eq!(code, 1, "{said}");
    let mut frames = said
        .lines()
        .filter(|line| line.trim_start().starts_with("in "));
    assert!(
        frames.any(|frame| frame.contains("trap_run") && frame.contains(&place)),
        "{place}: {said}"
    );
    assert!(!said.contains("--debug"), "{said}");
}

#[test]
fn the_contract_is_written_anywhere() {
    let author = Author::new();
    let written = author.succeeds(&["plugin", "wit", "a/wit"]);
    assert!(written.contains("a/wit/world.wit\n"), "{written}");
    assert!(author.path("a/wit/tools.wit").is_file());
}

#[test]
fn names_and_folders_that_cannot_be_are_refused() {
    let author = Author::makes("first", &["--lang", "c"]);
    let (code, error) = author.run(&["plugin", "new", "first"]);
    assert!(code == 2 && error.contains("first is not empty"), "{error}");
    let (code, error) = author.run(&["plugin", "new", "Word-Count"]);
    assert!(code == 2 && error.contains("; write word_count"), "{error}");
    let (code, error) = author.run(&[
        "plugin", "new", "class", "--lang", "python", "--dir", "second",
    ]);
    assert!(
        code == 2
            && error.contains("a keyword of the language; choose another, such as class_tool"),
        "{error}"
    );
    assert!(!author.path("second").exists());
    let (code, error) = author.run(&["plugin", "build", "home"]);
    assert!(code == 2 && error.contains("home/plugin.toml"), "{error}");
    let (code, error) = author.run(&["plugin", "run", "first", "first"]);
    assert!(
        code == 2 && error.contains("toolhost plugin build first"),
        "{error}"
    );
}

#[test]
fn grants_and_settings_are_for_a_named_plugin() {
    let author = Author::new();
    for (flag, value) in [
        ("--grant", "files=read"),
        ("--setting", "a=b"),
        ("--secret", "a=b"),
    ] {
        let (code, error) = author.run(&["call", "execute", "{}", flag, value]);
        let expected = format!("{flag} has no effect without --plugin");
        assert!(code == 2 && error.contains(&expected), "{error}");
    }
}
