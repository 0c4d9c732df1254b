//! Files that are no text.

use super::scan::Scan;
use super::{Kind, Page};

/// How much of the start of a file is looked at, as Git does.
const LOOK: usize = 8_000;

/// Returns what is said of a file that is no text; `None` if it is text.
pub(super) fn describe(scan: &Scan<'_>) -> Option<Page> {
    let start = scan.start();
    let look = start.get(..LOOK).unwrap_or(start);
    memchr::memchr(0, look)?;
    Some(Page {
        kind: Some(Kind::Binary),
        file_size: Some(scan.size()),
        media_type: Some(media_type(start).to_owned()),
        version: Some(scan.version().to_owned()),
        ..Page::default()
    })
}

fn media_type(start: &[u8]) -> &'static str {
    match start {
        // Every other byte of most texts is zero then.
        [0xff, 0xfe, ..] => "text/plain; charset=utf-16le",
        [0xfe, 0xff, ..] => "text/plain; charset=utf-16be",
        _ => infer::get(start).map_or("application/octet-stream", |kind| kind.mime_type()),
    }
}
