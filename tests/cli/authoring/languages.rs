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

/// From the folder to a reply of the component.
fn is_whole(author: &Author) {
    author.succeeds(&["plugin", "build", "word_count"]);
    let tested = author.succeeds(&["plugin", "test", "word_count", "--no-build"]);
    assert!(tested.ends_with(CASES), "{tested}");
    let reply = author.succeeds(&["plugin", "run", "word_count", "word_count", "text=a b c"]);
    assert_eq!(reply, "{\"words\":3}\n");
    let checked = author.succeeds(&["plugin", "check", "word_count/build/word_count.wasm"]);
    assert!(checked.contains("lists 3 tools"), "{checked}");
}

#[needs(language = "quickjs")]
#[test]
fn a_plugin_in_javascript() {
    let author = Author::makes(
        "word_count",
        &["--lang", "javascript", "--with", "processes,files"],
    );
    symlink(
        tools("quickjs").join("node_modules"),
        author.path("word_count/node_modules"),
    )
    .unwrap();
    is_whole(&author);
}

#[needs(language = "typescript")]
#[test]
fn a_plugin_in_typescript() {
    let author = Author::makes(
        "word_count",
        &["--lang", "typescript", "--with", "processes,files"],
    );
    symlink(
        tools("typescript").join("node_modules"),
        author.path("word_count/node_modules"),
    )
    .unwrap();
    is_whole(&author);
}

#[needs(language = "python")]
#[test]
fn a_plugin_in_python() {
    let author = Author::makes(
        "word_count",
        &["--lang", "python", "--with", "processes,files"],
    );
    let made = author.path("word_count/.toolhost");
    std::fs::create_dir(&made).unwrap();
    symlink(tools("python").join("venv"), made.join("venv")).unwrap();
    is_whole(&author);
}
