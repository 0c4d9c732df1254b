//! Reading the trail: its lines, the newest first, in pages.
//!
//! A place is the file by its inode and an offset, so that it stays valid when the files get other names.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::str::FromStr;

use serde_json::Value;
use toolhost_state::state_dir::StateDir;

use super::Audit;
use super::file::NAME;
use super::line::bounded;

/// The bytes that are read at once.
const BLOCK: u64 = 64 << 10;

/// The most bytes that one page looks at.
const MOST_BYTES: u64 = 16 << 20;

/// The longest line that is read. A longer one is left out.
const MAX_LINE: usize = 1 << 20;

/// The events that are denials, besides calls whose outcome is one.
const DENIALS: [&str; 3] = ["denied", "command_denied", "approval_refused"];

/// Which lines to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Lines about this chat.
    pub chat: Option<String>,
    /// Lines about what this principal did.
    pub principal: Option<String>,
    /// Lines about this plugin.
    pub plugin: Option<String>,
    /// Lines of this event.
    pub event: Option<String>,
    /// Only lines about something that was denied.
    pub denied: bool,
    /// Lines before this place.
    pub after: Option<AuditPlace>,
    /// The most lines, at least 1.
    pub limit: usize,
}

/// A page of the trail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditPage {
    /// The lines as objects, the newest first. There may be fewer than the limit although more follow: a page looks at 16 MiB.
    pub lines: Vec<Value>,
    /// The [`AuditQuery::after`] of the next page; `None` if nothing is left.
    pub next: Option<AuditPlace>,
}

/// The place of a line in the files of the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditPlace {
    inode: u64,
    offset: u64,
}

/// A text that is no place in the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no place in the audit trail")]
pub struct InvalidAuditPlace;

impl fmt::Display for AuditPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{:x}", self.inode, self.offset)
    }
}

impl FromStr for AuditPlace {
    type Err = InvalidAuditPlace;

    fn from_str(text: &str) -> Result<Self, InvalidAuditPlace> {
        let number = |part: &str| u64::from_str_radix(part, 16).map_err(|_| InvalidAuditPlace);
        let (inode, offset) = text.split_once('-').ok_or(InvalidAuditPlace)?;
        Ok(Self {
            inode: number(inode)?,
            offset: number(offset)?,
        })
    }
}

impl Audit {
    /// Returns a page of the lines on disk; `None` if this host records nothing. Hosts that share the directory share the lines.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// If the files cannot be read.
    pub fn read(&self, query: &AuditQuery) -> io::Result<Option<AuditPage>> {
        let Some(path) = self.directory() else {
            return Ok(None);
        };
        match StateDir::existing(path).map_err(io::Error::other)? {
            Some(directory) => page(&directory, query).map(Some),
            None => Ok(Some(AuditPage::default())),
        }
    }
}

/// Returns a page of the trail in a directory.
fn page(directory: &StateDir, query: &AuditQuery) -> io::Result<AuditPage> {
    let mut page = AuditPage::default();
    let mut files = files(directory)?;
    let mut end = None;
    if let Some(after) = query.after {
        let is_it = |file: &Reversed| file.inode == after.inode;
        // Files are removed from the oldest on: if this one is gone, so is all that came before it.
        let place = files.iter().position(is_it).unwrap_or(files.len());
        files.drain(..place);
        end = Some(after.offset);
    }
    let mut left = MOST_BYTES;
    for file in &mut files {
        file.seek(end.take())?;
        while let Some((offset, line)) = file.previous()? {
            left = left.saturating_sub(line.len() as u64 + 1);
            let parsed = serde_json::from_slice::<Value>(&line).ok();
            page.lines.extend(parsed.filter(|line| query.matches(line)));
            if page.lines.len() >= query.limit || left == 0 {
                page.next = Some(AuditPlace {
                    inode: file.inode,
                    offset,
                });
                return Ok(page);
            }
        }
    }
    Ok(page)
}

