//! Builds the guests that every host has.
//!
//! This way `cargo build`, `cargo test` and `cargo clippy` need no step before them, and no component is ever stale.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script runs other programs; the rule is about the host's processes"
)]

mod compile;

use std::path::Path;
use std::process::ExitCode;

/// The guests, as [`compile::compile`] takes them.
const GUESTS: [(&str, &str, &str); 4] = [
    ("toolhost-shell", "shell", "SHELL_COMPONENT"),
    ("toolhost-files", "files", "FILES_COMPONENT"),
    ("toolhost-find", "find", "FIND_COMPONENT"),
    ("toolhost-script", "script", "SCRIPT_COMPONENT"),
];

/// What goes through whole outputs and files is worth its size: it is where guests spend their time.
const FAST: [&str; 12] = [
    "toolhost-view",
    "toolhost-edit",
    "imara-diff",
    "memchr",
    "vte",
    "serde_json",
    "image",
    "zune-jpeg",
    "png",
    "fdeflate",
    "image-webp",
    "zlib-rs",
];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=compile.rs");
    compile::ended(compile::compile(Path::new(".."), &GUESTS, &FAST))
}
