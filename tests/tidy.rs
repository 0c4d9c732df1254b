//! The rules of the source tree, as far as its text shows them.

mod circles;
mod promises;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A source file, by its path from the root.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn collect(directory: &Path, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let path = path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            sources.push(Source { path, text });
        }
    }
}

/// The manifest of a crate, by its folder.
fn manifest(krate: &str) -> String {
    std::fs::read_to_string(root().join(krate).join("Cargo.toml")).unwrap()
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for directory in ["host", "guest-tools", "tests"] {
        collect(&root().join(directory), &mut sources);
    }
    assert!(sources.len() > 50);
    sources
}

impl Source {
    /// The code without its tests and comments.
    fn code(&self) -> String {
        let code = self
            .text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
    }
}

/// Asserts that none of these words is in the code of the files below a path, but for those that are excepted: files, or
/// directories with a `/` at their end.
fn absent(below: &str, except: &[&str], words: &[&str]) {
    for source in sources() {
        let file = source.path.as_str();
        let within = file == format!("{below}.rs") || file.starts_with(&format!("{below}/"));
        let excepted =
            |except: &&str| *except == file || (except.ends_with('/') && file.starts_with(except));
        let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
        if !within || is_test || except.iter().any(excepted) {
            continue;
        }
        for word in words {
            assert!(!source.code().contains(word), "{file} names {word}");
        }
    }
}

/// The crates of the host, each with those that it may know: cargo refuses all others.
#[test]
fn dependencies_point_one_way() {
    for (krate, may_know) in [
        ("state", &[][..]),
        ("store", &["state"]),
        ("postgres", &["state", "store"]),
        ("sandbox", &["state"]),
        ("egress", &[]),
        ("author", &[]),
        ("package", &["state"]),
        ("workspace", &["state", "sandbox"]),
        (
            "local",
            &["state", "egress", "store", "sandbox", "workspace"],
        ),
        ("call", &["state", "store", "workspace"]),
        ("remote", &["state", "workspace", "call"]),
        ("plugin", &["state", "egress", "workspace", "call", "view"]),
        (
            "core",
            &[
                "state",
                "store",
                "workspace",
                "local",
                "call",
                "plugin",
                "remote",
                "artifacts",
            ],
        ),
        ("http", &["state", "workspace", "call"]),
        ("console", &["http"]),
        (
            "agent",
            &["state", "workspace", "call", "http", "edit", "view"],
        ),
        (
            "server",
            &[
                "state",
                "workspace",
                "call",
                "core",
                "http",
                "console",
                "agent",
                "remote",
            ],
        ),
        (
            "service",
            &[
                "state",
                "egress",
                "store",
                "sandbox",
                "workspace",
                "local",
                "call",
                "http",
                "agent",
            ],
        ),
    ] {
        let manifest = manifest(&format!("host/{krate}"));
        let known = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap_or_default();
        let known = known
            .lines()
            .filter_map(|line| line.strip_prefix("toolhost-")?.split(['.', ' ']).next());
        for known in known.filter(|known| *known != "needs") {
            assert!(may_know.contains(&known), "host/{krate} knows host/{known}");
        }
    }
}

/// The list in CONTRIBUTING.md is that of the files that lift the lint.
#[test]
fn unsafe_code_is_where_contributing_says() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rule = text.split("- **`unsafe`**").nth(1).unwrap();
    let rule = rule.split("\n- **").next().unwrap();
    let named = rule.split('`').skip(1).step_by(2);
    let named: BTreeSet<_> = named.filter(|name| name.starts_with("host/")).collect();
    let sources = sources();
    let has_it = |source: &&Source| {
        let path = &source.path;
        path.starts_with("host/")
            && !path.contains("/tests")
            && source.code().contains("unsafe_code")
    };
    let found: BTreeSet<_> = sources
        .iter()
        .filter(has_it)
        .map(|source| &*source.path)
        .collect();
    assert_eq!(
        named, found,
        "named in CONTRIBUTING.md, and found in the tree"
    );
}

#[test]
fn the_domain_knows_no_wit_and_no_http() {
    for krate in ["author", "state", "store", "workspace", "local", "call"] {
        let manifest = manifest(&format!("host/{krate}"));
        for word in ["wasmtime", "axum", "hyper"] {
            assert!(!manifest.contains(word), "host/{krate} knows {word}");
        }
    }
}

#[test]
fn one_crate_knows_wasmtime() {
    for krate in [
        "host",
        "host/agent",
        "host/author",
        "host/core",
        "host/http",
        "host/server",
        "host/service",
    ] {
        let manifest = manifest(krate);
        let known = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap_or_default();
        assert!(!known.contains("\nwasmtime"), "{krate} knows wasmtime");
    }
}

#[test]
fn bindings_are_generated_in_one_place_and_nothing_else_is_there() {
    // Those of the SDK are checked in: `guest-tools/sdk/tests/bindings.rs` generates them.
    let bindings = "host/plugin/src/capability/bindings.rs";
    for source in sources()
        .iter()
        .filter(|source| source.path != "tests/tidy.rs")
    {
        let code = source.code();
        let generates = code.contains("bindgen!(") || code.contains("wit_bindgen::generate!");
        assert_eq!(generates, source.path == bindings, "{}", source.path);
        if generates {
            assert!(
                !code.contains("fn ") && !code.contains("impl "),
                "{} has code of its own",
                source.path
            );
        }
    }
}

