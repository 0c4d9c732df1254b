//! `search_files`: the lines of files that match a pattern.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_sdk::files::{Error, FileMatches, Files, Host, LetterCase, Line, Matches, Page, Text};
use toolhost_sdk::{Call, Example, Hints, Reply, Schema, Tool, ToolError};
use toolhost_view::hidden;

use crate::read_file::Reader;
use crate::refusal::{self, Refusal};
use crate::search::{self, Among, Values};

/// How many lines a page has if the model asks for no other number, and how many results at most.
const LINES: u64 = 200;
const MAX_RESULTS: u64 = 2_000;

/// The most bytes of the text of a page.
const MAX_BYTES: usize = 32 << 10;

/// The most bytes of a line.
const WIDTH: u32 = 512;

/// The most lines around a match.
const MAX_CONTEXT: u64 = 50;

/// The tool.
#[derive(Debug)]
pub(crate) struct SearchFiles;

/// What the results are. The description of the argument says what each means: with texts of their own, the schema would have an `anyOf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Output {
    #[default]
    Lines,
    Files,
    Counts,
}

/// What the model says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A regular expression (of Rust's crate regex, as ripgrep has them), or with literal a text.
    #[serde(default)]
    #[schemars(!default)]
    pattern: String,
    /// The directory or file to search; the workspace directory if not given.
    path: Option<String>,
    /// Which files, such as "*.rs" or "src/**/*.{ts,tsx}"; several are separated by blanks, and "!*.min.js" leaves files out.
    #[schemars(with = "Option<String>")]
    glob: Option<Values>,
    /// The type of the files by ripgrep's names, such as "rust", "py", "js", "ts" or "go"; several are separated by blanks.
    #[schemars(with = "Option<String>")]
    r#type: Option<Values>,
    /// Whether files and directories are searched whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Whether files are searched that .gitignore and the like name.
    #[serde(default)]
    ignored: bool,
    /// Whether pattern is a text, and no regular expression.
    #[serde(default)]
    literal: bool,
    /// Whether large and small letters are equal.
    #[serde(default)]
    ignore_case: bool,
    /// Whether only whole words match.
    #[serde(default)]
    words: bool,
    /// Whether a match can have several lines; `.` matches a line feed with (?s).
    #[serde(default)]
    multiline: bool,
    /// How many lines around each match are shown; 0 if not given, at most 50.
    context: Option<i64>,
    /// The same for lines before a match.
    before: Option<i64>,
    /// The same for lines behind a match.
    after: Option<i64>,
    /// What to reply with: the lines that match, the paths of their files, or how many lines of each file match.
    #[serde(default)]
    output: Output,
    /// How many results are left out first; next_offset of the last page.
    offset: Option<i64>,
    /// How many results to reply with at most; 200 lines or 2000 files if not given, never more than 2000.
    limit: Option<i64>,
    /// The encoding of the files, such as "shift_jis". Default: UTF-8, or UTF-16 with a byte order mark.
    encoding: Option<String>,
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

/// A file of the reply.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct File {
    path: String,
    /// How many of its lines match.
    matches: u64,
    /// The lines, for a script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Found>,
}

/// A line, for a script.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Found {
    line: u64,
    text: String,
    /// Whether it matches, and is not only near a match.
    is_match: bool,
}

/// The reply. What does not apply is left out.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Searched {
    /// The lines. A colon is behind the number of a line that matches, and a minus sign behind that of another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The files, by their paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<File>>,
    /// The paths of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    /// How many lines match in all.
    total_matches: u64,
    /// How many files match in all.
    total_files: u64,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const TITLE: Option<&'static str> = Some("Search files");
    const DESCRIPTION: &'static str = "Search the text of files, as ripgrep (rg) does, without a command: files that .gitignore \
        names, hidden files and binary files are left out. Replies with the lines that match, in the order of the paths, at most \
        32 KiB at once; next_offset says where the next page begins. Lines over 512 bytes are cut around the match.";
    const HINTS: Hints = Hints {
        read_only: true,
        idempotent: true,
        closed_world: true,
        ..Hints::NONE
    };
    const EXAMPLES: &'static [Example] = &[
        Example {
            name: "where a function is called",
            arguments: r#"{"pattern": "\\bparse_args\\(", "type": "py", "context": 2}"#,
            is_error: false,
        },
        Example {
            name: "a pattern that is wrong",
            arguments: r#"{"pattern": "main("}"#,
            is_error: true,
        },
    ];
    type Arguments = Arguments;

    fn output_schema() -> Option<Schema> {
        Some(Schema::of_reply::<Searched>())
    }

    fn call(call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        refusal::reply(run(&Host, &arguments, Reader::of(call)))
    }
}

pub(crate) fn run(
    files: &dyn Files,
    arguments: &Arguments,
    reader: Reader,
) -> Result<Searched, Refusal> {
    if arguments.pattern.is_empty() {
        return Err(Refusal::invalid("pattern is required"));
    }
    let usual = match arguments.output {
        Output::Lines => LINES,
        Output::Files | Output::Counts => MAX_RESULTS,
    };
    let page = search::page(arguments.offset, arguments.limit, usual, MAX_RESULTS)?;
    let text = text(arguments)?;
    let scope = arguments.among().scope(None)?;
    let found = files.search(&scope, &text, page);
    let found = found.map_err(|error| explained(files, arguments, error))?;
    Ok(reply(arguments, found, page, reader))
}

