//! The tutorials: each is followed from its first command to its last one, and prints what it says.

use std::os::unix::fs::symlink;
use std::path::Path;

use toolhost_needs::needs;

use super::blocks::{Block, blocks};
use super::reader::Reader;
use super::{page, tools};

/// Follows the page of a language. `prepare` puts what the page installs into the folder of the plugin, where no network is used.
fn follow(language: &str, prepare: impl FnOnce(&Path)) {
    let text = page(&format!("tutorials/{language}.md"));
    let mut reader = Reader::new();
    let steps = blocks(&text);
    let (first, rest) = steps.split_first().unwrap();
    assert!(first.text.contains("toolhost plugin new "), "{first:?}");
    reader.follows(first);
    prepare(&reader.folder());
    for block in rest {
        reader.follows(block);
    }
    for language in ["sh", "text", "json"] {
        let has = |block: &Block| block.language == language;
        assert!(steps.iter().any(has), "no block of {language}");
    }
}

/// Gives the plugin the Python environment of the example in Python.
fn with_environment(folder: &Path) {
    std::fs::create_dir(folder.join(".toolhost")).unwrap();
    symlink(tools("python").join("venv"), folder.join(".toolhost/venv")).unwrap();
}

/// Gives the plugin the packages of the example in this language.
fn with_packages(language: &'static str) -> impl FnOnce(&Path) {
    move |folder| {
        let packages = tools(language).join("node_modules");
        symlink(packages, folder.join("node_modules")).unwrap();
    }
}

#[test]
fn rust() {
    follow("rust", |_| {});
}

#[needs(language = "python")]
#[test]
fn python() {
    follow("python", with_environment);
}

#[needs(language = "quickjs")]
#[test]
fn javascript() {
    follow("javascript", with_packages("quickjs"));
}

#[needs(language = "typescript")]
#[test]
fn typescript() {
    follow("typescript", with_packages("typescript"));
}

#[needs(program = "go")]
#[test]
fn go() {
    follow("go", |_| {});
}

#[needs(program = "zig")]
#[test]
fn c() {
    follow("c", |_| {});
}

#[test]
fn each_language_of_plugin_new_has_a_tutorial() {
    let overview = page("tutorials/README.md");
    for language in toolhost_author::Language::ALL {
        let link = format!("]({language}.md)");
        assert!(overview.contains(&link), "no link to {language}.md");
        assert!(!blocks(&page(&format!("tutorials/{language}.md"))).is_empty());
    }
}
