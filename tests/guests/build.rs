//! Builds the guests of tests as plugins of other authors are built: nothing in them is worth its size, and the size of one has a test.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script runs other programs; the rule is about the host's processes"
)]

#[path = "../../guest-tools/artifacts/compile.rs"]
mod compile;

use std::path::Path;
use std::process::ExitCode;

/// The guests, as [`compile::compile`] takes them.
const GUESTS: [(&str, &str, &str); 6] = [
    ("toolhost-caller", "caller", "CALLER_COMPONENT"),
    ("toolhost-catalogue", "catalogue", "CATALOGUE_COMPONENT"),
    (
        "toolhost-conformance",
        "conformance",
        "CONFORMANCE_COMPONENT",
    ),
    ("toolhost-fetch-title", "examples", "FETCH_TITLE_COMPONENT"),
    ("toolhost-table", "table", "TABLE_COMPONENT"),
    ("toolhost-word-count", "examples", "WORD_COUNT_COMPONENT"),
];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../guest-tools/artifacts/compile.rs");
    compile::ended(compile::compile(
        Path::new("../../guest-tools"),
        &GUESTS,
        &[],
    ))
}
