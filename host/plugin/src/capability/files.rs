//! `toolhost:plugin/files`: the files of the workspace, as far as the plugin was granted them.

mod convert;

use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Result;
use wasmtime::component::Linker;

use super::wit::files as wit;
use super::{About, Call, Capabilities, Scope, ScopeView, View};
use crate::grants::{GrantValue, InvalidGrant};
use toolhost_workspace::files::{Error, FilesGrant, Write};

/// The name of the capability.
pub(crate) const NAME: &str = "files";

/// The capability to use the files of the workspace.
pub(crate) static ABOUT: About = About {
    name: NAME,
    imports: &["toolhost:plugin/files"],
    line: r#"files = "read""#,
    meaning: "`files` lets it read the files of the workspace, and with \"write\" change them as well",
    options: &["files=none", "files=read", "files=write"],
    read,
    least: || GrantValue::Text("write".into()),
};

/// The values of `access`.
const ACCESS: &str = r#""none", "read" or "write""#;

/// Reads `"read"`, or `{ access = "read", roots = ["docs"] }`.
fn read(value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
    let is_access = |text: &str| matches!(text, "none" | "read" | "write");
    let table = match value {
        GrantValue::Text(text) if text == "none" => return (None, Vec::new()),
        GrantValue::Text(text) if is_access(&text) => {
            return (Some(GrantValue::Text(text)), Vec::new());
        }
        GrantValue::Table(table) => table,
        GrantValue::Text(_) | GrantValue::List(_) => {
            let what =
                format!(r#"{ACCESS}, or a table such as {{ access = "read", roots = ["docs"] }}"#);
            return (None, vec![InvalidGrant::must_be(&what)]);
        }
    };
    let mut problems = Vec::new();
    let mut wrong = |part: &str, text: String| {
        let part = part.to_owned();
        problems.push(InvalidGrant { part, text });
    };
    match table.get("access") {
        Some(GrantValue::Text(text)) if is_access(text) => {}
        Some(_) => wrong(".access", format!("it must be {ACCESS}")),
        None => wrong("", format!("access is missing; it is {ACCESS}")),
    }
    let roots = r#"a list of directories, such as ["docs"]"#;
    match table.get("roots") {
        Some(GrantValue::List(_)) => {}
        Some(_) => wrong(".roots", format!("it must be {roots}")),
        None => wrong("", format!("roots is missing; it is {roots}")),
    }
    for key in table
        .keys()
        .filter(|key| !matches!(key.as_str(), "access" | "roots"))
    {
        let text = "there is no such key; there are access, roots";
        wrong(&format!(".{key}"), text.into());
    }
    let grants =
        problems.is_empty() && table.get("access") != Some(&GrantValue::Text("none".into()));
    (grants.then_some(GrantValue::Table(table)), problems)
}

/// Returns the grant that a value stands for.
pub(crate) fn grant(value: Option<&GrantValue>) -> FilesGrant {
    let access = match value {
        Some(GrantValue::Table(table)) => table.get("access"),
        other => other,
    };
    match access {
        Some(GrantValue::Text(text)) if text == "read" => FilesGrant::Read,
        Some(GrantValue::Text(text)) if text == "write" => FilesGrant::Write,
        _ => FilesGrant::None,
    }
}

/// Returns the directories that a value bounds the files to.
pub(crate) fn roots(value: &GrantValue) -> Option<Vec<PathBuf>> {
    let GrantValue::Table(table) = value else {
        return None;
    };
    match table.get("roots") {
        Some(GrantValue::List(roots)) => Some(roots.iter().map(PathBuf::from).collect()),
        _ => None,
    }
}

/// Returns the value that grants this.
pub(crate) fn value(grant: FilesGrant) -> Option<GrantValue> {
    match grant {
        FilesGrant::None => None,
        FilesGrant::Read => Some(GrantValue::Text("read".into())),
        FilesGrant::Write => Some(GrantValue::Text("write".into())),
    }
}

/// Links the interface.
pub(crate) fn add_to_linker<T: ScopeView + 'static>(
    linker: &mut Linker<T>,
) -> wasmtime::Result<()> {
    wit::add_to_linker::<T, Capabilities>(linker, T::view)
}

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
