//! The arguments of `edit_files`, in the names of today and in older ones.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_edit::FileEdits;
use toolhost_edit::matcher::Edit;

use crate::refusal::{self, Refusal};

/// What the model says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The files to edit.
    #[serde(default)]
    #[schemars(!default, length(min = 1))]
    files: Vec<File>,
    /// The path of the only file, which models write without the list.
    #[serde(default, alias = "file_path")]
    #[schemars(skip)]
    path: String,
    /// The edits of the only file.
    #[serde(default)]
    #[schemars(skip)]
    edits: Vec<Replacement>,
    /// The encoding of the only file.
    #[schemars(skip)]
    encoding: Option<String>,
    /// The only edit of the only file.
    #[serde(default, alias = "old_string")]
    #[schemars(skip)]
    old_text: String,
    #[serde(default, alias = "new_string")]
    #[schemars(skip)]
    new_text: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    replace_all: bool,
}

impl Arguments {
    /// Returns the files to edit.
    pub(super) fn files(&self) -> Result<Cow<'_, [File]>, Refusal> {
        let has_edit = !self.old_text.is_empty() || self.new_text.is_some();
        let is_flat = has_edit || !self.path.is_empty() || !self.edits.is_empty();
        if !is_flat {
            return Ok(Cow::Borrowed(&self.files));
        }
        if !self.files.is_empty() {
            let text = "path and edits belong to an entry of files; leave them out beside it";
            return Err(Refusal::invalid(text));
        }
        let mut edits = self.edits.clone();
        if has_edit {
            edits.push(Replacement {
                old_text: self.old_text.clone(),
                new_text: self.new_text.clone(),
                replace_all: self.replace_all,
                search: None,
                replace: None,
            });
        }
        Ok(Cow::Owned(vec![File {
            path: self.path.clone(),
            edits,
            encoding: self.encoding.clone(),
        }]))
    }
}

/// One file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The file to edit: absolute, or relative to the workspace directory.
    #[serde(default, alias = "file_path")]
    #[schemars(!default)]
    path: String,
    /// The edits, made in order.
    #[serde(default)]
    #[schemars(!default, length(min = 1))]
    edits: Vec<Replacement>,
    /// The encoding of the file, such as "shift_jis". Default: the one that it seems to have.
    encoding: Option<String>,
}

/// One edit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replacement {
    /// The text to replace, exactly as it is in the file, with enough of what is around it to occur once.
    #[serde(default, alias = "old_string")]
    #[schemars(!default)]
    old_text: String,
    /// The text to put in its place; empty to delete it.
    #[serde(default, alias = "new_string")]
    #[schemars(!default, required)]
    new_text: Option<String>,
    /// Replace every occurrence, instead of refusing where there are several.
    #[serde(default)]
    replace_all: bool,
    /// The name of `old_text` in older schemas.
    #[serde(default)]
    #[schemars(skip)]
    search: Option<String>,
    /// The name of `new_text` in older schemas.
    #[serde(default)]
    #[schemars(skip)]
    replace: Option<String>,
}

impl File {
    /// Returns whether an edit says nothing of what to put in the place of a text: that is no wish to delete it.
    pub(super) fn lacks_new_text(&self) -> bool {
        let lacks = |edit: &Replacement| edit.new_text.is_none() && edit.replace.is_none();
        self.edits.iter().any(lacks)
    }

    /// Returns the path that is meant. One that is missing is left to the plan, which says everything that is wrong.
    pub(super) fn path(&self) -> Result<Cow<'_, str>, Refusal> {
        match self.path.as_str() {
            "" => Ok("".into()),
            path => refusal::required(path),
        }
    }

    /// Returns the edits of the file at this path.
    pub(super) fn edits<'a>(&'a self, path: &'a str) -> Result<FileEdits<'a>, Refusal> {
        Ok(FileEdits {
            path,
            encoding: refusal::encoding(self.encoding.as_deref())?,
            edits: self.edits.iter().map(Into::into).collect(),
        })
    }
}

impl<'a> From<&'a Replacement> for Edit<'a> {
    fn from(edit: &'a Replacement) -> Self {
        // Each by itself, as in the reference.
        let or = |new: &'a str, old: &'a str| if new.is_empty() { old } else { new };
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        Self {
            search: or(&edit.old_text, text(&edit.search)),
            replace: or(text(&edit.new_text), text(&edit.replace)),
            replace_all: edit.replace_all,
        }
    }
}
