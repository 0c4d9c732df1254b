//! Errors of a build whose toolchain is missing, or whose crate makes no component.

use std::os::unix::fs::PermissionsExt;

use super::*;

impl Author {
    /// Makes a program in a folder that stands for PATH, and returns the folder.
    fn has_program(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.path("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    /// Builds a plugin with the programs of one folder alone, and returns the code and all that was said.
    fn builds_with(&self, programs: &Path, arguments: &[&str]) -> (i32, String) {
        let output = self
            .command()
            .env("PATH", programs)
            .args(["plugin", "build"])
            .args(arguments)
            .output()
            .unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        (output.status.code().unwrap_or(-1), said)
    }
}

#[test]
fn a_missing_toolchain_is_named_with_the_command_that_installs_it() {
    for (language, expected) in [
        (
            "rust",
            "cargo is missing; install Rust from https://rustup.rs",
        ),
        (
            "python",
            "componentize-py is missing; to install it, run `python3 -m venv .toolhost/venv && ",
        ),
        ("javascript", "npm is missing; install Node.js"),
        ("typescript", "npm is missing; install Node.js"),
        (
            "c",
            "zig is missing; to install it, run `python3 -m venv .toolhost/venv && ",
        ),
        (
            "go",
            "go is missing; to install it, run `python3 -m venv .toolhost/venv && ",
        ),
    ] {
        let author = Author::makes("a", &["--lang", language]);
        let nothing = author.path("bin");
        std::fs::create_dir(&nothing).unwrap();
        let (code, said) = author.builds_with(&nothing, &["a"]);
        assert!(code == 2 && said.contains(expected), "{language}: {said}");
        assert!(!author.path("a/build/a.wasm").exists());
    }
}

#[test]
fn tests_without_their_toolchain_name_it() {
    for (language, expected) in [
        (
            "rust",
            "cargo is missing; install Rust from https://rustup.rs",
        ),
        ("python", "python3 is missing; install Python 3.10 or newer"),
        ("javascript", "npm is missing; install Node.js"),
    ] {
        let author = Author::makes("a", &["--lang", language]);
        let nothing = author.path("bin");
        std::fs::create_dir(&nothing).unwrap();
        let mut command = author.command();
        let output = command.env("PATH", &nothing).args(["plugin", "test", "a"]);
        let output = output.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains(expected),
            "{language}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn what_was_not_built_says_how() {
    let author = Author::makes("a", &[]);
    let says = |arguments: &[&str], expected: &str| {
        let (code, said) = author.run(arguments);
        assert!(
            code == 2 && said.contains(expected),
            "{arguments:?}: {said}"
        );
    };
    let component = "a/build/a.wasm";
    for command in ["inspect", "check"] {
        says(
            &["plugin", command, component],
            "build it with `toolhost plugin build a`",
        );
    }
    says(&["call", "a", "--plugin", component], "/a`");
    says(
        &["call", "a", "--plugin", "a"],
        "name the component of the plugin: ",
    );
}

/// The programs stand for npm: they say what was asked of them.
#[test]
fn what_is_missing_is_installed_if_that_is_wanted() {
    let author = Author::makes("a", &["--lang", "javascript"]);
    let programs = author.has_program("npm", "echo \"npm $*\" >&2; exit 7");
    let (code, said) = author.builds_with(&programs, &["a"]);
    assert!(
        code == 2 && said.contains("or build with --install"),
        "{said}"
    );
    let (code, said) = author.builds_with(&programs, &["a", "--install"]);
    assert!(
        code == 1 && said.contains("npm install --ignore-scripts"),
        "{said}"
    );
}

#[test]
fn an_engine_that_sends_no_requests_is_named() {
    let author = Author::makes("a", &["--lang", "javascript", "--with", "http"]);
    let programs = author.has_program("npm", "exit 7");
    let tools = author.path("a/node_modules/.bin");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(tools.join("esbuild"), "").unwrap();
    let (code, said) = author.builds_with(&programs, &["a"]);
    assert!(
        code == 2 && said.contains("the engine QuickJS sends no requests: in package.json"),
        "{said}"
    );
}

#[test]
fn a_missing_target_of_rust_is_named() {
    let author = Author::makes("a", &[]);
    let manifest = author.path("a/Cargo.toml").canonicalize().unwrap();
    let metadata = json!({
        "packages": [{
            "manifest_path": manifest,
            "targets": [{ "name": "a", "crate_types": ["cdylib"] }],
        }],
        "target_directory": "/nowhere",
    });
    author.has_program("cargo", &format!("echo '{metadata}'"));
    let programs = author.has_program("rustc", "echo /nowhere");
    let (code, said) = author.builds_with(&programs, &["a"]);
    assert!(
        code == 2 && said.contains("run `rustup target add wasm32-wasip2`"),
        "{said}"
    );
}

#[test]
fn a_crate_that_makes_no_component_is_named() {
    let author = Author::makes("a", &[]);
    author.edits("a/Cargo.toml", "crate-type = [\"cdylib\"]", "");
    let (code, said) = author.run(&["plugin", "build", "a"]);
    assert!(
        code == 2 && said.contains("a/Cargo.toml makes no component: add `crate-type"),
        "{said}"
    );
}

#[test]
fn a_build_that_fails_leaves_the_former_component() {
    let author = Author::makes("a", &[]);
    std::fs::create_dir(author.path("a/build")).unwrap();
    std::fs::write(author.path("a/build/a.wasm"), "former").unwrap();
    author.edits(
        "a/src/lib.rs",
        "text.split_whitespace()",
        "text.no_such_method()",
    );
    let (code, said) = author.run(&["plugin", "build", "a", "--debug"]);
    assert!(code == 1 && said.contains("no_such_method"), "{said}");
    let component = std::fs::read(author.path("a/build/a.wasm")).unwrap();
    assert_eq!(component, b"former");
}
