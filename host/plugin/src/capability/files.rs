//! `toolhost:plugin/files`: the files of the workspace, as far as the plugin was granted them.

mod convert;

use std::sync::Arc;

use wasmtime::Result;

use super::wit::files as wit;
use super::{Call, Scope, View};
use toolhost_workspace::files::{Error, FilesGrant, Write};

type Answer<T> = std::result::Result<T, wit::Error>;

/// Returns the call, or the answer to a plugin that uses a capability while it is asked for its tools.
fn call(scope: &Scope) -> Answer<&Call> {
    scope.call_for("files").map_err(wit::Error::Denied)
}

fn writable(scope: &Scope) -> Answer<&Call> {
    if scope.files != FilesGrant::Write {
        scope.denied("files", "to write files".into());
        let text = "this plugin may read files, not write them: it was granted `files = \"read\"`";
        return Err(wit::Error::Denied(text.into()));
    }
    let call = call(scope)?;
    scope
        .check_approved(call, "files")
        .map_err(wit::Error::Denied)?;
    if call.tell_cancelled() {
        return Err(wit::Error::Failed("the call was cancelled".into()));
    }
    Ok(call)
}

/// Turns an error into that of the contract, and records it if a path led out of the workspace.
fn failed(scope: &Scope, error: Error) -> wit::Error {
    if let Error::OutsideWorkspace { path, .. } = &error {
        scope.denied("files", format!("a path out of the workspace: {path}"));
    }
    error.into()
}

impl wit::Host for View<'_> {
    async fn metadata_of(&mut self, path: String) -> Result<Answer<wit::Metadata>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            let found = workspace.metadata(path, work).await;
            Ok(found.map_err(|error| failed(self.scope, error))?.into())
        };
        Ok(answer.await)
    }

    async fn read(&mut self, path: String, offset: u64, max: u32) -> Result<Answer<wit::Chunk>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            let chunk = workspace
                .read_file(path, offset, max as usize, work)
                .await
                .map_err(|error| failed(self.scope, error))?;
            Ok(chunk.into())
        };
        Ok(answer.await)
    }

    async fn skip_lines(
        &mut self,
        path: String,
        offset: u64,
        lines: u64,
    ) -> Result<Answer<wit::Skipped>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            let skipped = workspace.skip_lines(path, offset, lines, work).await;
            Ok(skipped.map_err(|error| failed(self.scope, error))?.into())
        };
        Ok(answer.await)
    }

    async fn write_all(
        &mut self,
        writes: Vec<wit::Write>,
    ) -> Result<std::result::Result<Vec<wit::Metadata>, (u32, wit::Error)>> {
        let size = writes.iter().map(|write| write.data.len()).sum();
        let Scope {
            allowance, trail, ..
        } = &mut *self.scope;
        if let Err(text) = allowance.hand(size, trail) {
            return Ok(Err((0, wit::Error::Failed(text))));
        }
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &writable(self.scope).map_err(|error| (0, error))?.workspace;
            let writes: Vec<Write> = writes.into_iter().map(Into::into).collect();
            let written = workspace.write_files(writes, work).await;
            let written = written.map_err(|(index, error)| {
                if let (Error::UnknownOutcome(_), Ok(call)) = (&error, call(self.scope)) {
                    call.started.note_uncertain();
                }
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                (index, failed(self.scope, error))
            })?;
            Ok(written.into_iter().map(Into::into).collect())
        };
        Ok(answer.await)
    }

    async fn read_directory(
        &mut self,
        path: String,
        after: Option<String>,
        max: u32,
    ) -> Result<Answer<(Vec<wit::Entry>, bool)>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            let listed = workspace.read_directory(path, after, max as usize, work);
            let listed = listed.await.map_err(|error| failed(self.scope, error));
            let (entries, more) = listed?;
            Ok((entries.into_iter().map(Into::into).collect(), more))
        };
        Ok(answer.await)
    }
}
