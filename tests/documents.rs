//! The documents for authors: every block of code in them is run, and their tables are those of the code.

/// The tests of sandboxes.
mod attack;
/// The blocks of a page.
mod blocks;
/// The cookbook.
mod cookbook;
/// The limits of guests and calls.
mod limits;
/// Packages in registries.
mod packages;
/// The reference of plugins.
mod plugins;
/// Tools of MCP servers, before and after they were ported.
mod porting;
/// A shell in the home directory of a reader.
mod reader;
/// The samples of configurations.
mod samples;
/// The tutorials.
mod tutorials;

use std::path::{Path, PathBuf};

/// Reads a page of the documentation.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folder of the tools with which the example in a language was built.
fn tools(language: &str) -> PathBuf {
    let languages = std::env::var_os("TOOLHOST_LANGUAGES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/languages"),
        PathBuf::from,
    );
    let languages = languages.canonicalize().unwrap();
    languages.join(".tools").join(language)
}
