//! Writing files, with a line of the audit trail for each.

use toolhost_call::audit::{Trail, Use};
use toolhost_local::files::Files;
use toolhost_workspace::files::{Error, Write};

/// Writes all files or none, and records it: here, where no client that goes away prevents it. The error names the index of
/// the one that failed.
pub(super) fn all(files: &Files, writes: Vec<Write>, trail: &Trail) -> Result<(), (usize, Error)> {
    let asked = |write: &Write| {
        let (size, content) = (write.data.len() as u64, blake3::hash(&write.data));
        (write.path.clone(), size, content)
    };
    let asked: Vec<_> = writes.iter().map(asked).collect();
    let written = files.write_all(writes);
    let certain = match &written {
        Ok(_) => true,
        Err((_, Error::UnknownOutcome(_))) => false,
        Err(_) => return written.map(drop),
    };
    let mut real = written.iter().flatten();
    for (path, size, content) in asked {
        let real = real.next().map(|found| found.path.to_string_lossy().into());
        trail.record(&Use::FileWrite {
            path: real.unwrap_or(path),
            size,
            content,
            certain,
        });
    }
    written.map(drop)
}
