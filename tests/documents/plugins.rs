//! The reference of plugins: the way of an author in Rust, and a block for each of the other languages.

use std::os::unix::fs::symlink;

use serde_json::Value;
use toolhost_needs::needs;

use super::blocks::{Block, blocks};
use super::reader::Reader;
use super::{page, tools};

/// A tool beside that of the template, for the cases of the page.
const GREET: &str = r#"
/// Greets in the language of the settings.
#[tool(read_only)]
fn greet() -> &'static str {
    match toolhost_sdk::settings::get("language").as_deref() {
        Some("fr") => "Bonjour",
        _ => "Hello",
    }
}

mod disk_usage;
"#;

/// Returns the blocks of the page in a language, and asserts how many they are.
fn of<const COUNT: usize>(language: &str) -> [Block; COUNT] {
    let mut blocks = blocks(&page("plugins.md"));
    blocks.retain(|block| block.language == language);
    blocks.try_into().unwrap()
}

#[test]
fn every_block_has_a_test_here() {
    let blocks = blocks(&page("plugins.md"));
    let languages: Vec<_> = blocks.iter().map(|block| &block.language).collect();
    assert_eq!(
        languages,
        ["sh", "json", "json", "sh", "python", "json", "ts"]
    );
}

#[test]
fn the_way_of_an_author_in_rust() {
    let [commands, run] = of("sh");
    let [cases, _, _] = of("json");
    let (made, built) = commands.text.split_once("toolhost plugin build").unwrap();
    // The last command does not end; `cli::authoring::dev` has its tests.
    let (built, dev) = built.split_once("toolhost plugin dev").unwrap();
    assert_eq!(dev.lines().count(), 1, "{dev}");

    let mut reader = Reader::new();
    reader.types(made);
    let folder = reader.folder();
    let templates = env!("CARGO_MANIFEST_DIR");
    let templates = format!("{templates}/author/templates/rust");
    let used = std::fs::read_to_string(format!("{templates}/with-processes/src/disk_usage.rs"));
    reader.writes("src/disk_usage.rs", &used.unwrap());
    let source = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let (head, tests) = source
        .split_once("export_tools!(\n    count_words,\n")
        .unwrap();
    let tests = tests.replace("tools![count_words]", "tools![count_words, greet]");
    let exported = "export_tools!(\n    count_words,\n    greet,\n    disk_usage::disk_usage,\n";
    reader.writes("src/lib.rs", &format!("{head}{GREET}\n{exported}{tests}"));
    reader.writes("cases.json", &cases.text);
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    let grants = "\n[grants]\nprocesses = \"runs du\"\n";
    reader.writes("plugin.toml", &format!("{manifest}{grants}"));

    let printed = reader.types(&format!("toolhost plugin build{built}"));
    for expected in [
        "cases: 3 ok, 0 failed",
        "lists 3 tools",
        "{\"words\":6}",
        "build/count_words.wasm: ",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    reader.types("mkdir ~/project");
    let used = reader.types(&run.text);
    assert!(used.contains('K'), "{used}");
}

#[needs(language = "python")]
#[test]
fn a_test_in_python() {
    let [block] = of("python");
    let mut reader = Reader::new();
    reader.types("toolhost plugin new count_lines --lang python && cd count_lines");
    let tool = "from toolhost import processes, tool\n\n\n@tool\ndef count_lines(path: str) -> dict[str, int]:\n    \"\"\"Counts lines.\"\"\"\n    \
        done = processes.run('wc -l <\"$FILE\"', env={\"FILE\": path}, timeout=120)\n    return {\"lines\": int(done.text)}\n";
    reader.writes("plugin.py", tool);
    let imports = "import plugin\nfrom toolhost import testing\n\n";
    reader.writes("snippet.py", &format!("{imports}{}", block.text));
    symlink(tools("python").join("venv"), reader.folder().join("venv")).unwrap();
    reader.types("venv/bin/python snippet.py");
}

#[test]
fn a_case_gives_what_its_call_finds() {
    let [_, case, _] = of("json");
    let mut reader = Reader::new();
    reader.types("toolhost plugin new titles --with files,http && cd titles");
    reader.writes("cases.json", &case.text);
    reader.types("toolhost plugin test . --cases");
}

/// The packages of the page are those of the template.
#[test]
fn the_packages_of_starlingmonkey() {
    let [_, _, packages] = of("json");
    let mut reader = Reader::new();
    reader.types("toolhost plugin new titles --lang javascript --with http && cd titles");
    let written = std::fs::read(reader.folder().join("package.json")).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    let packages: Value = serde_json::from_str(&packages.text).unwrap();
    for (name, expected) in packages.as_object().unwrap() {
        assert_eq!(&written[name], expected, "{name}");
    }
}

#[needs(language = "typescript")]
#[test]
fn types_in_typescript() {
    let [block] = of("ts");
    let mut reader = Reader::new();
    reader.types("toolhost plugin new notes --lang typescript && cd notes");
    let folder = reader.folder();
    symlink(
        tools("typescript").join("node_modules"),
        folder.join("node_modules"),
    )
    .unwrap();
    let imports = "import { t, type Infer } from \"toolhost\";\n\n";
    let used = "export const right: Note = { line: 1 };\n// @ts-expect-error: a line is a number.\nexport const wrong: Note = { line: \"1\" };\n";
    reader.writes("plugin.ts", &format!("{imports}{}{used}", block.text));
    reader.types("rm plugin.test.ts && node_modules/.bin/tsc --noEmit");
}
