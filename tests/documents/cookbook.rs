//! The cookbook: its recipes are one plugin in a language here, so that they are built once. The cases of each run in a workspace of
//! their own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use serde_json::Value;
use toolhost_needs::needs;

use super::blocks::{Block, blocks, sections};
use super::reader::Reader;
use super::{page, tools};

/// One recipe.
struct Recipe {
    heading: String,
    blocks: Vec<Block>,
}

impl Recipe {
    /// Returns the block of a file.
    fn file(&self, language: &str, file: &str) -> Option<&str> {
        let found = self.blocks.iter().find(|block| block.is(language, file));
        found.map(|block| block.text.as_str())
    }

    /// Returns the cases. Every recipe has some.
    fn cases(&self) -> &str {
        let cases = self.file("json", "cases.json");
        cases.unwrap_or_else(|| panic!("{} has no cases", self.heading))
    }
}

/// Reads the page.
fn recipes() -> Vec<Recipe> {
    let text = page("cookbook.md");
    let sections = sections(&text);
    let recipes: Vec<_> = sections[1..]
        .iter()
        .map(|(heading, section)| Recipe {
            heading: (*heading).to_owned(),
            blocks: blocks(section),
        })
        .collect();
    assert!(blocks(sections[0].1).is_empty());
    assert_eq!(recipes.len(), 10);
    recipes
}

/// Runs the cases of each recipe through the component that holds all of them.
fn run_cases<'a>(reader: &mut Reader, recipes: impl Iterator<Item = &'a Recipe>) {
    for recipe in recipes {
        reader.writes("cases.json", recipe.cases());
        let printed = reader.types("toolhost plugin test . --cases --no-build");
        let cases: Value = serde_json::from_str(recipe.cases()).unwrap();
        let count = cases["cases"].as_array().unwrap().len();
        let expected = format!("cases: {count} ok, 0 failed");
        assert!(printed.contains(&expected), "{}: {printed}", recipe.heading);
    }
}

/// Returns a recipe as a module, and the path of its tool. A crate exports its tools once, and only its own.
fn module(number: usize, source: &str) -> (String, String) {
    let (before, rest) = source.split_once("export_tools!(").unwrap();
    let (tool, after) = rest.split_once(");\n").unwrap();
    let function = format!("\nfn {tool}(");
    assert_eq!(source.matches(&function).count(), 1, "{source}");
    let source = format!("{before}{after}").replace(&function, &format!("\npub(crate) fn {tool}("));
    (source, format!("recipe_{number}::{tool}"))
}

#[test]
fn recipes_in_rust() {
    let recipes = recipes();
    let mut reader = Reader::new();
    reader.types("toolhost plugin new cookbook && cd cookbook");
    let folder = reader.folder();
    // What each file warns of is an error, but that its own types are private, which they are in a crate of their own as well.
    let mut root =
        "//! All recipes.\n#![deny(warnings)]\n#![allow(private_interfaces)]\n".to_owned();
    let mut exported = Vec::new();
    let mut dependencies =
        BTreeSet::from(["serde = { version = \"1\", features = [\"derive\"] }".to_owned()]);
    let sdk = "toolhost-sdk = ";
    for (index, recipe) in recipes.iter().enumerate() {
        let source = recipe.file("rust", "src/lib.rs");
        let source = source.unwrap_or_else(|| panic!("{} has no Rust", recipe.heading));
        let (source, tool) = module(index, source);
        reader.writes(&format!("src/recipe_{index}.rs"), &source);
        writeln!(root, "mod recipe_{index};").unwrap();
        exported.push(tool);
        let lines = recipe
            .file("toml", "Cargo.toml")
            .unwrap_or_default()
            .lines();
        dependencies.extend(
            lines
                .filter(|line| !line.starts_with('['))
                .map(str::to_owned),
        );
    }
    writeln!(
        root,
        "toolhost_sdk::export_tools!({});",
        exported.join(", ")
    )
    .unwrap();
    reader.writes("src/lib.rs", &root);
    let with_features = dependencies.iter().any(|line| line.starts_with(sdk));
    assert!(with_features, "{dependencies:?}");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let (head, rest) = manifest.split_once("[dependencies]\n").unwrap();
    let (_, tail) = rest.split_once("\n\n").unwrap();
    let lines: Vec<_> = dependencies.into_iter().collect();
    let manifest = format!("{head}[dependencies]\n{}\n\n{tail}", lines.join("\n"));
    reader.writes("Cargo.toml", &manifest);
    let grants = "\n[grants]\nprocesses = \"a\"\nfiles = \"b\"\nhttp = \"c\"\n";
    let plugin = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    reader.writes("plugin.toml", &format!("{plugin}{grants}"));

    let tested = reader.types("cargo test --quiet");
    assert!(tested.contains("test result: ok. "), "{tested}");
    reader.types("toolhost plugin build");
    run_cases(&mut reader, recipes.iter());
    let checked = reader.types(
        "toolhost plugin check build/cookbook.wasm --grant processes=own --grant files=write --grant http=rates.example.com",
    );
    assert!(checked.contains("lists 10 tools"), "{checked}");
}

#[needs(language = "python")]
#[test]
fn recipes_in_python() {
    let mut recipes = recipes();
    recipes.retain(|recipe| recipe.file("python", "plugin.py").is_some());
    assert!(recipes.len() >= 4);
    let mut reader = Reader::new();
    reader.types("toolhost plugin new cookbook --lang python && cd cookbook && mkdir .toolhost && rm test_plugin.py");
    let folder = reader.folder();
    symlink(tools("python").join("venv"), folder.join(".toolhost/venv")).unwrap();
    let mut plugin = String::new();
    for (index, recipe) in recipes.iter().enumerate() {
        let source = recipe.file("python", "plugin.py").unwrap();
        reader.writes(&format!("recipe_{index}.py"), source);
        writeln!(plugin, "import recipe_{index}").unwrap();
    }
    reader.writes("plugin.py", &plugin);
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    let grants = "\n[grants]\nprocesses = \"a\"\nhttp = \"b\"\n";
    reader.writes("plugin.toml", &format!("{manifest}{grants}"));
    reader.types("toolhost plugin build");
    run_cases(&mut reader, recipes.iter());
}

/// The blocks that no plugin is made of are configurations of a server, which are checked as the operator checks them.
#[test]
fn configurations_are_valid() {
    let mut reader = Reader::new();
    let mut checked = 0;
    for recipe in recipes() {
        for block in &recipe.blocks {
            match (block.language.as_str(), block.file.as_deref()) {
                ("rust", Some("src/lib.rs")) | ("python", Some("plugin.py")) => {}
                ("json", Some("cases.json")) | ("toml", Some("Cargo.toml")) => {}
                ("toml", Some("toolhost.toml")) => {
                    reader.checks(block);
                    checked += 1;
                }
                other => panic!("{}: no test runs {other:?}", recipe.heading),
            }
        }
    }
    assert!(checked > 0);
}
