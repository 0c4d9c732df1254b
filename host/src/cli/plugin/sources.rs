//! The sources of a plugin, which are followed: the files of its folder that a build or its cases read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tokio::sync::watch;
use toolhost_author::Language;
use toolhost_service::follow::Followed;

/// Folders that tools make.
const MADE: [&str; 6] = [
    "build",
    "target",
    "node_modules",
    "__pycache__",
    "gen",
    "packages",
];

/// Files that tools write beside the sources.
const WRITTEN: [&str; 2] = ["package-lock.json", "wit_exports.go"];

/// Files that are sources in every language.
const ALWAYS: [&str; 2] = ["plugin.toml", "cases.json"];

/// The most files that are followed.
const MOST: usize = 10_000;

/// Counts the changes of the sources.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) folder: PathBuf,
    pub(super) language: Language,
    pub(super) changes: watch::Sender<u64>,
}

impl Followed for Sources {
    type Read = ();

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.folder, self.language, false, &mut files);
        files
    }

    fn read(&mut self) {}

    async fn take(&mut self, (): ()) -> bool {
        self.changes.send_modify(|count| *count += 1);
        true
    }
}

/// Returns the source that was changed last after a component was built; `None` if none was. The cases of tests are none.
pub(super) fn changed_since(
    component: &Path,
    folder: &Path,
    language: Language,
) -> Option<PathBuf> {
    let changed = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    let built = changed(component)?;
    let mut files = Vec::new();
    collect(folder, language, false, &mut files);
    let sources = files
        .into_iter()
        .filter(|path| !path.ends_with("cases.json"));
    let newer =
        sources.filter_map(|path| Some((changed(&path).filter(|changed| *changed > built)?, path)));
    newer.max().map(|(_, path)| path)
}

/// Adds the sources in a folder. A folder that cannot be read has none. `is_whole`: all files but logs are sources, since a source may
/// include them.
fn collect(folder: &Path, language: Language, is_whole: bool, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        // Editors keep their own files beside the one that is edited.
        let is_of_editor = name.starts_with('.') || name.ends_with('~') || name.starts_with('#');
        let is_bindings = kind.is_dir() && name.starts_with("toolhost_plugin_");
        let path = entry.path();
        let is_left_out = match kind.is_dir() {
            true => MADE.contains(&&*name),
            false => !is_source(&path, language) && (!is_whole || name.ends_with(".log")),
        };
        if is_of_editor || is_bindings || is_left_out || files.len() == MOST {
            continue;
        }
        match kind.is_dir() {
            true => {
                let is_whole = is_whole || (language == Language::Rust && name == "src");
                collect(&path, language, is_whole, files);
            }
            false => files.push(path),
        }
    }
}

/// Returns whether a build of this language reads a file, as far as its name says that.
fn is_source(path: &Path, language: Language) -> bool {
    let name = path.file_name().unwrap_or_default();
    if WRITTEN.iter().any(|written| name == *written) {
        return false;
    }
    let endings: &[&str] = match language {
        Language::Rust => &["rs", "toml"],
        Language::Python => &["py"],
        Language::JavaScript | Language::TypeScript => {
            &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "json"]
        }
        Language::C => &["c", "h"],
        Language::Go => &["go", "mod", "sum", "s"],
    };
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ALWAYS.iter().any(|always| name == *always) || ending == "wit" || endings.contains(&ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of these files are sources.
    fn sources_of(language: Language, files: &[&str]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("src/plugin");
        for path in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let mut found = Vec::new();
        collect(&folder, language, false, &mut found);
        let relative = |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_owned();
        let mut found: Vec<_> = found.iter().map(relative).collect();
        found.sort_unstable();
        let names = found.iter().map(|path| path.to_str().unwrap().to_owned());
        names.collect()
    }

    #[test]
    fn a_source_that_is_newer_than_the_component_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, seconds: u64| {
            std::fs::write(at(name), "").unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let file = std::fs::File::options().write(true).open(at(name)).unwrap();
            file.set_modified(time).unwrap();
        };
        std::fs::create_dir(at("build")).unwrap();
        let newer = || changed_since(&at("build/a.wasm"), folder.path(), Language::Python);
        write("plugin.py", 3000);
        assert_eq!(newer(), None, "there is no component");
        write("build/a.wasm", 3000);
        write("cases.json", 4000);
        write("notes.txt", 4000);
        assert_eq!(newer(), None);
        write("plugin.py", 4000);
        assert_eq!(newer(), Some(at("plugin.py")));
    }

    #[test]
    fn what_no_build_reads_is_no_source() {
        let of_all = ["cases.json", "plugin.toml", "wit/files.wit"];
        let others = [
            "build/a.wasm",
            "target/debug/a.rs",
            "a/__pycache__/a.py",
            ".toolhost/venv/a.py",
            "toolhost_plugin_log/a.go",
            "Cargo.lock",
            "package-lock.json",
            ".plugin.toml.swp",
            "notes.txt",
            "dev.log",
            "src/dev.log",
            "out",
            "README.md",
        ];
        for (language, own) in [
            (
                Language::Rust,
                &["src/a/b.rs", "src/words.txt", "Cargo.toml"][..],
            ),
            (Language::Python, &["plugin.py", "a/b.py"]),
            (
                Language::JavaScript,
                &["plugin.js", "package.json", "a/b.mjs"],
            ),
            (Language::TypeScript, &["plugin.ts", "tsconfig.json"]),
            (Language::C, &["plugin.c", "json.h"]),
            (
                Language::Go,
                &["export_toolhost_plugin_tools/plugin.go", "go.mod"],
            ),
        ] {
            let mut expected = [&of_all[..], own].concat();
            expected.sort_unstable();
            let all = [&expected[..], &others].concat();
            assert_eq!(sources_of(language, &all), expected);
        }
    }
}
