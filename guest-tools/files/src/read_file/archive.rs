//! Archives, as a list of what is in them. Nothing is unpacked but the headers.

mod source;

use std::io::{self, Read, Seek};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use tar::EntryType;
use toolhost_sdk::files::Files;

use super::format::{Packed, is_tar};
use source::Source;

/// The most entries of a list.
const MAX_ENTRIES: usize = 10_000;

/// The most bytes of text that a list has.
const MAX_TEXT: usize = 4 << 20;

/// How much of a compressed archive is unpacked at most to find its entries, in bytes.
const MAX_UNPACKED: u64 = 256 << 20;

/// The longest name of an entry that is listed, in bytes.
const MAX_NAME: usize = 1 << 10;

/// What an archive has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    /// A line for each entry.
    pub(super) text: String,
    /// How many entries are listed.
    pub(super) entries: u64,
    /// Whether there are more, or may be.
    pub(super) more: bool,
    /// What is wrong with the rest.
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
    let source = Source::new(files, path, size);
    match packed {
        Packed::Zip => zip(source).map(Some),
        Packed::Tar => Ok(Some(tar(|list| {
            let mut archive = tar::Archive::new(source);
            for entry in archive.entries_with_seek()? {
                if !list.add_tar(&entry?) {
                    break;
                }
            }
            Ok(())
        }))),
        Packed::Gzip => compressed(MultiGzDecoder::new(source)),
        Packed::Zstd => {
            let decoder = StreamingDecoder::new(source).map_err(|error| damaged(&error))?;
            compressed(decoder)
        }
    }
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("it is damaged: {error}")
}

fn zip(source: impl Read + Seek) -> Result<List, String> {
    let mut archive = zip::ZipArchive::new(source).map_err(|error| damaged(&error))?;
    let mut list = List::default();
    for index in 0..archive.len() {
        let entry = match archive.by_index_raw(index) {
            Ok(entry) => entry,
            Err(error) => {
                list.note = Some(format!("entry {} of it is damaged: {error}", index + 1));
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
    let mut list = tar(|list| {
        let mut archive = tar::Archive::new(start.as_slice().chain(&mut unpacked));
        for entry in archive.entries()? {
            if !list.add_tar(&entry?) {
                break;
            }
        }
        Ok(())
    });
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
fn tar(add: impl FnOnce(&mut List) -> io::Result<()>) -> List {
    let mut list = List::default();
    if let Err(error) = add(&mut list) {
        list.more = true;
        list.note = Some(format!("the rest of it is damaged: {error}"));
    }
    list
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