#[test]
fn processes_are_started_and_signalled_in_one_place() {
    let place = [
        "host/local/src/process/contain/",
        // The operator's own program, which is asked about calls: no command of a chat.
        "host/call/src/approval/command.rs",
        // Copies of this program that do one thing, such as compiling a component.
        "host/plugin/src/self_exec.rs",
        // The toolchains of authors, which build and test their plugins.
        "host/author/src/program.rs",
    ];
    absent(
        "host",
        &place,
        &[
            "Command::new",
            "killpg",
            "pidfd_send_signal",
            "signal::kill",
            ".spawn()?",
        ],
    );
}

#[test]
fn one_function_makes_stores() {
    for user in ["host/plugin", "host/core"] {
        absent(user, &["host/plugin/src/store.rs"], &["Store::new"]);
    }
}

#[test]
fn guests_know_the_contract_and_no_host() {
    for source in sources()
        .iter()
        .filter(|source| source.path.starts_with("guest-tools/"))
    {
        assert!(
            !source.code().contains("use toolhost::"),
            "{} names the host",
            source.path
        );
    }
    for guest in [
        "caller",
        "conformance",
        "edit",
        "examples/fetch_title",
        "examples/word_count",
        "files",
        "sdk",
        "sdk/macros",
        "shell",
        "table",
        "view",
    ] {
        let manifest = manifest(&format!("guest-tools/{guest}"));
        assert!(!manifest.contains("wasmtime"), "{guest}");
    }
    for guest in [
        "toolhost-caller",
        "toolhost-conformance",
        "toolhost-fetch-title",
        "toolhost-files",
        "toolhost-shell",
        "toolhost-table",
        "toolhost-word-count",
    ] {
        assert!(
            !manifest("host").contains(guest),
            "the host has the bytes of a guest, not its code"
        );
    }
}

/// Each figure is written down once.
#[test]
fn the_readme_quotes_the_rows_of_the_page_about_performance() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (readme, page) = (text("README.md"), text("docs/performance.md"));
    let (_, cost) = readme.split_once("\n## Cost\n").unwrap();
    let cost = cost.split("\n## ").next().unwrap();
    let rows: Vec<_> = cost.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in &rows[1..] {
        let known = page.lines().any(|line| line.starts_with(row));
        assert!(known, "docs/performance.md has no such row: {row}");
    }
}

#[test]
fn files_are_small_and_say_what_they_are_for() {
    for source in sources() {
        let file = &source.path;
        assert!(
            source.text.starts_with("//!"),
            "{file} does not say what it is for"
        );
        assert!(!file.ends_with("/mod.rs"), "{file}");
        let lines = source
            .text
            .split("\n#[cfg(test)]")
            .next()
            .unwrap_or_default()
            .lines()
            .count();
        let is_generated = file.starts_with("guest-tools/sdk/src/bindings/");
        assert!(
            lines <= 500 || file.starts_with("tests/") || is_generated,
            "{file} has {lines} lines before its tests"
        );
    }
}

#[test]
fn every_guest_has_a_test() {
    let all = sources();
    let sandbox = |source: &&Source| {
        let others = ["tests/sandbox.rs", "tests/approval.rs"];
        others.contains(&source.path.as_str()) || source.path.starts_with("tests/sandbox/")
    };
    let tests: String = all.iter().filter(sandbox).map(Source::code).collect();
    let parts = ["attack", "prelude"];
    for entry in std::fs::read_dir(root().join("tests/guests"))
        .unwrap()
        .flatten()
    {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|extension| extension == "wat") && !parts.contains(&name) {
            assert!(
                tests.contains(&format!("async fn {name}()")),
                "{name}.wat has no test of its name in tests/sandbox or tests/approval.rs"
            );
        }
    }
}

/// A test that cannot run is ignored, with `needs`: one that only says that it is skipped has passed.
#[test]
fn no_test_skips_itself() {
    absent("tests", &["tests/tidy.rs"], &["skipped: "]);
}

#[test]
fn each_dependency_says_what_it_is_for() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .unwrap()
        .split("\n[")
        .next()
        .unwrap();
    let mut explained = false;
    for line in section.lines().filter(|line| !line.is_empty()) {
        let comment = line.starts_with('#');
        assert!(
            comment || explained || line.starts_with("toolhost-"),
            "{line}"
        );
        explained = comment;
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = root();
    let mut links = 0;
    for directory in ["", "docs", "docs/tutorials"].map(|name| root.join(name)) {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let page = entry.path();
            if page.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&page).unwrap();
            for link in text.split("](").skip(1) {
                let target = link.split(')').next().unwrap();
                let file = target.split('#').next().unwrap();
                if file.is_empty() || file.contains("://") {
                    continue;
                }
                links += 1;
                let exists = directory.join(file).exists();
                assert!(exists, "{}: there is no {file}", page.display());
            }
        }
    }
    assert!(links > 30);
}
