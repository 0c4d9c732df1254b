//! The README's commands, each run as it is written, in a home directory with nothing in it.

use super::authoring::toolchain;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

use super::*;
use crate::harness::program;

const README: &str = include_str!("../../README.md");

/// The address that the README uses.
const ADDRESS: &str = "127.0.0.1:7411";

/// Stands for cargo: builds and tests of the repository do nothing, since both are done; `run` runs the program. Plugins are built by the
/// real one.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "metadata "* | "build --lib "* | "test --quiet") PATH=$PROGRAMS exec cargo "$@" ;;
    "run -- "*) shift 2; exec toolhost "$@" ;;
    "test" | "install --path host --locked") ;;
    *) echo "cargo $*: add this command to the test of the README" >&2; exit 64 ;;
esac
"#;

/// Returns the shell commands below a heading, in the order of the page.
fn commands(heading: &str) -> String {
    let section = README
        .split("\n## ")
        .find(|section| section.lines().next() == Some(heading))
        .unwrap_or_else(|| panic!("the README has no section {heading:?}"));
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0)
        .collect()
}

/// The sections that have commands.
const SECTIONS: [&str; 4] = [
    "Try it",
    "Install",
    "For chat servers",
    "For plugin authors",
];

/// A home directory, a clone, and the programs that a user has after an installation.
struct Newcomer {
    directory: TempDir,
    address: String,
}

impl Newcomer {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let path = |name: &str| directory.path().join(name);
        for name in ["home", "bin", "clone/target", "clone/tests/needs"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        // The code of the embedded components is the only thing that an earlier start could have left.
        with_code(path("home/.cache/toolhost"), None);
        std::fs::write(path("clone/tests/needs/build.rs"), "").unwrap();
        for name in ["examples", "guest-tools", "tests/languages", "wit"] {
            symlink(repository.join(name), path("clone").join(name)).unwrap();
        }
        symlink(program(), path("bin/toolhost")).unwrap();
        std::fs::write(path("bin/cargo"), CARGO).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path("bin/cargo"), executable).unwrap();
        // The page has a fixed port. Another program could take this one before the server does, but none looks for it.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        Self { directory, address }
    }

    /// Runs all commands below a heading in one shell that ends at the first failure, and returns what they printed.
    fn run(&self, heading: &str) -> String {
        let script = format!(
            "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{}",
            commands(heading).replace(ADDRESS, &self.address)
        );
        let path = |name: &str| self.directory.path().join(name);
        let programs = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args(["-c", &script])
            .env_clear()
            .env("HOME", path("home"))
            .env("PATH", format!("{}:{programs}", path("bin").display()))
            .env("PROGRAMS", &programs)
            .envs(toolchain())
            .env("TOOLHOST_LISTEN", &self.address)
            .current_dir(path("clone"))
            .output()
            .unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{script}\n{stdout}\n{stderr}");
        stdout.to_owned()
    }
}

#[test]
fn commands_of_the_readme_work_in_a_new_home() {
    let newcomer = Newcomer::new();
    let first = newcomer.run("Try it");
    assert!(
        first.contains(r#""output":"hello\nLinux\n","exit_code":0"#),
        "{first}"
    );
    let installed = newcomer.run("Install");
    assert!(
        installed.contains(r#""output":"greeting.txt\n""#),
        "{installed}"
    );
    assert!(installed.contains("hello"), "{installed}");
    let served = newcomer.run("For chat servers");
    assert!(served.contains(r#""type":"function""#), "{served}");
    assert!(
        served.contains(r#""state":"finished","is_error":false"#),
        "{served}"
    );
    assert!(
        served.contains(r#""command":"cat greeting.txt""#),
        "{served}"
    );
}

#[test]
fn the_plugin_of_the_readme_builds_and_runs() {
    let newcomer = Newcomer::new();
    let output = newcomer.run("For plugin authors");
    assert!(output.contains("cases: 3 ok, 0 failed"), "{output}");
    assert!(
        output.contains("/word_count/build/word_count.wasm\"\n"),
        "{output}"
    );
    assert!(output.ends_with("{\"words\":6}\n"), "{output}");
}

#[test]
fn every_command_of_the_readme_is_run() {
    let blocks = README.matches("```sh\n").count();
    let run: usize = SECTIONS
        .iter()
        .map(|heading| {
            let section = README.split("\n## ").find(|text| text.starts_with(heading));
            section.unwrap().matches("```sh\n").count()
        })
        .sum();
    assert_eq!(blocks, run);
}
