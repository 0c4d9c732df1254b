//! Archives, as a list of what is in them. Nothing is unpacked but the headers.

mod frames;
mod headers;
mod source;

use std::cell::Cell;
use std::io::{self, Read, Seek};

use flate2::read::MultiGzDecoder;
use tar::EntryType;
use toolhost_sdk::files::Files;
use zip::unstable::read::ZipIterable;

use super::format::{Packed, is_tar};
use frames::Frames;
use headers::{Forward, Headers, MAX_HEADERS};
use source::{MAX_READ, Source};

/// The most entries of a list.
const MAX_ENTRIES: usize = 10_000;

/// The most bytes of text that a list has.
const MAX_TEXT: usize = 4 << 20;

/// How much of a compressed archive is unpacked at most to find its entries, in bytes.
const MAX_UNPACKED: u64 = 256 << 20;

/// The longest name of an entry that is listed, in bytes.
const MAX_NAME: usize = 1 << 10;

/// The entries of an archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    /// A line for each entry.
    pub(super) text: String,
    /// How many entries are listed.
    pub(super) entries: u64,
    /// Whether there are more, or may be.
    pub(super) more: bool,
    /// The fault of the rest.
    pub(super) note: Option<String>,
}

/// Lists an archive; `None` if it is none, but a single compressed file.
///
/// # Errors
///
/// A sentence that says why it cannot be listed.
pub(super) fn list(
    files: &dyn Files,
    path: &str,
    size: u64,
    packed: Packed,
) -> Result<Option<List>, String> {
    let mut source = Source::new(files, path, size);
    let listed = match packed {
        Packed::Zip => zip(&mut source).map(Some),
        Packed::Tar => Ok(Some(tar(&mut source))),
        Packed::Gzip => compressed(MultiGzDecoder::new(&mut source)),
        Packed::Zstd => compressed(Frames::new(&mut source)),
    };
    if !source.is_spent() {
        return listed;
    }
    let most = MAX_READ >> 20;
    match listed {
        Ok(Some(list)) if list.entries > 0 => Ok(Some(List {
            more: true,
            note: Some(format!("only {most} MiB of the file were read")),
            ..list
        })),
        _ => Err(format!(
            "its entries are not in the {most} MiB that were read of it; use execute to list it"
        )),
    }
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("it is damaged: {error}")
}

/// Lists a zip archive by its directory alone, of which one entry is in memory at a time.
fn zip(source: impl Read + Seek) -> Result<List, String> {
    let archive = ZipIterable::try_new(source, zip::read::Config::default());
    let mut archive = archive.map_err(|error| damaged(&error))?;
    let entries = archive.files().map_err(|error| damaged(&error))?;
    let mut list = List::default();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let number = list.entries + 1;
                list.note = Some(format!("entry {number} of it is damaged: {error}"));
                list.more = true;
                break;
            }
        };
        let time = entry.last_modified().map(|time| Time {
            year: time.year().into(),
            month: time.month(),
            day: time.day(),
            hour: time.hour(),
            minute: time.minute(),
        });
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let kind = match entry.encrypted() {
            true => " (encrypted)",
            false => "",
        };
        if !list.add(entry.size(), time, &name, kind) {
            break;
        }
    }
    Ok(list)
}

/// Lists a tar archive in a compressed file.
fn compressed(decoder: impl Read) -> Result<Option<List>, String> {
    let mut unpacked = decoder.take(MAX_UNPACKED);
    let mut start = Vec::new();
    let header = unpacked.by_ref().take(512).read_to_end(&mut start);
    header.map_err(|error| damaged(&error))?;
    if !is_tar(&start) {
        return Ok(None);
    }
    let all = start.as_slice().chain(&mut unpacked);
    let mut list = tar(Forward::new(all));
    if unpacked.limit() == 0 {
        list.more = true;
        list.note = Some(format!(
            "only the first {} MiB of what it unpacks to were looked at",
            MAX_UNPACKED >> 20
        ));
    }
    Ok(Some(list))
}

/// Lists the entries up to the end, or to where it is damaged.
fn tar(stream: impl Read + Seek) -> List {
    let mut list = List::default();
    let added = add_tar(&mut list, stream);
    if let Err(error) = added {
        list.more = true;
        list.note = Some(format!("the rest of it is damaged: {error}"));
    }
    list
}

fn add_tar(list: &mut List, stream: impl Read + Seek) -> io::Result<()> {
    let left = Cell::new(MAX_HEADERS);
    let stream = Headers {
        stream,
        left: &left,
    };
    let mut archive = tar::Archive::new(stream);
    for entry in archive.entries_with_seek()? {
        if !list.add_tar(&entry?) {
            break;
        }
        left.set(MAX_HEADERS);
    }
    Ok(())
}

/// A time as an archive has it; in zip archives, of an unknown zone.
struct Time {
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
}

impl Time {
    /// Returns the time that is this many seconds after the beginning of 1970.
    fn of_unix(seconds: u64) -> Option<Self> {
        /// The first day after the year 9999.
        const LAST: i64 = 2_932_897;
        let days = i64::try_from(seconds / 86_400)
            .ok()
            .filter(|days| *days < LAST)?;
        // Days of a year that begins in March, as civil_from_days of Howard Hinnant.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        Some(Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: u8::try_from(month).ok()?,
            day: u8::try_from(day_of_year - (153 * shifted_month + 2) / 5 + 1).ok()?,
            hour: u8::try_from(seconds % 86_400 / 3_600).ok()?,
            minute: u8::try_from(seconds % 3_600 / 60).ok()?,
        })
    }
}

impl List {
    /// Adds an entry. Returns whether there is room for another one.
    fn add(&mut self, size: u64, time: Option<Time>, name: &str, kind: &str) -> bool {
        if self.entries as usize >= MAX_ENTRIES || self.text.len() >= MAX_TEXT {
            self.more = true;
            return false;
        }
        let time = time.map_or_else(
            || " ".repeat(16),
            |time| {
                let Time {
                    year,
                    month,
                    day,
                    hour,
                    minute,
                } = time;
                format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
            },
        );
        // A name is one line.
        let shown: String = name
            .chars()
            .flat_map(|char| match char {
                '\n' | '\r' => char.escape_default().collect::<Vec<_>>(),
                char => vec![char],
            })
            .collect();
        let end = shown.floor_char_boundary(MAX_NAME);
        let cut = if end < shown.len() { "..." } else { "" };
        let shown = shown.get(..end).unwrap_or_default();
        self.text += &format!("{size:>12}  {time}  {shown}{cut}{kind}\n");
        self.entries += 1;
        true
    }

    fn add_tar(&mut self, entry: &tar::Entry<'_, impl Read>) -> bool {
        let header = entry.header();
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let target = entry.link_name_bytes();
        let target = target.map(|target| String::from_utf8_lossy(&target).into_owned());
        let name = match (header.entry_type(), target) {
            (EntryType::Symlink | EntryType::Link, Some(target)) => format!("{name} -> {target}"),
            (EntryType::Directory, _) if !name.ends_with('/') => name + "/",
            _ => name,
        };
        let time = header.mtime().ok().and_then(Time::of_unix);
        self.add(entry.size(), time, &name, "")
    }
}

#[cfg(test)]
pub(super) mod tests;
