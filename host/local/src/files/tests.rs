//! The files of a workspace as a whole, on real directories.

mod closed;
mod escapes;
mod listing;
mod reading;
mod recovery;
mod removing;
mod search;
mod search_bounds;
mod search_globs;
mod uploads;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::*;

/// A workspace, and a directory outside of it.
pub(super) struct Tree {
    base: tempfile::TempDir,
    workspace: PathBuf,
    pub(super) files: Files,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(configure: impl FnOnce(&mut Config)) -> Self {
        let base = tempfile::tempdir().unwrap();
        for directory in ["workspace/sub", "outside"] {
            fs::create_dir_all(base.path().join(directory)).unwrap();
        }
        fs::write(base.path().join("outside/secret"), "secret").unwrap();
        let mut config = Config::new(base.path().join("workspace"));
        configure(&mut config);
        let files = Files::open(&config, &Closed::default()).unwrap();
        let workspace = base.path().canonicalize().unwrap().join("workspace");
        Self {
            base,
            workspace,
            files,
        }
    }

    /// A workspace whose temporary files are named in a store.
    fn keeping(temporaries: Temporaries) -> Self {
        let tree = Self::new();
        Self {
            files: tree.files.storing(Some(Arc::new(temporaries))),
            ..tree
        }
    }

    fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.base.path().join("outside").join(name)
    }

    pub(super) fn make(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(super) fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn read(&self, path: &str) -> Result<String, Error> {
        let chunk = self.files.read(path, 0, MAX_READ)?;
        Ok(String::from_utf8(chunk.data).unwrap())
    }

    fn write(&self, path: &str, content: &str) -> Result<Metadata, Error> {
        self.write_if(path, content, Precondition::Any)
    }

    fn write_if(&self, path: &str, content: &str, when: Precondition) -> Result<Metadata, Error> {
        let write = write(path, content, when);
        let mut written = self
            .files
            .write_all(vec![write])
            .map_err(|(_, error)| error)?;
        Ok(written.remove(0))
    }

    fn version(&self, path: &str) -> String {
        self.files.metadata(path).unwrap().version
    }

    /// Returns all names below the workspace, in order.
    pub(super) fn names(&self) -> Vec<String> {
        names(self.workspace())
    }
}

impl Files {
    /// Writes files and removes none.
    pub(super) fn write_all(&self, writes: Vec<Write>) -> Result<Vec<Metadata>, (usize, Error)> {
        self.change_all(writes, Vec::new())
    }
}

pub(super) fn write(path: &str, content: &str, when: Precondition) -> Write {
    Write {
        path: path.into(),
        data: content.into(),
        when,
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
