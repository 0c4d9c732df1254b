//! Plugins in other languages than Rust, with the tools of the examples.

use std::os::unix::fs::symlink;

use toolhost_needs::needs;

use super::*;

/// Returns the folder of the tools with which an example was built.
fn tools(language: &str) -> PathBuf {
    let languages = std::env::var_os("TOOLHOST_LANGUAGES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/languages"),
        PathBuf::from,
    );
    languages
        .canonicalize()
        .unwrap()
        .join(".tools")
        .join(language)
}

impl Author {
    /// Has the tools of a language, which `examples/plugins/build` installed, in the folder of the plugin `word_count` or `table`.
    pub(crate) fn has_tools_of(&self, language: &str) {
        let folder = ["word_count", "table"].map(|name| self.path(name));
        let folder = folder.into_iter().find(|folder| folder.is_dir()).unwrap();
        let tools = tools(language);
        if tools.join("venv").is_dir() {
            let made = folder.join(".toolhost");
            std::fs::create_dir(&made).unwrap();
            symlink(tools.join("venv"), made.join("venv")).unwrap();
        } else {
            symlink(tools.join("node_modules"), folder.join("node_modules")).unwrap();
        }
    }
}

/// From the folder to a reply of the component, which has a tool and these examples.
fn is_whole(language: &str, tools: &str, with: &str) {
    let author = Author::makes("word_count", &["--lang", language, "--with", with]);
    author.has_tools_of(tools);
    author.succeeds(&["plugin", "build", "word_count"]);
    let tested = author.succeeds(&["plugin", "test", "word_count", "--no-build"]);
    assert!(tested.ends_with(CASES), "{tested}");
    let reply = author.succeeds(&["plugin", "run", "word_count", "word_count", "text=a b c"]);
    assert_eq!(reply, "{\"words\":3}\n");
    let checked = author.succeeds(&["plugin", "check", "word_count/build/word_count.wasm"]);
    let count = 1 + with.split(',').count();
    let lists = format!("lists {count} tools");
    assert!(checked.contains(&lists), "{checked}");
}

#[needs(language = "quickjs")]
#[test]
fn a_plugin_in_javascript() {
    is_whole("javascript", "quickjs", "processes,files");
}

/// It is built for the engine that sends requests, which the template chooses.
#[needs(language = "starlingmonkey")]
#[test]
fn a_plugin_in_javascript_that_sends_requests() {
    is_whole("javascript", "starlingmonkey", "processes,files,http");
}

#[needs(language = "typescript")]
#[test]
fn a_plugin_in_typescript() {
    is_whole("typescript", "typescript", "processes,files");
}

#[needs(language = "python")]
#[test]
fn a_plugin_in_python() {
    is_whole("python", "python", "processes,files,http");
}

#[needs(toolchain = "go")]
#[test]
fn a_plugin_in_go() {
    is_whole("go", "go", "processes,files,http");
}

#[needs(toolchain = "c")]
#[test]
fn a_plugin_in_c() {
    is_whole("c", "c", "processes,files,http");
}
