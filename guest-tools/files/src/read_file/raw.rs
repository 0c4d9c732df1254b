//! The text of a file as it is, for programs: without numbers, and with whole lines.

use toolhost_edit::encoding::Encoding;
use toolhost_sdk::files::Error;

use super::scan::Scan;
use super::{Page, TruncatedBy, page};
use crate::refusal::Refusal;

/// The most bytes of one page.
const MAX_BYTES: u64 = 8 << 20;

/// Reads the lines from `offset` on: `limit` of them, or all.
///
/// Also returns whether some bytes of them are no text.
pub(super) fn read(
    scan: &mut Scan<'_>,
    path: &str,
    offset: u64,
    limit: Option<u64>,
    encoding: Encoding,
) -> Result<(Page, bool), Refusal> {
    let refused = |error: Error| Refusal::of(path, error);
    page::begin(scan, path, offset)?;
    let start = scan.position();
    let mut end = scan.size();
    if let Some(limit) = limit {
        scan.skip(limit).map_err(refused)?;
        end = scan.position();
    }
    let mut is_full = false;
    let mut bytes = scan
        .bytes(start, end.min(start + MAX_BYTES))
        .map_err(refused)?;
    if end - start > MAX_BYTES {
        is_full = true;
        // A line that is longer than a page loses its end.
        if let Some(last) = memchr::memrchr(b'\n', &bytes) {
            bytes.truncate(last + 1);
        }
    }
    let feeds = memchr::memchr_iter(b'\n', &bytes).count() as u64;
    let is_open = bytes.last().is_some_and(|&last| last != b'\n');
    let lines = feeds + u64::from(is_open);
    let next = offset + lines;
    let read_to = start + bytes.len() as u64;
    scan.go_to(read_to);
    let at_end = scan.is_at_end();
    let total = page::total(scan, next, at_end && !is_full).map_err(refused)?;
    let truncated_by = match is_full {
        true => TruncatedBy::Bytes,
        false => TruncatedBy::Lines,
    };
    let (text, replaced) = encoding.decode_lossy(&bytes);
    // A byte order mark is none of the text.
    let text = match text.strip_prefix('\u{FEFF}') {
        Some(text) if start == 0 => text,
        _ => &text,
    };
    let page = Page {
        note: replaced.then(|| page::replaced(encoding)),
        content: Some(text.to_owned()),
        file_size: Some(scan.file_size()),
        total_lines: total,
        lines_read: Some(lines),
        next_offset: (!at_end).then_some(next),
        truncated_by: (!at_end).then_some(truncated_by),
        version: Some(scan.version().to_owned()),
        ..Page::default()
    };
    Ok((page, replaced))
}
