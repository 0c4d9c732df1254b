//! `write_file`: a whole file.

mod form;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::files::{Files, Host, Precondition, Write};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError};

use crate::refusal::{self, Refusal};

/// How much of the file that is there is read to know its form: all that one read returns.
const MAX_FORM: u32 = 4 << 20;

/// The tool.
#[derive(Debug)]
pub(crate) struct WriteFile;

/// What the model says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file to write: absolute, or relative to the workspace directory. Directories that are missing above it are made.
    #[serde(default, alias = "file_path")]
    #[schemars(!default)]
    path: String,
    /// The whole new content of the file.
    #[serde(default)]
    #[schemars(!default, required)]
    content: Option<String>,
    /// The version that read_file replied with. If the file has another one by now, nothing is written.
    if_unmodified_since: Option<String>,
    /// The encoding to write, such as "utf-8" or "shift_jis". Default: that of the file, or UTF-8 for a new one.
    encoding: Option<String>,
}

/// The reply.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// Always true: a failure is an error.
    ok: bool,
    /// The absolute path of the file that was written.
    path: String,
    /// The version of the file that was written, for the next if_unmodified_since.
    version: String,
    /// What was kept of the file that was there, or has changed, besides its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const TITLE: Option<&'static str> = Some("Write a file");
    const DESCRIPTION: &'static str = "Write a whole file, which replaces it if it exists. The file is replaced at once or \
        not at all, and keeps its mode, encoding, byte order mark and CRLF line endings; a symbolic link stays, and its target \
        is replaced. Without if_unmodified_since, what others wrote since you read the file is replaced as well. To change parts \
        of a file use edit_files.";
    const HINTS: Hints = Hints {
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[Example {
        name: "a new file",
        arguments: r#"{"path": "notes/today.md", "content": "Buy milk.\n"}"#,
        is_error: false,
    }];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Written>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        refusal::reply(run(&Host, arguments))
    }
}

pub(crate) fn run(files: &dyn Files, arguments: Arguments) -> Result<Written, Refusal> {
    let path = &*refusal::required(&arguments.path)?;
    let content = arguments
        .content
        .ok_or_else(|| Refusal::invalid("content is required; to make an empty file, pass \"\""))?;
    let encoding = refusal::encoding(arguments.encoding.as_deref())?;
    // A file that cannot be read is left to the write, which says why.
    let old = files.read(path, 0, MAX_FORM).ok();
    let formed = form::keep(old, content, encoding)
        .map_err(|problem| Refusal::report(format!("write {path}: {problem}")))?;
    let version = arguments.if_unmodified_since;
    let write = Write {
        path: path.to_owned(),
        data: formed.data,
        when: version
            .filter(|version| !version.is_empty())
            .map_or(Precondition::Any, Precondition::Version),
    };
    let written = files.write_all(&[write]);
    let written = written.map_err(|(_, error)| Refusal::opening(files, path, error))?;
    let written = written.into_iter().next();
    let (path, version) = written
        .map(|file| (file.real_path, file.version))
        .unwrap_or_default();
    Ok(Written {
        ok: true,
        path,
        version,
        note: formed.note,
    })
}
