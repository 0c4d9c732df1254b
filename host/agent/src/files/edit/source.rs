//! The files of a workspace as the source of edits, for a thread that may block.

use std::sync::Arc;

use tokio::runtime::Handle;
use toolhost_edit::{Content, Kind, Problem, Source as Files};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Error, MAX_READ};

use crate::files::path::text;

/// The files of a workspace.
#[derive(Debug)]
pub(super) struct Source {
    workspace: Arc<dyn Workspace>,
    runtime: Handle,
}

impl Source {
    /// Reads from this workspace.
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

impl Files for Source {
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
        | Error::Failed(_) => Kind::Failed,
    };
    Problem::new(kind, text(error))
}
