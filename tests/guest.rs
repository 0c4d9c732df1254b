//! Guests from their text; see `guests/README.md`.

use std::path::{Path, PathBuf};

use toolhost_core::{Grants, Options};
use toolhost_plugin::Limits;
use toolhost_workspace::files::FilesGrant;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The bytes of the guest in `guests/<name>.wat`, as a component unless it is told otherwise.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    component(name, read(&format!("{name}.wat")))
}

/// Reads a file of the directory of guests.
fn read(file: &str) -> String {
    std::fs::read_to_string(directory().join(file)).unwrap()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests")
}

/// The bytes of a guest of this text, as a component unless it is told otherwise.
pub(crate) fn component(name: &str, text: String) -> Vec<u8> {
    let world = match text.contains("[resource-new]") {
        true => "with-resource",
        false => "hostile",
    };
    component_for(name, text, &read("wasi.wit"), world)
}

/// The bytes of a guest of this text, for a world of one's own.
pub(crate) fn component_for(name: &str, text: String, wit: &str, world: &str) -> Vec<u8> {
    let code = text
        .lines()
        .find(|line| !line.starts_with(";;"))
        .unwrap_or_default();
    if code.starts_with("(component") {
        return wat::parse_str(repeated(&text)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let text = if code.starts_with("(module") {
        text
    } else {
        whole_module(&repeated(&text), read)
    };
    let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    if name == "core_module" {
        return module;
    }
    let mut resolve = Resolve::default();
    resolve.push_dir(directory().join("../../wit")).unwrap();
    let package = resolve.push_str("wasi.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let encoder = ComponentEncoder::default();
    encoder
        .module(&module)
        .unwrap()
        .encode()
        .unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// Adds what the guest does not have: the prelude, and what calls its attack.
fn whole_module(guest: &str, read: impl Fn(&str) -> String) -> String {
    let has = |what: &str| guest.contains(what);
    let mut rest = read("prelude.wat");
    if has("(func $attack") {
        rest += &read("attack.wat");
    }
    if !has("(func $allocating") {
        rest += "(func $allocating)";
    }
    // Imports must come first, but else the memory of the prelude must be the first one.
    match has("(import") {
        true => format!("(module {guest}\n{rest})"),
        false => format!("(module {rest}\n{guest})"),
    }
}

/// Repeats what follows `@count` on a line, for code in which no loop and no function may be.
fn repeated(text: &str) -> String {
    let line = |line: &str| {
        let repeat = line.trim_start().strip_prefix('@');
        match repeat.and_then(|repeat| repeat.split_once(' ')) {
            Some((count, code)) => format!("{code}\n").repeat(count.parse().unwrap()),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Options for a guest of this name, with every capability granted.
pub(crate) fn options(name: &str) -> Options {
    Options {
        grants: Grants::default()
            .with_processes()
            .with_files(FilesGrant::Write),
        ..Options::new(name)
    }
}

/// Options with other limits.
pub(crate) fn limited(name: &str, limits: Limits) -> Options {
    Options {
        limits,
        ..options(name)
    }
}
