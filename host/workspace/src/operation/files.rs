//! Operations on files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{Repeat, SHORT_REPLY, operation, with_bytes};
use crate::Workspace;
use crate::files::{
    Chunk, CpuAccount, Entry, Error, MAX_ENTRIES, MAX_READ, MAX_WRITE, MAX_WRITES, Metadata,
    Skipped, Write,
};

/// The longest path, in bytes, with its escapes.
const MAX_PATH: usize = 4096 * 6;

/// The longest entry of a directory, in bytes: its name with its escapes, and the rest.
const MAX_ENTRY: usize = 255 * 6 + 512;

/// The conditions of an operation on files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Within {
    /// The directories whose files may be reached; `None`: all of the workspace. See
    /// [`Workspace::restricted`](crate::Workspace::restricted).
    pub roots: Option<Vec<PathBuf>>,
    /// The most CPU time that the operation may use; `None`: any amount.
    pub cpu: Option<Duration>,
}

/// The result of an operation on files, with the CPU time that it used on the machine of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Charged<T> {
    /// The CPU time.
    pub cpu: Duration,
    /// The result.
    pub result: T,
}

impl Within {
    fn account(&self) -> Arc<CpuAccount> {
        Arc::new(match self.cpu {
            Some(limit) => CpuAccount::limited(limit),
            None => CpuAccount::default(),
        })
    }

    /// Does an operation in the part of a workspace that these conditions name.
    async fn perform<T, E>(
        self,
        workspace: &dyn Workspace,
        refused: fn(Error) -> E,
        operation: impl for<'a> FnOnce(
            &'a dyn Workspace,
            Arc<CpuAccount>,
        ) -> BoxFuture<'a, Result<T, E>>
        + Send,
    ) -> Charged<Result<T, E>> {
        let account = self.account();
        let result = match &self.roots {
            None => operation(workspace, Arc::clone(&account)).await,
            Some(roots) => match workspace.restricted(roots).await {
                Ok(restricted) => operation(&*restricted, Arc::clone(&account)).await,
                Err(error) => Err(refused(error)),
            },
        };
        Charged {
            cpu: account.used(),
            result,
        }
    }
}

operation! {
    /// See [`Workspace::metadata`](crate::Workspace::metadata).
    MetadataOf = "metadata", |_| Repeat::Harmless, {
        /// The file or directory.
        path: String,
        /// The conditions.
        within: Within,
    } -> Charged<Result<Metadata, Error>>,
    |this, workspace| {
        let path = this.path;
        this.within.perform(workspace, |error| error, move |of, account| of.metadata(path, account)).await
    }
}

operation! {
    /// See [`Workspace::read_file`](crate::Workspace::read_file).
    ReadFile = "read-file", |_| Repeat::Harmless, {
        /// The file.
        path: String,
        /// The first byte.
        offset: u64,
        /// The most bytes.
        max: usize,
        /// The conditions.
        within: Within,
    } -> Charged<Result<Chunk, Error>>,
    max_reply = |this| with_bytes(this.max.min(MAX_READ)),
    |this, workspace| {
        let (path, offset, max) = (this.path, this.offset, this.max);
        this.within.perform(workspace, |error| error, move |of, account| of.read_file(path, offset, max, account)).await
    }
}

operation! {
    /// See [`Workspace::skip_lines`](crate::Workspace::skip_lines).
    SkipLines = "skip-lines", |_| Repeat::Harmless, {
        /// The file.
        path: String,
        /// The first byte.
        offset: u64,
        /// How many lines.
        lines: u64,
        /// The conditions.
        within: Within,
    } -> Charged<Result<Skipped, Error>>,
    |this, workspace| {
        let (path, offset, lines) = (this.path, this.offset, this.lines);
        this.within.perform(workspace, |error| error, move |of, account| of.skip_lines(path, offset, lines, account)).await
    }
}

operation! {
    /// See [`Workspace::write_files`](crate::Workspace::write_files).
    WriteFiles = "write-files", |_| Repeat::Acts, {
        /// The files.
        writes: Vec<Write>,
        /// The conditions.
        within: Within,
    } -> Charged<Result<Vec<Metadata>, (usize, Error)>>,
    max_bytes = MAX_WRITE / 3 * 4 + MAX_WRITES * MAX_PATH,
    max_reply = |this| this.writes.len() * (2 * MAX_PATH) + SHORT_REPLY,
    |this, workspace| {
        let writes = this.writes;
        this.within.perform(workspace, |error| (0, error), move |of, account| of.write_files(writes, account)).await
    }
}

operation! {
    /// See [`Workspace::read_directory`](crate::Workspace::read_directory).
    ReadDirectory = "read-directory", |_| Repeat::Harmless, {
        /// The directory.
        path: String,
        /// The name before the first one.
        after: Option<String>,
        /// The most names.
        max: usize,
        /// The conditions.
        within: Within,
    } -> Charged<Result<(Vec<Entry>, bool), Error>>,
    max_reply = |this| this.max.min(MAX_ENTRIES) * MAX_ENTRY + SHORT_REPLY,
    |this, workspace| {
        let (path, after, max) = (this.path, this.after, this.max);
        this.within.perform(workspace, |error| error, move |of, account| of.read_directory(path, after, max, account)).await
    }
}

operation! {
    /// See [`Workspace::resolve`](crate::Workspace::resolve).
    Resolve = "resolve", |_| Repeat::Harmless, {
        /// The path.
        path: String,
        /// The conditions.
        within: Within,
    } -> Charged<Result<PathBuf, Error>>,
    |this, workspace| {
        let path = this.path;
        this.within.perform(workspace, |error| error, move |of, account| of.resolve(path, account)).await
    }
}

operation! {
    /// Checks that a workspace can be restricted: see [`Workspace::restricted`](crate::Workspace::restricted).
    Restrict = "restrict", |_| Repeat::Harmless, {
        /// The directories.
        roots: Vec<PathBuf>,
    } -> Result<(), Error>,
    |this, workspace| workspace.restricted(&this.roots).await.map(drop)
}
