//! The encoding of a view, for another process.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{NetworkAccess, Shown, Step, View};

/// The version of the encoding.
const VERSION: u8 = 5;

impl View {
    /// Encodes the view for [`View::decode`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let network = match self.network {
            NetworkAccess::Open => 0,
            NetworkAccess::None => 1,
            NetworkAccess::Proxy => 2,
        };
        let mut bytes = vec![VERSION, network];
        for Step { path, shown } in &self.steps {
            let (kind, paths) = match shown {
                Shown::Nothing => (0, vec![]),
                Shown::Files { of, writable } => (1 + u8::from(*writable), vec![of]),
                Shown::Processes => (3, vec![]),
                Shown::Memory => (4, vec![]),
                Shown::Terminals => (5, vec![]),
                Shown::Directory => (6, vec![]),
                Shown::Link { to } => (7, vec![to]),
                Shown::Copies { of } => (9, vec![of]),
                Shown::Socket { of } => (10, vec![of]),
                Shown::Layer { of } => (8, vec![of]),
                Shown::Itself => (11, vec![]),
            };
            bytes.push(kind);
            let paths = std::iter::once(path).chain(paths);
            paths.for_each(|path| push(&mut bytes, path));
        }
        bytes
    }

    /// Decodes the bytes that [`View::encode`] wrote.
    ///
    /// # Errors
    ///
    /// If the bytes have another version, or end too early.
    pub fn decode(bytes: &[u8]) -> io::Result<Self> {
        let (&[VERSION, network], rest) = bytes.split_first_chunk().ok_or_else(invalid)? else {
            return Err(invalid());
        };
        let mut rest = Paths(rest);
        let mut steps = Vec::new();
        while let Some((kind, after)) = rest.0.split_first() {
            rest.0 = after;
            let path = rest.one()?;
            let shown = match kind {
                0 => Shown::Nothing,
                1 | 2 => Shown::Files {
                    of: rest.one()?,
                    writable: *kind == 2,
                },
                3 => Shown::Processes,
                4 => Shown::Memory,
                5 => Shown::Terminals,
                6 => Shown::Directory,
                7 => Shown::Link { to: rest.one()? },
                9 => Shown::Copies { of: rest.one()? },
                10 => Shown::Socket { of: rest.one()? },
                8 => Shown::Layer { of: rest.one()? },
                11 => Shown::Itself,
                _ => return Err(invalid()),
            };
            steps.push(Step { path, shown });
        }
        let network = match network {
            0 => NetworkAccess::Open,
            1 => NetworkAccess::None,
            2 => NetworkAccess::Proxy,
            _ => return Err(invalid()),
        };
        Ok(Self { steps, network })
    }
}

/// Adds a path to the bytes.
pub(super) fn push(bytes: &mut Vec<u8>, path: &Path) {
    bytes.extend(path.as_os_str().as_bytes());
    // A NUL byte ends the path, because no path contains one.
    bytes.push(0);
}

/// Bytes that begin with paths.
pub(super) struct Paths<'a>(pub(super) &'a [u8]);

impl Paths<'_> {
    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a path.
    pub(super) fn one(&mut self) -> io::Result<PathBuf> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let (path, rest) = end
            .and_then(|end| self.0.split_at_checked(end))
            .ok_or_else(invalid)?;
        self.0 = rest.get(1..).unwrap_or_default();
        Ok(OsStr::from_bytes(path).into())
    }

    /// Takes paths up to an empty one.
    pub(super) fn list(&mut self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        loop {
            match self.one()? {
                end if end.as_os_str().is_empty() => return Ok(paths),
                path => paths.push(path),
            }
        }
    }
}

pub(super) fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the view of the sandbox is damaged or has another version",
    )
}
