//! `toolhost:plugin/files`: the files of the workspace, as far as the plugin was granted them.

mod convert;
mod search;

use std::path::PathBuf;
use std::sync::Arc;

use super::State;
use super::call::unreachable;
use super::{Allowance, Call, CallContext, CallState, Capability, Of, Scope, View, bindings};
use crate::grants::{GrantValue, Grants, InvalidGrant};
use generated::toolhost::plugin::files as wit;
use toolhost_call::call::Refused;
use toolhost_call::sharing::{Asked, ShareError};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{CpuAccount, Error, FilesGrant, Write};
use toolhost_workspace::operation::{FindFiles, SearchText};

bindings::generate!(
    interfaces: "import toolhost:plugin/files@0.1.0;",
    trappable_error_type: { "toolhost:plugin/files.error" => wasmtime::Error },
);

/// The name of the capability.
pub(crate) const NAME: &str = "files";

/// The description of the capability to use the files of the workspace.
pub(super) const CAPABILITY: Capability = Capability {
    name: NAME,
    imports: &["toolhost:plugin/files"],
    world: Some("file-plugin"),
    line: r#"files = "read""#,
    meaning: "`files` lets it read the files of the workspace and make links to them, and with \"write\" change them as well",
    options: &["files=none", "files=read", "files=write"],
    read,
    least: || GrantValue::Text("write".into()),
    link: |linker| wit::add_to_linker::<State, Of<Files>>(linker, State::view),
};

impl Grants {
    /// Returns these grants with this grant for the files of the workspace.
    #[must_use]
    pub fn with_files(mut self, grant: FilesGrant) -> Self {
        match value(grant) {
            Some(value) => _ = self.granted.insert(NAME, value),
            None => _ = self.granted.remove(NAME),
        }
        self
    }

    /// Returns the plugin's grant for the files of the workspace.
    pub fn files(&self) -> FilesGrant {
        grant(self.get(NAME))
    }

    /// Returns the directories that the grant `files` names, relative to the workspace or absolute. `None` means the workspace
    /// and the further roots of the host.
    pub fn file_roots(&self) -> Option<Vec<PathBuf>> {
        roots(self.get(NAME)?)
    }
}

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

/// Returns the directories to which a value restricts the files.
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

/// The use of files by one call.
#[derive(Debug)]
pub(crate) struct Files {
    grant: FilesGrant,
    scope: Scope,
    allowance: Arc<Allowance>,
    work: Arc<CpuAccount>,
}

impl CallState for Files {
    type Grant = FilesGrant;

    fn prepare(value: Option<&GrantValue>) -> FilesGrant {
        grant(value)
    }

    fn begin(grant: &FilesGrant, context: &CallContext) -> Self {
        Self {
            grant: *grant,
            scope: context.scope(NAME),
            allowance: Arc::clone(&context.allowance),
            work: Arc::clone(&context.work),
        }
    }
}

impl Files {
    /// Returns the workspace, and the account to which its CPU time is charged.
    fn workspace(&self) -> Result<(&dyn Workspace, Arc<CpuAccount>), wit::Error> {
        let call = self.scope.call().map_err(wit::Error::Denied)?;
        Ok((&*call.workspace, Arc::clone(&self.work)))
    }

    /// Returns the call, if it may write so many bytes.
    fn writable(&self, bytes: usize) -> Result<&Call, wit::Error> {
        self.allowance.hand(bytes).map_err(wit::Error::Failed)?;
        if self.grant != FilesGrant::Write {
            self.scope.denied("to write files".into());
            let text =
                "this plugin may read files, not write them: it was granted `files = \"read\"`";
            return Err(wit::Error::Denied(text.into()));
        }
        let call = self.scope.approved_call().map_err(wit::Error::Denied)?;
        if call.end_if_cancelled() {
            return Err(wit::Error::Failed("the call was cancelled".into()));
        }
        Ok(call)
    }

    /// Converts an error to that of the contract. If a path led out of the workspace, records a denied use.
    fn failed(&self, error: Error) -> wit::Error {
        if let Error::OutsideWorkspace { path, .. } = &error {
            let what = format!("a path out of the workspace: {path}");
            self.scope.denied(what);
        }
        error.into()
    }

    async fn change(
        &self,
        writes: Vec<wit::Write>,
        removals: Vec<wit::Removal>,
    ) -> wasmtime::Result<Result<Vec<wit::Metadata>, (u32, wit::Error)>> {
        let size = writes.iter().map(|write| write.data.len()).sum();
        let call = match self.writable(size) {
            Ok(call) => call,
            Err(error) => return Ok(Err((0, error))),
        };
        let writes: Vec<Write> = writes.into_iter().map(Into::into).collect();
        let removals = removals.into_iter().map(Into::into).collect();
        let written = call
            .workspace
            .change_files(writes, removals, Arc::clone(&self.work))
            .await;
        match written
            .as_ref()
            .err()
            .and_then(|(_, error)| turned_away(error))
        {
            Some(refused) => self.scope.turn_away(refused)?,
            None => call.effects.note(),
        }
        let written = written.map_err(|(index, error)| {
            if let Error::UnknownOutcome(_) = &error {
                call.started.note_uncertain();
            }
            (u32::try_from(index).unwrap_or(u32::MAX), self.failed(error))
        });
        Ok(written.map(|written| written.into_iter().map(Into::into).collect()))
    }
}

