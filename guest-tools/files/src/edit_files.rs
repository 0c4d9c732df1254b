//! `edit_files`: replacements in several files, all or none.

mod arguments;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use toolhost_edit::encoding::Encoding;
use toolhost_edit::{
    Bounds, Content, Failure, FileEdits, Kind, NotWritten, Planned, Problem, Source, edit,
};
use toolhost_sdk::files::{Error, Files, Host, Precondition, Write};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError, context};

use crate::refusal::{self, Refusal};
use arguments::Arguments;

/// The largest file that is edited: what one read returns.
const MAX_FILE: u32 = 4 << 20;

/// The most bytes of all new contents: what one call of the host takes, with room for paths.
const MAX_TOTAL: usize = 7 << 20;

/// How much of all differences together is shown.
const DIFFS: Bounds = Bounds {
    bytes: 32 << 10,
    line: 1 << 10,
};

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
    if arguments.files.is_empty() {
        return Err(Refusal::invalid("files is required"));
    }
    if arguments.files.iter().any(arguments::File::lacks_new_text) {
        let text = "new_text is required in each edit; to delete old_text, pass \"\"";
        return Err(Refusal::invalid(text));
    }
    let paths: Result<Vec<_>, _> = arguments.files.iter().map(arguments::File::path).collect();
    let paths = paths?;
    let entries = arguments.files.iter().zip(&paths);
    let entries: Result<Vec<FileEdits<'_>>, _> =
        entries.map(|(file, path)| file.edits(path)).collect();
    let mut workspace = Workspace { files, error: None };
    let root = context::workspace_root();
    match edit(&entries?, Some(&root), MAX_TOTAL, &mut workspace) {
        Ok(planned) => Ok(Edited {
            ok: true,
            files: shown(&planned),
        }),
        Err(Failure::Write(refusal)) => Err(refusal),
        Err(Failure::Problems(problems)) => Err(match workspace.error.take() {
            Some(error) => Refusal::Error(error.into()),
            None => together(&problems),
        }),
    }
}

/// Files of the host as a source of edits.
struct Workspace<'a> {
    files: &'a dyn Files,
    /// What is not about a path, such as a grant that is missing.
    error: Option<Error>,
}

impl Source for Workspace<'_> {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let chunk = match self.files.read(path, 0, MAX_FILE) {
            Ok(chunk) => chunk,
            Err(error) => return Err(problem(self.files, path, error, &mut self.error)),
        };
        if chunk.size > u64::from(MAX_FILE) {
            let size = chunk.size;
            return Err(Problem::new(
                Kind::Invalid,
                format!(
                    "file is {size} bytes, and the largest that can be edited has {MAX_FILE}; use execute with sed, awk or a script"
                ),
            ));
        }
        if chunk.data.is_empty() {
            let text = "file is empty; to write it as a whole, use write_file";
            return Err(Problem::new(Kind::Invalid, text));
        }
        Ok(Content {
            data: chunk.data,
            version: chunk.version,
            identity: chunk.identity,
        })
    }
}

fn problem(files: &dyn Files, path: &str, error: Error, fatal: &mut Option<Error>) -> Problem {
    let kind = match &error {
        Error::NotFound => Kind::NotFound,
        Error::Denied(_) | Error::OutsideWorkspace(_) => Kind::Denied,
        Error::Invalid(_) | Error::NotAFile | Error::NotADirectory | Error::TooLarge(_) => {
            Kind::Invalid
        }
        _ => Kind::Failed,
    };
    match Refusal::of(path, error.clone()) {
        Refusal::Error(_) => {
            let text = error.to_string();
            *fatal = Some(error);
            Problem::new(kind, text)
        }
        Refusal::Report(_) => match error {
            Error::OutsideWorkspace(_) => {
                let root = context::workspace_root();
                Problem::new(
                    kind,
                    format!("outside of the workspace; use paths in {root}"),
                )
            }
            Error::NotFound => {
                let advice = match refusal::meant(files, path) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => "to make a new file, use write_file".to_owned(),
                };
                Problem::new(kind, format!("{error}; {advice}"))
            }
            error => Problem::new(kind, error.to_string()),
        },
    }
}

/// Says what is wrong, of which a model needs no hundred lines.
fn together(problems: &[Problem]) -> Refusal {
    const MOST: usize = 20;
    let shown = problems.iter().take(MOST).map(Problem::to_string);
    let mut lines: Vec<_> = shown.collect();
    if let Some(more) = problems.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("and {more} more problems"));
    }
    Refusal::report(lines.join("\n"))
}

/// Shows what changed in each file, all together no more than a model wants to read.
fn shown(planned: &[Planned]) -> Vec<EditedFile> {
    let mut left = DIFFS.bytes;
    let files = planned.iter().enumerate().map(|(index, file)| {
        // A small difference leaves its share to those behind it.
        let share = left / (planned.len() - index).max(1);
        let bounds = Bounds {
            bytes: share,
            ..DIFFS
        };
        let diff = file.diff(bounds);
        left = left.saturating_sub(diff.len());
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
        let writes: Vec<_> = writes.collect();
        let Err((index, error)) = self.files.write_all(&writes) else {
            return Ok(());
        };
        let path = writes.get(index).map_or("", |write| write.path.as_str());
        let nothing = match (&error, writes.len()) {
            (Error::UnknownOutcome(_), _) | (_, 1) => "",
            _ => "; no file was written",
        };
        let has_changed = matches!(error, Error::Changed(_));
        let refusal = match Refusal::of(path, error) {
            Refusal::Report(text) => Refusal::Report(format!("{text}{nothing}")),
            other => other,
        };
        Err(match has_changed {
            true => NotWritten::Changed(refusal),
            false => NotWritten::Failed(refusal),
        })
    }
}
