//! `read_file`: a page of lines, whatever the size of the file.

mod archive;
mod format;
mod image;
mod listing;
mod notebook;
mod opened;
mod page;
mod pdf;
mod raw;
mod rich;
mod scan;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::files::{Error, Files, Host};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError};

use crate::refusal::{self, Refusal};
use image::{Facts, Picture};
use pdf::Selection;
use rich::{Asked, Looked};

/// How many lines a page has, if the model asks for no other number, and at most.
const MAX_LINES: u64 = 2_000;

/// What reads the files that this tool does not.
const ELSEWHERE: &str = ", and execute for other files";

/// The tool.
#[derive(Debug)]
pub(crate) struct ReadFile;

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file to read, or a directory to list: absolute, or relative to the workspace directory.
    #[serde(default, alias = "file_path")]
    #[schemars(!default)]
    path: String,
    /// The line to begin at; the first one is 1.
    #[schemars(range(min = 1))]
    offset: Option<i64>,
    /// How many lines to read at most; 2000 if not given, and never more.
    #[schemars(range(min = 1))]
    limit: Option<i64>,
    /// The encoding of the file, such as "shift_jis". Default: the one that it seems to have. With an encoding, any file is read as
    /// text.
    encoding: Option<String>,
    /// The pages of a PDF file to read, such as "3", "2-5" or "1,4-6,9-". Default: from the first one on.
    pages: Option<String>,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Archive,
    Binary,
    Directory,
    Image,
    Notebook,
    Pdf,
}

/// Why a page ends before the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TruncatedBy {
    /// It has as many lines as were asked for, or as a page may have.
    Lines,
    /// It has as many bytes as a page may have.
    Bytes,
}

/// The reply. What does not apply is left out.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// What it is, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// The lines, each preceded by its number and a tab; for a script, the text as it is. Of a PDF file its text, of a notebook its cells,
    /// of an archive its entries with size and time.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The names in the directory. A `/` is behind those of directories; pipes, sockets and devices are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<String>>,
    /// Whether the directory or the archive has more names than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_entries: bool,
    /// The size of the file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_size: Option<u64>,
    /// What kind of file it seems to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// The sizes of an image, which follows the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Facts>,
    /// The pages of a PDF file that are in the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<String>,
    /// The pages that follow: the argument pages of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_pages: Option<String>,
    /// How many pages the PDF file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_pages: Option<u32>,
    /// How many cells the notebook has.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cells: Option<u64>,
    /// How many entries the archive has.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_entries: Option<u64>,
    /// The encoding of the file, if it is not UTF-8, and whether it has a byte order mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    /// How many lines the file has; left out where it is too large to be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// The line endings of the page, if they are not LF. The lines are shown without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_endings: Option<&'static str>,
    /// How many lines the page has.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_read: Option<u64>,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// What ended the page before the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_by: Option<TruncatedBy>,
    /// The version of the file, for if_unmodified_since of write_file.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The images that follow the reply as parts of their own.
    #[serde(skip)]
    images: Vec<Picture>,
}

#[cfg(test)]
impl Page {
    /// Returns the types of the images that follow the reply.
    pub(crate) fn media_types(&self) -> Vec<&'static str> {
        self.images.iter().map(|image| image.media_type).collect()
    }
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: Option<&'static str> = Some("Read a file");
    const DESCRIPTION: &'static str = "Read lines of a text file, with their numbers. A page has at most 2000 lines and \
        32 KiB; next_offset says where the next one begins, and files of any size can be read that way. Lines over 1024 \
        bytes are cut; characters without ink are shown as <U+200B>. Shows PNG, JPEG, GIF and WebP images, scaled down if they \
        are large. Reads PDF files as text, with pages; notebooks as cells; and lists zip and tar archives. For a directory, replies \
        with its first 200 names; for another binary file, with its size and type.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[
        Example {
            name: "the workspace directory",
            arguments: r#"{"path": "."}"#,
            is_error: false,
        },
        Example {
            name: "a file that is not there",
            arguments: r#"{"path": "no/such/file.txt"}"#,
            is_error: true,
        },
    ];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Page>())
    }

    fn call(call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        let mut page = run(&Host, &arguments, Reader::of(call));
        let images = match &mut page {
            Ok(page) => std::mem::take(&mut page.images),
            Err(_) => Vec::new(),
        };
        Ok(rich::parts(images).fold(refusal::reply(page)?, Reply::and))
    }
}

/// Who reads the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A model, which edits by the numbers of lines and has little room.
    Model,
    /// A script or another plugin, which takes the text apart.
    Program,
}

impl Reader {
    pub(crate) fn of(call: &Call) -> Self {
        match call.is_nested() {
            true => Self::Program,
            false => Self::Model,
        }
    }
}

pub(crate) fn run(
    files: &dyn Files,
    arguments: &Arguments,
    reader: Reader,
) -> Result<Page, Refusal> {
    let path = &*refusal::required(&arguments.path)?;
    let encoding = refusal::encoding(arguments.encoding.as_deref())?;
    let offset = refusal::number("offset", arguments.offset)?;
    let offset = offset.filter(|offset| *offset > 0).unwrap_or(1);
    let limit = refusal::number("limit", arguments.limit)?.unwrap_or_default();
    let scan = match scan::Scan::begin(files, path) {
        Ok(scan) => scan,
        Err(Error::NotAFile) => return listing::list(files, path),
        Err(error) => {
            let is_outside = matches!(error, Error::OutsideWorkspace(_));
            return Err(match Refusal::opening(files, path, error) {
                Refusal::Report(text) if is_outside => Refusal::report(text + ELSEWHERE),
                refusal => refusal,
            });
        }
    };
    let selection = selection(arguments.pages.as_deref())?;
    let asked = Asked {
        path,
        offset,
        limit,
        pages: &selection,
        reader,
    };
    if encoding.is_some() && !selection.is_all() {
        return Err(Refusal::report(
            "pages cannot be combined with encoding, with which the file is read as text; leave one of them out",
        ));
    }
    // With an encoding, it is text.
    let looked = match encoding {
        None => rich::look(scan, &asked)?,
        Some(_) => Looked::Plain(scan),
    };
    match looked {
        Looked::Shown(page) => Ok(page),
        Looked::Plain(_) if !selection.is_all() => Err(Refusal::report(format!(
            "pages is for PDF files, and this is none: {path}"
        ))),
        Looked::Plain(scan) => {
            opened::open(scan, path, encoding)?.read(path, offset, limit, reader)
        }
    }
}

/// Returns the pages that a model names, or all.
fn selection(pages: Option<&str>) -> Result<Selection, Refusal> {
    let pages = pages.filter(|pages| !pages.trim().is_empty());
    let selection = pages.map(|pages| {
        Selection::parse(pages).ok_or_else(|| {
            Refusal::invalid(format!(
                "pages {pages:?} are no pages; write them as in \"3\", \"2-5\" or \"1,4-6\""
            ))
        })
    });
    selection.transpose().map(Option::unwrap_or_default)
}