/// Returns the files of the trail, the newest first.
fn files(directory: &StateDir) -> io::Result<Vec<Reversed>> {
    let number = |name: &str| match name.strip_prefix(NAME)? {
        "" => Some(0),
        rest => rest.strip_prefix('.')?.parse::<u32>().ok(),
    };
    let mut names: Vec<_> = directory
        .entries()?
        .into_iter()
        .filter_map(|entry| Some((number(&entry.name)?, entry.name)))
        .collect();
    names.sort_unstable();
    let mut files: Vec<Reversed> = Vec::new();
    for (_, name) in names {
        // A rotation may rename it meanwhile: then it was found, or is found, under another name.
        if let Some(file) = directory.open_file(&name)? {
            let file = Reversed::new(file)?;
            if files.iter().all(|known| known.inode != file.inode) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

impl AuditQuery {
    fn matches(&self, line: &Value) -> bool {
        let text = |name: &str| line.get(name).and_then(Value::as_str);
        let is = |wanted: &Option<String>, name: &str| {
            // A long text is cut in the trail.
            let cut = |wanted: &String| bounded(name, wanted.as_str().into());
            wanted
                .as_ref()
                .is_none_or(|wanted| text(name) == cut(wanted).as_str())
        };
        let denied = || match text("event") {
            Some("call") => text("outcome") == Some("denied"),
            event => event.is_some_and(|event| DENIALS.contains(&event)),
        };
        line.is_object()
            && is(&self.chat, "chat")
            && is(&self.principal, "principal")
            && is(&self.plugin, "plugin")
            && is(&self.event, "event")
            && (!self.denied || denied())
    }
}

/// A file whose lines are read from its end to its beginning.
struct Reversed {
    file: File,
    inode: u64,
    size: u64,
    /// The offset of the first byte of `bytes`.
    start: u64,
    /// Bytes that were read and are not returned yet. They end with the end of a line, or are none.
    bytes: Vec<u8>,
}

impl Reversed {
    fn new(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            file,
            inode: metadata.ino(),
            size: metadata.len(),
            start: 0,
            bytes: Vec::new(),
        })
    }

    /// Begins at the line that ends at this offset, or at the last whole line.
    fn seek(&mut self, end: Option<u64>) -> io::Result<()> {
        (self.start, self.bytes) = (end.unwrap_or(self.size).min(self.size), Vec::new());
        loop {
            self.read_block()?;
            // A line that is being written, or was torn, has no end yet.
            if let Some(last) = self.bytes.iter().rposition(|byte| *byte == b'\n') {
                self.bytes.truncate(last + 1);
                return Ok(());
            }
            if self.start == 0 || self.bytes.len() > MAX_LINE {
                self.bytes.clear();
                return Ok(());
            }
        }
    }

    /// Returns the next line towards the beginning, with the offset at which it begins.
    fn previous(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let Some(content) = self.bytes.len().checked_sub(1) else {
                return Ok(None);
            };
            let lines = self.bytes.get(..content).unwrap_or_default();
            let begin = match lines.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => Some(end + 1),
                None => (self.start == 0).then_some(0),
            };
            if let Some(begin) = begin {
                let mut line = self.bytes.split_off(begin);
                line.pop();
                return Ok(Some((self.start + begin as u64, line)));
            }
            if self.bytes.len() > MAX_LINE {
                // What it is, it is no line of the trail.
                self.bytes = vec![b'\n'];
            }
            self.read_block()?;
        }
    }

    /// Reads the bytes before those that were read.
    fn read_block(&mut self) -> io::Result<()> {
        let length = self.start.min(BLOCK);
        self.start -= length;
        let mut block = vec![0; usize::try_from(length).unwrap_or_default()];
        self.file.read_exact_at(&mut block, self.start)?;
        block.append(&mut self.bytes);
        self.bytes = block;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    /// A trail in these files, each with its lines, the newest file first.
    fn trail(base: &Path, files: &[&str]) -> StateDir {
        let directory = StateDir::open(&base.join("audit")).unwrap();
        for (number, text) in files.iter().enumerate() {
            let name = match number {
                0 => NAME.to_owned(),
                number => format!("{NAME}.{number}"),
            };
            directory.write(&name, text.as_bytes()).unwrap();
        }
        directory
    }

    fn query(limit: usize) -> AuditQuery {
        AuditQuery {
            limit,
            ..AuditQuery::default()
        }
    }

    /// Returns the numbers of the lines of all pages.
    fn all(directory: &StateDir, query: AuditQuery) -> Vec<u64> {
        let (mut found, mut query) = (Vec::new(), query);
        loop {
            let page = page(directory, &query).unwrap();
            assert!(page.lines.len() <= query.limit);
            found.extend(page.lines.iter().map(|line| line["n"].as_u64().unwrap()));
            let Some(next) = page.next else {
                return found;
            };
            query.after = Some(next.to_string().parse().unwrap());
        }
    }

    #[test]
    fn lines_of_all_files_are_read_from_the_newest_on() {
        let base = tempfile::tempdir().unwrap();
        // A torn line, and one that is being written.
        let newest = "{\"n\":4}\n{\"n\":\n{\"n\":5}\n{\"n\":6";
        let directory = trail(
            base.path(),
            &[newest, "{\"n\":2}\n{\"n\":3}\n", "", "{\"n\":1}\n"],
        );
        for limit in 1..8 {
            assert_eq!(all(&directory, query(limit)), [5, 4, 3, 2, 1], "{limit}");
        }
        let none = StateDir::open(&base.path().join("none")).unwrap();
        assert_eq!(page(&none, &query(1)).unwrap(), AuditPage::default());
    }

    #[test]
    fn lines_longer_than_a_block_are_whole() {
        let base = tempfile::tempdir().unwrap();
        let long = "x".repeat(200_000);
        let lines: String = (0..5)
            .map(|n| format!("{{\"n\":{n},\"text\":\"{long}\"}}\n"))
            .collect();
        let directory = trail(base.path(), &[&lines]);
        assert_eq!(all(&directory, query(2)), [4, 3, 2, 1, 0]);
        // What is no line does not end the reading.
        let junk = format!("{{\"n\":1}}\n{}\n{{\"n\":2}}\n", "y".repeat(3 << 20));
        let directory = trail(&base.path().join("junk"), &[&junk]);
        assert_eq!(all(&directory, query(1)), [2, 1]);
    }

    #[test]
    fn a_page_looks_at_a_bounded_number_of_bytes_and_the_next_goes_on() {
        let base = tempfile::tempdir().unwrap();
        let line = format!("{{\"n\":1,\"text\":\"{}\"}}\n", "x".repeat(100_000));
        let lines = format!("{{\"n\":0,\"event\":\"rare\"}}\n{}", line.repeat(300));
        let directory = trail(base.path(), &[&lines]);
        let rare = AuditQuery {
            event: Some("rare".into()),
            ..query(10)
        };
        let first = page(&directory, &rare).unwrap();
        assert!(first.lines.is_empty() && first.next.is_some());
        assert_eq!(all(&directory, rare), [0]);
    }

    #[test]
    fn a_place_outlives_a_rotation_and_not_its_file() {
        let base = tempfile::tempdir().unwrap();
        let directory = trail(base.path(), &["{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"]);
        let first = page(&directory, &query(1)).unwrap();
        let after = AuditQuery {
            after: first.next,
            ..query(1)
        };
        directory.rename_file(NAME, &format!("{NAME}.1")).unwrap();
        directory.write(NAME, b"{\"n\":4}\n").unwrap();
        assert_eq!(all(&directory, after.clone()), [2, 1]);
        directory.remove(&format!("{NAME}.1")).unwrap();
        let gone = page(&directory, &after).unwrap();
        assert!(gone.lines.is_empty() && gone.next.is_none());
        for wrong in ["", "-", "1", "x-1", "1-", "1-1-1"] {
            assert_eq!(
                wrong.parse::<AuditPlace>(),
                Err(InvalidAuditPlace),
                "{wrong}"
            );
        }
    }

    #[test]
    fn filters_are_all_met() {
        let long = "c".repeat(120);
        let line = |event: &str, more: Value| {
            let mut line = json!({ "event": event });
            line.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            line
        };
        let call = line(
            "call",
            json!({ "principal": "a", "chat": "x", "plugin": "p", "outcome": "denied" }),
        );
        let of = |change: fn(&mut AuditQuery)| {
            let mut query = query(1);
            change(&mut query);
            query
        };
        assert!(of(|query| query.chat = Some("x".into())).matches(&call));
        assert!(!of(|query| query.chat = Some("y".into())).matches(&call));
        assert!(of(|query| query.principal = Some("a".into())).matches(&call));
        assert!(!of(|query| query.plugin = Some("a".into())).matches(&call));
        assert!(!of(|query| query.event = Some("call_started".into())).matches(&call));
        assert!(of(|query| query.denied = true).matches(&call));
        let denied = of(|query| query.denied = true);
        for event in DENIALS {
            assert!(denied.matches(&line(event, json!({}))));
        }
        assert!(!denied.matches(&line("call", json!({ "outcome": "ok" }))));
        assert!(!denied.matches(&line("process_start", json!({}))));
        assert!(!query(1).matches(&json!([1])));
        // The trail has a digest instead of the end of a long id.
        let cut = line(
            "call",
            json!({ "chat": bounded("chat", long.clone().into()) }),
        );
        let long = AuditQuery {
            chat: Some(long),
            ..query(1)
        };
        assert!(long.matches(&cut) && !long.matches(&call));
    }
}
