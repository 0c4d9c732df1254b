//! `edit_files`: replacements in several files, all or none.

mod arguments;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use toolhost_edit::encoding::Encoding;
use toolhost_edit::{FileEdits, NotWritten, Planned, edit};
use toolhost_sdk::files::{Files, Host, Precondition, Write};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError, context};

use crate::editing::{MAX_TOTAL, Shares, Workspace};
use crate::refusal::{self, Refusal};
use arguments::Arguments;

/// The tool.
#[derive(Debug)]
pub(crate) struct EditFiles;

/// The reply.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Edited {
    /// Always true: a failure is an error.
    ok: bool,
    /// The files, in the order of the call.
    files: Vec<EditedFile>,
}

/// One file.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct EditedFile {
    /// The path, as the call has it.
    path: String,
    /// What changed, as a unified diff; empty if nothing did. Its end is left out where it is long.
    diff: String,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// The encoding of the file, which it keeps, if that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

impl Tool for EditFiles {
    const NAME: &'static str = "edit_files";
    const TITLE: Option<&'static str> = Some("Edit files");
    const DESCRIPTION: &'static str = "Replace text in one or more files. Each edit replaces old_text, which must occur \
        exactly once in the file unless replace_all is set, with new_text; edits of one file are made in order, each on the \
        result of the one before. Where old_text is not found exactly, a match of whole lines that differs in trailing or \
        leading whitespace only is taken, and the file's own indentation, line endings and encoding are kept. All edits are \
        validated before any file is written: either every file is changed or none is. Calls may edit the same file at the same \
        time. For a new or empty file use write_file. Replies with a diff of each file.";
    const HINTS: Hints = Hints {
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[Example {
        name: "an edit of a file that is not there",
        arguments: r#"{"files": [{"path": "no/such/file.txt", "edits": [{"old_text": "a", "new_text": "b"}]}]}"#,
        is_error: true,
    }];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Edited>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        refusal::reply(run(&Host, &arguments))
    }
}

pub(crate) fn run(files: &dyn Files, arguments: &Arguments) -> Result<Edited, Refusal> {
    let asked = arguments.files()?;
    if asked.is_empty() {
        return Err(Refusal::invalid("files is required"));
    }
    if asked.iter().any(arguments::File::lacks_new_text) {
        let text = "new_text is required in each edit; to delete old_text, pass \"\"";
        return Err(Refusal::invalid(text));
    }
    let paths: Result<Vec<_>, _> = asked.iter().map(arguments::File::path).collect();
    let paths = paths?;
    let entries = asked.iter().zip(&paths);
    let entries: Result<Vec<FileEdits<'_>>, _> =
        entries.map(|(file, path)| file.edits(path)).collect();
    let mut workspace = Workspace::new(files, "use write_file");
    let root = context::workspace_root();
    let edited = edit(&entries?, Some(&root), MAX_TOTAL, &mut workspace);
    let planned = edited.map_err(|failure| workspace.refusal(failure))?;
    Ok(Edited {
        ok: true,
        files: shown(&planned),
    })
}

/// Shows what changed in each file, all together no more than a model wants to read.
fn shown(planned: &[Planned]) -> Vec<EditedFile> {
    let mut shares = Shares::new(planned.len());
    let files = planned.iter().map(|file| {
        let diff = shares.take(|bounds| file.diff(bounds));
        let encoding = file.encoding();
        EditedFile {
            path: file.path.clone(),
            note: (!file.is_changed()).then_some("nothing changed: the new text is the old one"),
            diff,
            encoding: (encoding != Encoding::Utf8).then(|| encoding.name()),
        }
    });
    files.collect()
}

impl toolhost_edit::Files for Workspace<'_> {
    type Error = Refusal;

    fn write(&mut self, changed: &[&Planned]) -> Result<(), NotWritten<Refusal>> {
        let writes = changed.iter().map(|file| Write {
            path: file.path.clone(),
            data: file.data().to_vec(),
            when: Precondition::Version(file.version.clone()),
        });
        self.change(&writes.collect::<Vec<_>>(), &[])
    }
}
