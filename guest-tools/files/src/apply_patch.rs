//! `apply_patch`: changes of several files in the formats of patches, all or none.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_edit::encoding::Encoding;
use toolhost_edit::patch::{self, Change, Done, PatchFiles, Seen};
use toolhost_edit::{Content, NotWritten, Problem};
use toolhost_sdk::files::{Error, Files, Host, Precondition, Removal, Write};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError, context};

use crate::editing::{MAX_FILE, MAX_TOTAL, Shares, Workspace, too_large};
use crate::refusal::{self, Refusal};

/// The tool.
#[derive(Debug)]
pub(crate) struct ApplyPatch;

/// What the model says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The patch: from "*** Begin Patch" to "*** End Patch", or a unified diff.
    #[serde(default, alias = "input")]
    #[schemars(!default, required)]
    patch: Option<String>,
}

/// The reply.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Patched {
    /// Always true: a failure is an error.
    ok: bool,
    /// The files, in the order of the patch.
    files: Vec<PatchedFile>,
}

/// One section of the patch.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct PatchedFile {
    /// The path, as the patch has it.
    path: String,
    /// What was done with the file.
    change: Kind,
    /// Where the file was moved or copied to.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// What changed, as a unified diff; empty if nothing did. Its end is left out where it is long.
    diff: String,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The encoding of the file, which it keeps, if that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

/// What was done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Added,
    Updated,
    Moved,
    Copied,
    Deleted,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const TITLE: Option<&'static str> = Some("Apply a patch");
    const DESCRIPTION: &'static str = "Add, update, move and delete files with a patch: all of it is applied, or nothing.\n\n\
        *** Begin Patch\n*** Add File: hello.txt\n+Hello!\n*** Update File: src/app.py\n*** Move to: src/main.py\n@@ def greet():\n # Says hello.\n\
        -print(\"Hi\")\n+print(\"Hello!\")\n*** Delete File: old.txt\n*** End Patch\n\n\
        Each line of a hunk begins with a blank (it stays), \"-\" (it goes) or \"+\" (it is new); show 3 lines before and after a change. If these \
        lines are not unique, write the line of the class or function behind @@, or several lines with @@ below each other. Put the hunks in \
        the order of the file. \"*** Move to:\" is optional; \"*** End of File\" below a hunk puts it at the end. Unified diffs (diff -u, git \
        diff) are taken too, and their line numbers need not be right. Where lines are not found exactly, lines that differ in white space \
        around them or in the kind of quotes and dashes only are taken; the file's own indentation, line endings and encoding are kept. Replies \
        with a diff of each file.";
    const HINTS: Hints = Hints {
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[Example {
        name: "a new file",
        arguments: r#"{"patch": "*** Begin Patch\n*** Add File: notes/patched.md\n+Buy milk.\n*** End Patch"}"#,
        is_error: false,
    }];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Patched>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        refusal::reply(run(&Host, &arguments))
    }
}

pub(crate) fn run(files: &dyn Files, arguments: &Arguments) -> Result<Patched, Refusal> {
    let patch = arguments.patch.as_deref().unwrap_or_default();
    if patch.trim().is_empty() {
        return Err(Refusal::invalid("patch is required"));
    }
    let mut workspace = Workspace::new(files, "use \"*** Add File: \"");
    let root = context::workspace_root();
    let applied = patch::apply(patch, Some(&root), MAX_TOTAL, &mut workspace);
    let shown = applied.map_err(|failure| workspace.refusal(failure))?;
    let mut shares = Shares::new(shown.len());
    let files = shown.iter().map(|section| PatchedFile {
        path: section.path.clone(),
        change: section.done.into(),
        to: section.to.clone(),
        diff: shares.take(|bounds| section.diff(bounds)),
        note: (!section.notes.is_empty()).then(|| section.notes.join("; ")),
        encoding: (section.encoding != Encoding::Utf8).then(|| section.encoding.name()),
    });
    Ok(Patched {
        ok: true,
        files: files.collect(),
    })
}

impl From<Done> for Kind {
    fn from(done: Done) -> Self {
        match done {
            Done::Added => Self::Added,
            Done::Updated => Self::Updated,
            Done::Moved => Self::Moved,
            Done::Copied => Self::Copied,
            Done::Deleted => Self::Deleted,
        }
    }
}

impl PatchFiles for Workspace<'_> {
    type Error = Refusal;

    fn look(&mut self, path: &str) -> Result<Option<Seen>, Problem> {
        let meant = understood(path)?;
        match self.files.read(&meant, 0, MAX_FILE) {
            Ok(chunk) => Ok(Some(Seen {
                is_cut: (chunk.size > u64::from(MAX_FILE)).then(|| too_large(chunk.size)),
                content: Content {
                    data: chunk.data,
                    version: chunk.version,
                    identity: chunk.identity,
                },
            })),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(self.problem(&meant, error)),
        }
    }

    fn advice(&mut self, path: &str, deletes: bool) -> String {
        match deletes {
            true => refusal::missing(self.files, path).unwrap_or_else(|| {
                "if it is deleted already, leave this section out of the patch".to_owned()
            }),
            false => Workspace::advice(self, path),
        }
    }

    fn change(&mut self, changes: &[&Change]) -> Result<(), NotWritten<Refusal>> {
        let mut writes = Vec::new();
        let mut moved = Vec::new();
        for change in changes {
            let Some(data) = &change.data else {
                continue;
            };
            moved.push(change.moved_from.as_deref());
            writes.push(Write {
                path: path(change)?,
                data: data.clone(),
                when: match &change.version {
                    Some(version) => Precondition::Version(version.clone()),
                    None => Precondition::Absent,
                },
            });
        }
        let mut removals = Vec::new();
        for change in changes.iter().filter(|change| change.data.is_none()) {
            let to = moved.iter().position(|from| *from == Some(&change.path));
            removals.push(Removal {
                path: path(change)?,
                version: change.version.clone(),
                moved_to: to.and_then(|to| u32::try_from(to).ok()),
            });
        }
        Workspace::change(self, &writes, &removals)
    }
}

/// Returns the path that a patch means.
fn understood(path: &str) -> Result<String, Problem> {
    let invalid = |text| Problem::new(toolhost_edit::Kind::Invalid, text);
    let meant = toolhost_sdk::paths::understand(path).map_err(invalid)?;
    Ok(meant.into_owned())
}

/// Returns the path of a change, which was understood before.
fn path(change: &Change) -> Result<String, NotWritten<Refusal>> {
    let meant = understood(&change.path);
    meant.map_err(|problem| NotWritten::Failed(Refusal::Report(problem.text)))
}
