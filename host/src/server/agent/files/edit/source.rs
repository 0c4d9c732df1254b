//! The workspace as where edits read files from.

use toolhost_edit::{Content, Kind, Problem, Source};

use crate::server::agent::files::error::text;
use toolhost_local::files::Files;
use toolhost_workspace::files::{Error, MAX_READ};

/// Files of the workspace, as far as one request may hold them in memory.
#[derive(Debug)]
pub(super) struct Workspace<'a> {
    files: &'a Files,
}

impl<'a> Workspace<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        Self { files }
    }
}

impl Source for Workspace<'_> {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let chunk = self
            .files
            .read(path, 0, MAX_READ)
            .map_err(|error| problem(&error))?;
        // What is larger has no version by which a change is told for certain, and is not read as a whole.
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
        Error::Changed(_) | Error::Unavailable(_) | Error::UnknownOutcome(_) | Error::Failed(_) => {
            Kind::Failed
        }
    };
    Problem::new(kind, text(error))
}
