//! `toolhost:plugin/files`: the files of the workspace, as far as the plugin was granted them.

mod convert;

use std::sync::Arc;

use wasmtime::Result;

use super::wit::files as wit;
use super::{Call, FilesGrant, Scope, View};

type Answer<T> = std::result::Result<T, wit::Error>;

/// Returns the call, or the answer to a plugin that uses a capability while it is asked for its tools.
fn call(scope: &Scope) -> Answer<&Call> {
    let outside = || wit::Error::Denied("files can be used only while a tool is called".into());
    scope.call.as_ref().ok_or_else(outside)
}

fn writable(scope: &Scope) -> Answer<&Call> {
    if scope.files != FilesGrant::Write {
        let text = "this plugin may read files, not write them: it was granted `files = \"read\"`";
        return Err(wit::Error::Denied(text.into()));
    }
    let call = call(scope)?;
    if call.cancelled.is_cancelled() {
        return Err(wit::Error::Failed("the call was cancelled".into()));
    }
    Ok(call)
}

impl wit::Host for View<'_> {
    async fn metadata_of(&mut self, path: String) -> Result<Answer<wit::Metadata>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            Ok(workspace.metadata(path, work).await?.into())
        };
        Ok(answer.await)
    }

    async fn read(&mut self, path: String, offset: u64, max: u32) -> Result<Answer<wit::Chunk>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &call(self.scope)?.workspace;
            let chunk = workspace
                .read_file(path, offset, max as usize, work)
                .await?;
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
            Ok(workspace
                .skip_lines(path, offset, lines, work)
                .await?
                .into())
        };
        Ok(answer.await)
    }

    async fn write_all(
        &mut self,
        writes: Vec<wit::Write>,
    ) -> Result<std::result::Result<Vec<wit::Metadata>, (u32, wit::Error)>> {
        let work = Arc::clone(&self.scope.work);
        let answer = async {
            let workspace = &writable(self.scope).map_err(|error| (0, error))?.workspace;
            let writes = writes.into_iter().map(Into::into).collect();
            match workspace.write_files(writes, work).await {
                Ok(written) => Ok(written.into_iter().map(Into::into).collect()),
                Err((index, error)) => {
                    let index = u32::try_from(index).unwrap_or(u32::MAX);
                    Err((index, error.into()))
                }
            }
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
            let (entries, more) = listed.await?;
            Ok((entries.into_iter().map(Into::into).collect(), more))
        };
        Ok(answer.await)
    }
}
