//! The files of the page, which the build script compresses.

use std::io::{Read as _, Result};

use flate2::read::GzDecoder;

mod table {
    include!(concat!(env!("OUT_DIR"), "/files.rs"));
}

pub(crate) use table::VERSION;

/// The name of the file that browsers ask for first.
pub(crate) const INDEX: &str = "index.html";

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// Its path below `page/`.
    pub(crate) name: &'static str,
    /// Its content, compressed with gzip.
    pub(crate) compressed: &'static [u8],
}

impl File {
    /// Returns all files.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let files = table::FILES.iter();
        files.map(|&(name, compressed)| Self { name, compressed })
    }

    /// Returns the file with this path below `page/`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::all().find(|file| file.name == name)
    }

    /// Returns the content as it was before it was compressed.
    ///
    /// # Errors
    ///
    /// If the program is damaged.
    pub(crate) fn content(self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        GzDecoder::new(self.compressed).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/plain; charset=utf-8",
        }
    }
}
