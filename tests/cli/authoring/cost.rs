//! The waits of an author: `cargo test -p toolhost --test integration -- --ignored --nocapture authoring::cost`.
//!
//! Nothing is asserted about times, as they depend on the machine; docs/plugins.md has the numbers of one.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::dev::Printed;
use super::*;

/// How often the source is edited.
const EDITS: usize = 3;

/// Each language with the file of its tool, and a text in it that an edit replaces.
const LANGUAGES: [(&str, &str, &str, &str); 6] = [
    ("rust", "src/lib.rs", ".count();", ".count() + 40;"),
    ("python", "plugin.py", "split())", "split()) + 40"),
    ("javascript", "plugin.js", ".length }", ".length + 40 }"),
    ("typescript", "plugin.ts", ".length }", ".length + 40 }"),
    ("c", "plugin.c", "words(text)", "words(text) + 40"),
    (
        "go",
        "export_toolhost_plugin_tools/plugin.go",
        "given.Text))}",
        "given.Text)) + 40}",
    ),
];

/// The program in a home directory with nothing in it. Only the compiler of Rust is there; the packages of all languages are downloaded.
fn command(author: &Author) -> Command {
    let home = author.path("home");
    let mut command = client();
    command
        .current_dir(author.path("."))
        .env("HOME", &home)
        .env("CARGO_HOME", home.join(".cargo"));
    for (name, value) in toolchain() {
        if ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT"].contains(&name) {
            command.env(name, value);
        }
    }
    // Where packages come from.
    let mirrors = ["PIP_", "NPM_CONFIG_", "HTTP", "http", "SSL_"];
    let is_mirror = |name: &str| mirrors.iter().any(|start| name.starts_with(start));
    command.envs(std::env::vars().filter(|(name, _)| is_mirror(name)));
    command
}

fn step(author: &Author, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    let output = command(author).args(arguments).output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}\n{said}");
    begun.elapsed()
}

#[test]
#[ignore = "measures, and downloads the packages of all languages"]
fn cost() {
    for (language, source, from, to) in LANGUAGES {
        let author = Author::new();
        let steps: [&[&str]; 4] = [
            &["plugin", "new", "word_count", "--lang", language],
            &["plugin", "build", "word_count", "--install"],
            &["plugin", "test", "word_count", "--install"],
            &["plugin", "run", "word_count", "word_count", "text=a b c"],
        ];
        let times = steps.map(|arguments| step(&author, arguments));
        let all: Duration = times.iter().sum();
        println!(
            "{language}: from an empty home to a call {all:.1?}: new, build, test, run {times:.1?}"
        );

        let mut developing = command(&author)
            .args(["plugin", "dev", "word_count"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = developing.stdout.take().unwrap();
        let mut printed = Printed(BufReader::new(stdout).lines());
        printed.until("waiting for changes");
        let mut change = (from, to);
        for _ in 0..EDITS {
            let begun = Instant::now();
            author.edits(&format!("word_count/{source}"), change.0, change.1);
            printed.until("serves  word_count");
            let served = begun.elapsed();
            printed.until("waiting for changes");
            let tested = begun.elapsed();
            println!(
                "{language}: an edit is served after {served:.1?}, and tested after {tested:.1?}"
            );
            change = (change.1, change.0);
        }
        let pid = Pid::from_raw(i32::try_from(developing.id()).unwrap());
        kill(pid, Signal::SIGINT).unwrap();
        developing.wait().unwrap();
    }
}
