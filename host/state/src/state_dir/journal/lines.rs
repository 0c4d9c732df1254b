//! The lines of a journal: how an entry becomes one, and how they are read back from a file that may be damaged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

use serde::Deserialize;

use super::Known;

/// Returns the first line of every journal of this subject.
pub fn header(subject: &str) -> String {
    format!("{{\"toolhost\":\"{subject}\",\"version\":1}}\n")
}

/// Returns the line of an entry with its newline.
///
/// # Errors
///
/// If it is longer than a line may be.
pub fn line<K: Known>(entry: &K::Entry) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    if line.len() > K::LONGEST {
        let (size, most) = (line.len(), K::LONGEST);
        return Err(io::Error::other(format!(
            "an entry of {size} bytes is longer than {most} bytes"
        )));
    }
    Ok(line)
}

/// Returns the text of a journal that says nothing but this.
pub(super) fn compact<K: Known>(knowledge: &K) -> Vec<u8> {
    let mut text = header(K::SUBJECT).into_bytes();
    for entry in knowledge.entries() {
        // It came out of a line of this length.
        if let Ok(line) = line::<K>(&entry) {
            text.extend(line);
        }
    }
    text
}

/// What a file says.
pub(super) struct Contents<K> {
    pub(super) knowledge: K,
    /// Whether it has its header, and no line that is damaged.
    pub(super) intact: bool,
}

/// Puts together what the first `end` bytes of a file say. Lines that are damaged are skipped, and logged as one event.
///
/// # Errors
///
/// If the file cannot be read, or says that it has a version that this host does not know.
pub(super) fn read<K: Known>(file: &File, end: u64, nothing: &K) -> io::Result<Contents<K>> {
    let mut reader = BufReader::new(At { file, at: 0 }.take(end));
    let mut knowledge = nothing.clone();
    let mut line = Vec::new();
    let (mut number, mut damaged, mut first_damaged) = (0_u64, 0_u64, 0_u64);
    let mut header = false;
    while next_line(&mut reader, &mut line, K::LONGEST)? {
        number += 1;
        if number == 1 && is_header(&line, K::SUBJECT)? {
            header = true;
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(entry) if line.len() < K::LONGEST => knowledge.add(entry),
            // After a failed write, the next line starts with a newline to be on the safe side.
            _ if line.is_empty() => {}
            _ => {
                damaged += 1;
                if damaged == 1 {
                    first_damaged = number;
                }
            }
        }
    }
    if damaged > 0 {
        tracing::warn!(
            damaged,
            first = first_damaged,
            journal = K::SUBJECT,
            "the journal has damaged lines, which were skipped"
        );
    }
    Ok(Contents {
        knowledge,
        intact: header && damaged == 0,
    })
}

/// Returns whether the line is a header that can be read on from.
fn is_header(line: &[u8], subject: &str) -> io::Result<bool> {
    #[derive(Deserialize)]
    struct Header {
        toolhost: String,
        version: serde_json::Value,
    }
    match serde_json::from_slice::<Header>(line) {
        Ok(header) if header.toolhost == subject => match header.version.as_u64() {
            Some(1) => Ok(true),
            _ => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "it has version {}, and this Toolhost knows version 1: use the Toolhost that wrote it, or remove the \
                     file to forget the {subject} in it",
                    header.version
                ),
            )),
        },
        _ => Ok(false),
    }
}

/// Reads one line without its newline into `line`, of which at most `longest` bytes are kept. Returns whether there was
/// one.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, longest: usize) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..newline.unwrap_or(buffer.len()));
        let part = part.unwrap_or_default();
        let room = longest.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(part.get(..room).unwrap_or_default());
        let used = newline.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if newline.is_some() {
            return Ok(true);
        }
    }
}

/// Reads a file from its beginning without moving its cursor, which others share.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