/// Returns how a call is turned away whose operation failed like this, and did nothing. `None`: its guest is told.
fn turned_away(error: &Error) -> Option<Refused> {
    match error {
        Error::Busy(reason) => Some(Refused::Busy(reason.clone())),
        Error::Unavailable(reason) => Some(unreachable(reason)),
        _ => None,
    }
}

impl wit::Host for View<'_, Files> {
    fn convert_error(&mut self, error: wasmtime::Error) -> wasmtime::Result<wit::Error> {
        let error = match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => return error.downcast(),
        };
        if let Some(refused) = turned_away(&error) {
            self.state.scope.turn_away(refused)?;
        }
        Ok(self.state.failed(error))
    }

    async fn metadata_of(&mut self, path: String) -> wasmtime::Result<wit::Metadata> {
        let (workspace, work) = self.state.workspace()?;
        Ok(workspace.metadata(path, work).await?.into())
    }

    async fn read(&mut self, path: String, offset: u64, max: u32) -> wasmtime::Result<wit::Chunk> {
        let (workspace, work) = self.state.workspace()?;
        let chunk = workspace
            .read_file(path, offset, max as usize, work)
            .await?;
        Ok(chunk.into())
    }

    async fn skip_lines(
        &mut self,
        path: String,
        offset: u64,
        lines: u64,
    ) -> wasmtime::Result<wit::Skipped> {
        let (workspace, work) = self.state.workspace()?;
        let skipped = workspace.skip_lines(path, offset, lines, work).await?;
        Ok(skipped.into())
    }

    async fn write_all(
        &mut self,
        writes: Vec<wit::Write>,
    ) -> wasmtime::Result<Result<Vec<wit::Metadata>, (u32, wit::Error)>> {
        self.state.change(writes, Vec::new()).await
    }

    async fn change_all(
        &mut self,
        writes: Vec<wit::Write>,
        removals: Vec<wit::Removal>,
    ) -> wasmtime::Result<Result<Vec<wit::Metadata>, (u32, wit::Error)>> {
        self.state.change(writes, removals).await
    }

    async fn search_text(
        &mut self,
        files: wit::Scope,
        text: wit::Text,
        page: wit::Page,
    ) -> wasmtime::Result<wit::Matches> {
        let (workspace, work) = self.state.workspace()?;
        let operation = SearchText {
            scope: files.into(),
            text: text.into(),
            page: page.into(),
        };
        Ok(workspace.search_text(operation, work).await?.into())
    }

    async fn find_files(
        &mut self,
        files: wit::Scope,
        filter: wit::Filter,
        page: wit::Page,
    ) -> wasmtime::Result<wit::Found> {
        let (workspace, work) = self.state.workspace()?;
        let operation = FindFiles {
            scope: files.into(),
            filter: filter.into(),
            page: page.into(),
        };
        Ok(workspace.find_files(operation, work).await?.into())
    }

    async fn share(
        &mut self,
        path: String,
        lifetime_secs: Option<u64>,
    ) -> wasmtime::Result<wit::SharedFile> {
        let Files { scope, work, .. } = &self.state;
        let call = scope.approved_call().map_err(wit::Error::Denied)?;
        let sharing = call.sharing.as_ref().ok_or(ShareError::NoAddress);
        let asked = Asked {
            chat: &call.request.chat,
            principal: call.request.actor.name(),
            workspace: &*call.workspace,
            path,
            lifetime: lifetime_secs,
            work: Arc::clone(work),
            trail: &scope.trail,
        };
        let shared = match sharing {
            Ok(sharing) => sharing.share(asked).await,
            Err(error) => Err(error),
        };
        match shared {
            Ok(shared) => Ok(shared.into()),
            Err(ShareError::File(error)) => Err(error.into()),
            Err(error) => Err(wit::Error::from(error).into()),
        }
    }

    async fn read_directory(
        &mut self,
        path: String,
        after: Option<String>,
        max: u32,
    ) -> wasmtime::Result<(Vec<wit::Entry>, bool)> {
        let (workspace, work) = self.state.workspace()?;
        let listed = workspace.read_directory(path, after, max as usize, work);
        let (entries, more) = listed.await?;
        Ok((entries.into_iter().map(Into::into).collect(), more))
    }
}
