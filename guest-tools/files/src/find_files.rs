//! `find_files`: files by their names and facts.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::files::{self, Files, Filter, FoundFile, Host};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError};

use crate::refusal::{self, Refusal};
use crate::search::{self, Among, Values};
use crate::time;

/// How many files a page has, if the model asks for no other number, and at most.
const FILES: u64 = 200;
const MAX_FILES: u64 = 2_000;

/// The tool.
#[derive(Debug)]
pub(crate) struct FindFiles;

/// The kind of what is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    File,
    Directory,
    Symlink,
    Any,
}

/// The order of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Path,
    Newest,
}

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory or file to search; the workspace directory if not given.
    path: Option<String>,
    /// Which files, such as "*.rs" or "src/**/*.{ts,tsx}"; several are separated by blanks, and "!*.min.js" leaves files out.
    #[serde(alias = "pattern")]
    #[schemars(with = "Option<String>")]
    glob: Option<Values>,
    /// The type of the files by ripgrep's names, such as "rust", "py", "js", "ts" or "go"; several are separated by blanks.
    #[schemars(with = "Option<String>")]
    r#type: Option<Values>,
    /// Whether files and directories are found whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Whether files are found that .gitignore and the like name.
    #[serde(default)]
    ignored: bool,
    /// What is found: regular files if not given, directories, symbolic links, or any of these.
    #[serde(default)]
    kind: Kind,
    /// The least bytes of a file.
    min_size: Option<i64>,
    /// The most bytes of a file.
    max_size: Option<i64>,
    /// It was changed within this time, such as "30m", "2h" or "7d".
    newer_than: Option<String>,
    /// It was not changed within this time.
    older_than: Option<String>,
    /// How many directories deep; 1 is the directory itself. All of them if not given.
    #[schemars(range(min = 1))]
    max_depth: Option<i64>,
    /// The order: by path, or those first that were changed last.
    #[serde(default)]
    order: Order,
    /// Whether the size of each file and the time of its last change are replied with.
    #[serde(default)]
    details: bool,
    /// How many files are left out first; next_offset of the last page.
    offset: Option<i64>,
    /// How many files to reply with at most; 200 if not given, at most 2000.
    limit: Option<i64>,
}

impl Arguments {
    fn among(&self) -> Among<'_> {
        Among {
            path: self.path.as_deref(),
            glob: self.glob.as_ref(),
            kinds: self.r#type.as_ref(),
            hidden: self.hidden,
            ignored: self.ignored,
        }
    }
}

/// A file with its facts.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct File {
    path: String,
    kind: &'static str,
    /// In bytes.
    size: u64,
    /// When it was last changed, in UTC.
    modified: String,
}

/// The reply. What does not apply is left out.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The paths. A `/` is behind those of directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    /// The files with their facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<File>>,
    /// How many there are in all.
    total: u64,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for FindFiles {
    const NAME: &'static str = "find_files";
    const TITLE: Option<&'static str> = Some("Find files");
    const DESCRIPTION: &'static str = "Find files by name, type, size or time, without a command: glob \"*.rs\" finds them in \
        all directories. Files that .gitignore names and hidden files are left out, and links are not followed. Replies with at \
        most 200 paths at once; next_offset says where the next page begins.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[
        Example {
            name: "what was changed last",
            arguments: r#"{"glob": "*.md", "newer_than": "2d", "order": "newest", "details": true}"#,
            is_error: false,
        },
        Example {
            name: "a time that is none",
            arguments: r#"{"newer_than": "yesterday"}"#,
            is_error: true,
        },
    ];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Found>())
    }

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        refusal::reply(run(&Host, &arguments, time::now_ms()))
    }
}

pub(crate) fn run(files: &dyn Files, arguments: &Arguments, now_ms: u64) -> Result<Found, Refusal> {
    let page = search::page(arguments.offset, arguments.limit, FILES, MAX_FILES)?;
    let depth = refusal::number("max_depth", arguments.max_depth)?;
    let depth = depth.map(|depth| u32::try_from(depth.max(1)).unwrap_or(u32::MAX));
    let ago = |name: &str, time: Option<&str>| {
        let time = time.filter(|time| !time.is_empty());
        let ago = time
            .map(|time| time::milliseconds(name, time))
            .transpose()?;
        Ok(ago.map(|ago| now_ms.saturating_sub(ago)))
    };
    let filter = Filter {
        kind: match arguments.kind {
            Kind::File => Some(files::Kind::File),
            Kind::Directory => Some(files::Kind::Directory),
            Kind::Symlink => Some(files::Kind::Symlink),
            Kind::Any => None,
        },
        min_size: refusal::number("min_size", arguments.min_size)?,
        max_size: refusal::number("max_size", arguments.max_size)?,
        since_ms: ago("newer_than", arguments.newer_than.as_deref())?,
        until_ms: ago("older_than", arguments.older_than.as_deref())?,
        newest_first: arguments.order == Order::Newest,
    };
    let among = arguments.among();
    let found = files.find(&among.scope(depth)?, &filter, page);
    let found = found.map_err(|error| among.refusal(files, error))?;
    let nothing = found.total == 0;
    let shown = found.files.len() as u64;
    let (paths, details) = match arguments.details {
        true => (
            None,
            Some(found.files.into_iter().map(File::from).collect()),
        ),
        false => (Some(found.files.iter().map(marked).collect()), None),
    };
    Ok(Found {
        paths,
        files: details,
        total: found.total,
        next_offset: found.more.then(|| page.skip + shown.max(1)),
        note: search::note([
            search::unreadable(found.unreadable),
            among.hints().filter(|_| nothing),
            among.besides(false).filter(|_| nothing),
        ]),
    })
}

fn marked(file: &FoundFile) -> String {
    match file.kind {
        files::Kind::Directory => format!("{}/", file.path),
        _ => file.path.clone(),
    }
}

impl From<FoundFile> for File {
    fn from(file: FoundFile) -> Self {
        Self {
            kind: match file.kind {
                files::Kind::File => "file",
                files::Kind::Directory => "directory",
                files::Kind::Symlink => "symlink",
                files::Kind::Other => "other",
            },
            size: file.size,
            modified: time::written(file.modified_ms),
            path: file.path,
        }
    }
}