fn text(arguments: &Arguments) -> Result<Text, Refusal> {
    let around = |name: &str, lines: Option<i64>| {
        let lines = refusal::number(name, lines)?;
        let context = refusal::number("context", arguments.context)?;
        let lines = lines.or(context).unwrap_or_default().min(MAX_CONTEXT);
        Ok(u32::try_from(lines).unwrap_or_default())
    };
    Ok(Text {
        pattern: arguments.pattern.clone(),
        literal: arguments.literal,
        letter_case: match arguments.ignore_case {
            true => LetterCase::Any,
            false => LetterCase::Exact,
        },
        words: arguments.words,
        multiline: arguments.multiline,
        encoding: arguments.encoding.clone().filter(|name| !name.is_empty()),
        before: around("before", arguments.before)?,
        after: around("after", arguments.after)?,
        width: WIDTH,
        files_only: arguments.output != Output::Lines,
    })
}

/// Says what is wrong with a search. A pattern that is no regular expression may have been meant as a text.
fn explained(files: &dyn Files, arguments: &Arguments, error: Error) -> Refusal {
    match arguments.among().refusal(files, error) {
        Refusal::Error(ToolError::InvalidArguments(text)) if text.contains("regex") => {
            let is_unsupported = ["look-around", "backreference"]
                .iter()
                .any(|construct| text.contains(construct));
            let advice = match is_unsupported {
                true => "use grep -P in execute, which has look-around and backreferences",
                false => "set literal to search for it as a text",
            };
            Refusal::invalid(format!("{text}\n{advice}"))
        }
        other => other,
    }
}

fn reply(arguments: &Arguments, found: Matches, page: Page, reader: Reader) -> Searched {
    let nothing = found.total_matches == 0;
    let mut searched = Searched {
        total_matches: found.total_matches,
        total_files: found.total_files,
        note: search::note([
            search::unsearched(found.unreadable),
            nothing.then(|| match found.searched {
                1 => "1 file was searched".to_owned(),
                count => format!("{count} files were searched"),
            }),
            arguments.among().hints().filter(|_| nothing),
            arguments.among().besides(true).filter(|_| nothing),
        ]),
        ..Searched::default()
    };
    let (mut shown, is_cut) = match (arguments.output, reader) {
        (Output::Lines, Reader::Model) => {
            let around = [arguments.context, arguments.before, arguments.after];
            let has_context = around.iter().flatten().any(|lines| *lines > 0);
            let (content, shown, is_cut) = content(&found.files, has_context);
            searched.content = (!nothing).then_some(content);
            (shown, is_cut)
        }
        (Output::Files, _) => {
            let paths = found.files.into_iter().map(|file| file.path);
            let paths: Vec<_> = paths.collect();
            let shown = paths.len() as u64;
            searched.paths = Some(paths);
            (shown, false)
        }
        (Output::Counts | Output::Lines, _) => {
            let files: Vec<_> = found.files.into_iter().map(File::from).collect();
            let lines = files.iter().flat_map(|file| &file.lines);
            let shown = match arguments.output {
                Output::Lines => lines.filter(|line| line.is_match).count() as u64,
                _ => files.len() as u64,
            };
            searched.files = Some(files);
            (shown, false)
        }
    };
    if found.more || is_cut {
        // A page without a result would be asked for again and again.
        shown = shown.max(1);
        searched.next_offset = Some(page.skip + shown);
    }
    searched
}

impl From<FileMatches> for File {
    fn from(file: FileMatches) -> Self {
        let lines = file.lines.into_iter().map(|line| Found {
            line: line.number,
            text: line.text,
            is_match: line.is_match,
        });
        Self {
            path: file.path,
            matches: file.matches,
            lines: lines.collect(),
        }
    }
}

/// Returns the lines as text, as many as a page may have, the number of those that match, and whether some are left out. With lines around
/// matches, `--` stands between lines that are not neighbours.
fn content(files: &[FileMatches], has_context: bool) -> (String, u64, bool) {
    let (mut content, mut shown) = (String::new(), 0);
    for file in files {
        let mut last = None;
        for line in &file.lines {
            let begin = content.len();
            match last {
                None => {
                    let blank = if content.is_empty() { "" } else { "\n" };
                    let path = hidden::escape(&file.path).0.replace('\n', "<U+000A>");
                    content.push_str(&format!("{blank}{path}\n"));
                }
                Some(last) if has_context && last + 1 < line.number => content.push_str("--\n"),
                Some(_) => {}
            }
            content.push_str(&written(line));
            if content.len() > MAX_BYTES && shown > 0 {
                content.truncate(begin);
                return (content.trim_end().to_owned(), shown, true);
            }
            shown += u64::from(line.is_match);
            last = Some(line.number);
        }
    }
    (content.trim_end().to_owned(), shown, false)
}

fn written(line: &Line) -> String {
    let mark = if line.is_match { ':' } else { '-' };
    let text = hidden::escape(&line.text).0;
    let rest = if line.is_cut { " [line cut]" } else { "" };
    format!("{}{mark}{text}{rest}\n", line.number)
}
