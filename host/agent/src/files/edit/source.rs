//! The files of a workspace as those that edits read and write, for a thread that may block.

use std::sync::Arc;

use tokio::runtime::Handle;
use toolhost_edit::{Content, Files, Kind, NotWritten, Planned, Problem};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Error, MAX_READ, Precondition, Write};

use crate::error::ApiError;
use crate::files::path::{refused, status, text};

/// The files of a workspace.
#[derive(Debug)]
pub(super) struct Source {
    workspace: Arc<dyn Workspace>,
    runtime: Handle,
}

impl Source {
    /// Reads from and writes to this workspace.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, which the files are read in.
    pub(super) fn new(workspace: Arc<dyn Workspace>) -> Self {
        Self {
            workspace,
            runtime: Handle::current(),
        }
    }
}

impl toolhost_edit::Source for Source {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let read = self
            .workspace
            .read_file(path.to_owned(), 0, MAX_READ, Arc::default());
        let chunk = self
            .runtime
            .block_on(read)
            .map_err(|error| problem(&error))?;
        // A larger file is not read as a whole, and its version does not tell every change for certain.
        if chunk.size > MAX_READ as u64 {
            let size = chunk.size;
            let text =
                format!("file is {size} bytes, and the largest that can be edited has {MAX_READ}");
            return Err(Problem::new(Kind::Invalid, text));
        }
        Ok(Content {
            data: chunk.data,
            version: chunk.version,
            identity: chunk.identity,
        })
    }
}

impl Files for Source {
    type Error = ApiError;

    fn write(&mut self, changed: &[&Planned]) -> Result<(), NotWritten<ApiError>> {
        let writes = changed.iter().map(|file| Write {
            path: file.path.clone(),
            data: file.data().to_vec(),
            when: Precondition::Version(file.version.clone()),
        });
        let write = self.workspace.write_files(writes.collect(), Arc::default());
        let Err((index, error)) = self.runtime.block_on(write) else {
            return Ok(());
        };
        let path = changed.get(index).map_or("", |file| file.path.as_str());
        let in_words = || ApiError::new(status(&error), format!("edit {path}: {}", text(&error)));
        Err(match error {
            Error::Changed(_) => NotWritten::Changed(in_words()),
            Error::Failed(_) | Error::NoSpace | Error::UnknownOutcome(_) => {
                NotWritten::Failed(in_words())
            }
            _ => NotWritten::Failed(refused(path, &error)),
        })
    }
}

fn problem(error: &Error) -> Problem {
    let kind = match error {
        Error::Denied(_) | Error::OutsideWorkspace { .. } => Kind::Denied,
        Error::NotFound => Kind::NotFound,
        Error::Invalid(_) | Error::NotAFile | Error::NotADirectory | Error::TooLarge(_) => {
            Kind::Invalid
        }
        Error::Changed(_)
        | Error::Busy(_)
        | Error::Unavailable(_)
        | Error::UnknownOutcome(_)
        | Error::NotEmpty
        | Error::NoSpace
        | Error::Failed(_) => Kind::Failed,
    };
    Problem::new(kind, text(error))
}
