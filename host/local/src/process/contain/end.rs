//! The end of a kept command: a file that its supervisor writes, and a later host reads. Its form is the same in all versions.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::SystemTime;

use super::values::Exit;
use super::wire::Frame;

/// The most bytes of the file that are read.
const MOST: u64 = 256;

/// The end of a kept command, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) struct End {
    /// How its shell ended; `None` if it had not ended, or that is not known.
    pub(in crate::process) exit: Option<Exit>,
    /// Whether nothing of the command was left.
    pub(in crate::process) gone: bool,
    /// When the last of it became known.
    pub(in crate::process) at: SystemTime,
}

/// The file, as the supervisor has it.
#[derive(Debug)]
pub(super) struct EndFile(File);

impl EndFile {
    pub(super) fn new(file: impl Into<File>) -> Self {
        Self(file.into())
    }

    /// Adds to the end. A disk that is full takes nothing; then only a host that is there learns of the end.
    pub(super) fn add(&mut self, frames: &[Frame]) {
        let lines: String = frames.iter().copied().filter_map(line).collect();
        _ = self.0.write_all(lines.as_bytes());
    }
}

fn line(frame: Frame) -> Option<String> {
    match frame {
        Frame::Exited { code } => Some(format!("exited {code}\n")),
        Frame::Signalled { signal } => Some(format!("signalled {signal}\n")),
        Frame::Gone => Some("gone\n".to_owned()),
        _ => None,
    }
}

impl End {
    /// Reads the file.
    pub(super) fn read(file: File) -> io::Result<Self> {
        let at = file.metadata()?.modified()?;
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text)?;
        let mut end = Self {
            exit: None,
            gone: false,
            at,
        };
        for line in text.lines() {
            let (kind, number) = line.split_once(' ').unwrap_or((line, ""));
            match (kind, number.parse()) {
                ("exited", Ok(code)) => end.exit = Some(Exit::Code(code)),
                ("signalled", Ok(signal)) => end.exit = Some(Exit::Signal(signal)),
                ("gone", _) => end.gone = true,
                _ => {}
            }
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek as _;

    use super::*;

    fn end(frames: &[Frame]) -> (Option<Exit>, bool) {
        let mut file = tempfile::tempfile().unwrap();
        EndFile::new(file.try_clone().unwrap()).add(frames);
        file.rewind().unwrap();
        let end = End::read(file).unwrap();
        (end.exit, end.gone)
    }

    #[test]
    fn it_reads_back() {
        assert_eq!(end(&[]), (None, false));
        let exited = Frame::Exited { code: 3 };
        assert_eq!(end(&[exited]), (Some(Exit::Code(3)), false));
        let signalled = Frame::Signalled { signal: 64 };
        assert_eq!(
            end(&[signalled, Frame::Gone]),
            (Some(Exit::Signal(64)), true)
        );
    }
}
