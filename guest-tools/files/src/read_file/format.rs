//! Formats of files that are more than text, told by their first bytes.

use memchr::memmem;

/// A format that is shown otherwise than as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A picture.
    Image(image::ImageFormat),
    /// A document in pages.
    Pdf,
    /// A notebook of Jupyter, perhaps: only all of it tells.
    Notebook,
    /// A list of files.
    Archive(Packed),
}

/// The form of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    Zip,
    Tar,
    Gzip,
    Zstd,
}

/// Returns the format that a file with this beginning has.
pub(super) fn of(start: &[u8]) -> Option<Format> {
    use image::ImageFormat::{Gif, Jpeg, Png, WebP};
    Some(match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Format::Image(Png),
        [0xff, 0xd8, 0xff, ..] => Format::Image(Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Format::Image(Gif),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Format::Image(WebP),
        [b'%', b'P', b'D', b'F', b'-', ..] => Format::Pdf,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Archive(Packed::Zip),
        [0x1f, 0x8b, 8, ..] => Format::Archive(Packed::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Archive(Packed::Zstd),
        start if is_tar(start) => Format::Archive(Packed::Tar),
        start if is_json_with_cells(start) => Format::Notebook,
        _ => return None,
    })
}

/// Returns whether these bytes begin with the header of a tar archive of POSIX or GNU.
pub(super) fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar") && start.len() >= 512
}

fn is_json_with_cells(start: &[u8]) -> bool {
    start.trim_ascii_start().starts_with(b"{") && memmem::find(start, b"\"cells\"").is_some()
}
