//! The encoding of a view, for another process.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{NetworkAccess, Shown, Step, View};
use crate::home::Layer;

/// The version of the encoding.
const VERSION: u8 = 3;

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
        let end = PathBuf::new();
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
                Shown::Layers {
                    layer: Layer { lower, upper, work },
                } => {
                    // An empty path ends the list: no path is empty.
                    let ends = [upper, work].into_iter();
                    (8, lower.iter().chain([&end]).chain(ends).collect())
                }
            };
            bytes.push(kind);
            for path in std::iter::once(path).chain(paths) {
                bytes.extend(path.as_os_str().as_bytes());
                // A NUL byte ends the path, because no path contains one.
                bytes.push(0);
            }
        }
        bytes
    }

    /// Decodes the bytes that [`View::encode`] wrote.
    ///
    /// # Errors
    ///
    /// If the bytes have another version, or end too early.
    pub fn decode(bytes: &[u8]) -> io::Result<Self> {
        let (&[VERSION, network], mut rest) = bytes.split_first_chunk().ok_or_else(invalid)? else {
            return Err(invalid());
        };
        let mut steps = Vec::new();
        while let Some((kind, after)) = rest.split_first() {
            rest = after;
            let path = path(&mut rest)?;
            let shown = match kind {
                0 => Shown::Nothing,
                1 | 2 => Shown::Files {
                    of: self::path(&mut rest)?,
                    writable: *kind == 2,
                },
                3 => Shown::Processes,
                4 => Shown::Memory,
                5 => Shown::Terminals,
                6 => Shown::Directory,
                7 => Shown::Link {
                    to: self::path(&mut rest)?,
                },
                9 => Shown::Copies {
                    of: self::path(&mut rest)?,
                },
                10 => Shown::Socket {
                    of: self::path(&mut rest)?,
                },
                8 => Shown::Layers {
                    layer: Layer {
                        lower: paths(&mut rest)?,
                        upper: self::path(&mut rest)?,
                        work: self::path(&mut rest)?,
                    },
                },
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

/// Takes paths up to an empty one from the beginning of the bytes.
fn paths(bytes: &mut &[u8]) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    loop {
        match path(bytes)? {
            end if end.as_os_str().is_empty() => return Ok(paths),
            path => paths.push(path),
        }
    }
}

/// Takes a path from the beginning of the bytes.
fn path(bytes: &mut &[u8]) -> io::Result<PathBuf> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (path, rest) = end
        .and_then(|end| bytes.split_at_checked(end))
        .ok_or_else(invalid)?;
    *bytes = rest.get(1..).unwrap_or_default();
    Ok(OsStr::from_bytes(path).into())
}

fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the view of the sandbox is damaged or has another version",
    )
}
