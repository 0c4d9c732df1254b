//! Files that are more than text: pictures, documents, notebooks and archives, each in its own form.

use toolhost_sdk::files::Error;

use super::format::{self, Format, Packed};
use super::image::{Bounds, Picture};
use super::opened::{self, Opened, OpenedText, other};
use super::scan::Scan;
use super::{Kind, MAX_LINES, Page, Reader, archive, image, notebook, page, pdf};
use crate::refusal::Refusal;

/// How many images of a notebook are shown with one page of it.
const MAX_IMAGES: usize = 4;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked<'r> {
    pub(super) path: &'r str,
    pub(super) offset: u64,
    pub(super) limit: u64,
    pub(super) pages: &'r pdf::Selection,
    pub(super) reader: Reader,
}

/// The file after a look at its format.
#[derive(Debug)]
#[cfg_attr(
    target_pointer_width = "64",
    expect(
        clippy::large_enum_variant,
        reason = "there is one of it at a time, and it is taken apart at once"
    )
)]
pub(super) enum Looked<'a> {
    /// It is shown in its own form.
    Shown(Page),
    /// It is text, or nothing that is known.
    Plain(Scan<'a>),
}

/// Shows a file in the form of its format, if it has one.
pub(super) fn look<'a>(scan: Scan<'a>, asked: &Asked<'_>) -> Result<Looked<'a>, Refusal> {
    match format::of(scan.start()) {
        Some(Format::Image(format)) => picture(scan, asked, format),
        Some(Format::Pdf) => document(scan, asked),
        // A script takes a notebook apart itself.
        Some(Format::Notebook) if asked.reader == Reader::Model => cells(scan, asked),
        Some(Format::Archive(packed)) => list(scan, asked, packed),
        _ => Ok(Looked::Plain(scan)),
    }
}

/// Returns what is said of a file that cannot be shown in the form of its format. A text may begin like one.
fn not_shown<'a>(scan: Scan<'a>, media_type: &str, why: &str) -> Looked<'a> {
    match opened::is_plain(scan.start()) {
        true => Looked::Plain(scan),
        false => Looked::Shown(Page {
            note: Some(format!("the file cannot be shown: {why}")),
            ..other(&scan, media_type)
        }),
    }
}

fn too_large(size: u64, most: u64) -> String {
    let most = most >> 20;
    format!(
        "the file has {size} bytes, more than {most} MiB; use execute to get what you need of it"
    )
}

fn all(scan: &Scan<'_>, asked: &Asked<'_>) -> Result<Vec<u8>, Refusal> {
    scan.whole()
        .map_err(|error: Error| Refusal::of(asked.path, error))
}

fn picture<'a>(
    scan: Scan<'a>,
    asked: &Asked<'_>,
    format: ::image::ImageFormat,
) -> Result<Looked<'a>, Refusal> {
    let media_type = format.to_mime_type();
    if scan.size() > image::MAX_FILE {
        let why = too_large(scan.size(), image::MAX_FILE);
        return Ok(not_shown(scan, media_type, &why));
    }
    let file = all(&scan, asked)?;
    Ok(match image::shown(file, format, &Bounds::of_settings()) {
        Ok(picture) => Looked::Shown(Page {
            kind: Some(Kind::Image),
            note: None,
            image: Some(picture.facts.clone()),
            images: vec![picture],
            ..other(&scan, media_type)
        }),
        Err(why) => not_shown(scan, media_type, &why),
    })
}

fn document<'a>(scan: Scan<'a>, asked: &Asked<'_>) -> Result<Looked<'a>, Refusal> {
    const PDF: &str = "application/pdf";
    if scan.size() > pdf::MAX_FILE {
        let why = too_large(scan.size(), pdf::MAX_FILE);
        return Ok(not_shown(scan, PDF, &why));
    }
    let file = all(&scan, asked)?;
    let (lines, bytes) = match (asked.reader, asked.limit) {
        (Reader::Model, 0) => (MAX_LINES, page::MAX_BYTES),
        (Reader::Model, limit) => (limit.min(MAX_LINES), page::MAX_BYTES),
        (Reader::Program, 0) => (u64::MAX, pdf::MAX_TEXT),
        (Reader::Program, limit) => (limit, pdf::MAX_TEXT),
    };
    let room = pdf::Room {
        skipped: asked.offset - 1,
        lines,
        bytes,
    };
    let read = match pdf::read(file, asked.pages, room) {
        Ok(read) => read,
        Err(why) if asked.pages.is_all() => return Ok(not_shown(scan, PDF, &why)),
        Err(why) => return Err(Refusal::report(format!("{why}: {}", asked.path))),
    };
    let mut page = rendered(scan, read.text, asked)?;
    page.kind = Some(Kind::Pdf);
    page.media_type = Some(PDF.to_owned());
    page.total_pages = Some(read.total);
    page.pages = Some(pdf::written(&read.shown));
    let next_pages = (!read.rest.is_empty()).then(|| pdf::written(&read.rest));
    if next_pages.is_some() {
        // The lines of the pages that follow are not counted.
        page.total_lines = None;
    }
    match (page.next_offset, next_pages) {
        (Some(offset), _) => {
            let note = format!(
                "these pages have more lines; to read on, call again with offset: {offset} and the same pages"
            );
            add_note(&mut page, Some(note));
        }
        (None, next_pages) => page.next_pages = next_pages,
    }
    add_note(&mut page, read.note);
    Ok(Looked::Shown(page))
}

