//! The rules of the source tree, as far as its text shows them.

mod circles;
mod links;
mod promises;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file of the tree, by its path from the root.
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

/// Adds the files below a folder whose names end in this way, without those that are built or installed.
fn collect(directory: &Path, ending: &str, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let is_made = ["target", "node_modules", ".git"].map(|made| entry.file_name() == made);
        if path.is_dir() && !is_made.contains(&true) {
            collect(&path, ending, sources);
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
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
        collect(&root().join(directory), "rs", &mut sources);
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

/// The folders of the crates below a folder, with those of crates within crates.
fn crates(below: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in root().join(below).read_dir().unwrap().flatten() {
        let folder = format!("{below}/{}", entry.file_name().display());
        if entry.path().join("Cargo.toml").exists() {
            found.push(folder.clone());
        }
        if entry.path().is_dir() && entry.file_name() != "target" {
            found.extend(crates(&folder));
        }
    }
    found
}

/// Returns the manifest of a crate without its development dependencies.
fn dependencies(krate: &str) -> String {
    let manifest = manifest(krate);
    let before = manifest.split("[dev-dependencies]").next();
    before.unwrap_or_default().to_owned()
}

/// The table of crates in ARCHITECTURE.md is that of the manifests, and a crate comes after those that it knows.
#[test]
fn dependencies_point_one_way() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut above = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| `host/")) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let krate = cells.next().unwrap().trim_matches('`');
        let named = cells.nth(1).unwrap().split('`').skip(1).step_by(2);
        let named: BTreeSet<_> = named.map(str::to_owned).collect();
        let manifest = dependencies(krate);
        let known = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("toolhost-")?.split(['.', ' ']).next())
            .filter(|known| *known != "needs");
        let known: BTreeSet<_> = known.map(str::to_owned).collect();
        assert_eq!(
            named, known,
            "in ARCHITECTURE.md, and in the manifest of {krate}"
        );
        let hosts = known.iter().map(|known| format!("host/{known}"));
        let mut hosts = hosts.filter(|known| root().join(known).exists());
        assert!(
            hosts.all(|known| above.contains(&known)),
            "{krate} is above a crate that it knows"
        );
        above.insert(krate.to_owned());
    }
    let all: BTreeSet<_> = crates("host").into_iter().collect();
    assert_eq!(above, all, "in ARCHITECTURE.md, and in the tree");
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

/// The crates that speak HTTP, or link what does. All others are the domain.
const EDGE: [&str; 8] = [
    "agent", "console", "egress", "http", "link", "plugin", "server", "service",
];

#[test]
fn the_domain_knows_no_wit_and_no_http() {
    for krate in crates("host") {
        let name = krate.strip_prefix("host/").unwrap();
        for word in ["wasmtime", "axum", "hyper"] {
            let is_known = manifest(&krate).contains(word);
            assert!(!is_known || EDGE.contains(&name), "{krate} knows {word}");
        }
    }
}

#[test]
fn one_crate_knows_wasmtime() {
    let others = crates("host").into_iter().chain(["host".to_owned()]);
    for krate in others.filter(|krate| krate != "host/plugin") {
        let is_known = dependencies(&krate).contains("\nwasmtime");
        assert!(!is_known, "{krate} knows wasmtime");
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
        // The process group of that program, and of those that make machines.
        "host/state/src/group.rs",
        // Copies of this program that do one thing, such as compiling a component.
        "host/plugin/src/self_exec.rs",
        // The toolchains of authors, which build and test their plugins.
        "host/author/src/program.rs",
        // The operator's own programs, which make machines.
        "host/machine/src/program.rs",
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
    // These two start programs, and leave signals to their group.
    for user in ["host/call", "host/machine"] {
        absent(user, &[], &["killpg", "pidfd_send_signal", "signal::kill"]);
    }
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
    for guest in crates("guest-tools") {
        assert!(!manifest(&guest).contains("wasmtime"), "{guest}");
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
