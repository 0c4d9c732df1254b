//! The sources of a plugin, which are followed: all files of its folder that no tool makes.

use std::path::{Path, PathBuf};

use tokio::sync::watch;
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
const WRITTEN: [&str; 3] = ["Cargo.lock", "package-lock.json", "wit_exports.go"];

/// The most files that are followed.
const MOST: usize = 10_000;

/// Counts the changes of the sources.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) folder: PathBuf,
    pub(super) changes: watch::Sender<u64>,
}

impl Followed for Sources {
    type Read = ();

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.folder, &mut files);
        files
    }

    fn read(&mut self) {}

    async fn take(&mut self, (): ()) -> bool {
        self.changes.send_modify(|count| *count += 1);
        true
    }
}

/// Adds the sources in a folder. A folder that cannot be read has none.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
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
        let is_made = match kind.is_dir() {
            true => MADE.contains(&&*name),
            false => WRITTEN.contains(&&*name),
        };
        if is_of_editor || is_bindings || is_made || files.len() == MOST {
            continue;
        }
        match kind.is_dir() {
            true => collect(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_make_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let sources = ["cases.json", "plugin.toml", "src/a/b.rs"];
        let made = [
            "build/a.wasm",
            "target/debug/a",
            "src/__pycache__/a.pyc",
            ".toolhost/venv/a",
            "toolhost_plugin_log/a.go",
            "Cargo.lock",
            ".plugin.toml.swp",
        ];
        sources.iter().chain(&made).for_each(|path| write(path));
        let mut found = Vec::new();
        collect(folder.path(), &mut found);
        let root = folder.path();
        let mut found: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(root).unwrap().to_str().unwrap())
            .collect();
        found.sort_unstable();
        assert_eq!(found, sources);
    }
}