fn cells<'a>(scan: Scan<'a>, asked: &Asked<'_>) -> Result<Looked<'a>, Refusal> {
    const NOTE: &str = "edit_files and apply_patch edit the text of the file, which encoding: \"utf-8\" shows instead of the cells";
    if scan.size() > notebook::MAX_FILE {
        return Ok(Looked::Plain(scan));
    }
    let Some(cells) = notebook::cells(&all(&scan, asked)?) else {
        return Ok(Looked::Plain(scan));
    };
    let mut page = rendered(scan, cells.text, asked)?;
    page.kind = Some(Kind::Notebook);
    page.media_type = Some("application/x-ipynb+json".to_owned());
    page.total_cells = Some(cells.total);
    let shown = asked.offset..asked.offset + page.lines_read.unwrap_or_default();
    let mut left = Bounds::of_settings();
    let mut not_shown = 0;
    for drawn in cells.images {
        if !shown.contains(&drawn.line) {
            continue;
        }
        let picture = match page.images.len() < MAX_IMAGES {
            true => image::shown(drawn.data, drawn.format, &left).ok(),
            false => None,
        };
        match picture {
            Some(picture) => {
                left = left.with_bytes(left.bytes().saturating_sub(picture.data.len()));
                page.images.push(picture);
            }
            None => not_shown += 1,
        }
    }
    add_note(&mut page, Some(NOTE.to_owned()));
    if not_shown > 0 {
        let note = format!("{not_shown} images of these cells are not shown; read fewer lines");
        add_note(&mut page, Some(note));
    }
    Ok(Looked::Shown(page))
}

fn list<'a>(scan: Scan<'a>, asked: &Asked<'_>, packed: Packed) -> Result<Looked<'a>, Refusal> {
    let media_type = match packed {
        Packed::Zip => "application/zip",
        Packed::Tar => "application/x-tar",
        Packed::Gzip => "application/gzip",
        Packed::Zstd => "application/zstd",
    };
    let listed = archive::list(scan.files(), scan.path(), scan.size(), packed);
    let list = match listed {
        Ok(Some(list)) => list,
        Ok(None) => {
            let why = "it is one compressed file; use execute to unpack it";
            return Ok(not_shown(scan, media_type, why));
        }
        Err(why) => return Ok(not_shown(scan, media_type, &why)),
    };
    let mut page = rendered(scan, list.text, asked)?;
    page.kind = Some(Kind::Archive);
    page.media_type = Some(media_type.to_owned());
    page.total_entries = (!list.more).then_some(list.entries);
    page.more_entries = list.more;
    add_note(&mut page, list.note);
    Ok(Looked::Shown(page))
}

/// Returns a page of a text that stands for a file.
fn rendered(scan: Scan<'_>, text: String, asked: &Asked<'_>) -> Result<Page, Refusal> {
    let text = OpenedText::utf8(scan.of_text(text.into_bytes()), true);
    let opened = Opened::Text(text);
    opened.read(asked.path, asked.offset, asked.limit, asked.reader)
}

fn add_note(page: &mut Page, note: Option<String>) {
    let notes: Vec<_> = page.note.take().into_iter().chain(note).collect();
    page.note = (!notes.is_empty()).then(|| notes.join("; "));
}

/// The images of a page as parts of a reply.
pub(super) fn parts(images: Vec<Picture>) -> impl Iterator<Item = toolhost_sdk::Content> {
    let part = |picture: Picture| toolhost_sdk::Content::Image {
        media_type: picture.media_type.to_owned(),
        data: picture.data,
    };
    images.into_iter().map(part)
}
