//! Output of processes on standard output: the bytes as they are, or as JSON.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use super::remote::Piece;
use toolhost_service::stderr;

/// A writer of the output of one process.
pub(super) struct Writer {
    process: String,
    json: bool,
}

impl Writer {
    pub(super) fn new(process: &str, json: bool) -> Self {
        let process = process.to_owned();
        Self { process, json }
    }

    /// Writes a piece, and returns whether anything reads standard output.
    pub(super) fn write(&mut self, piece: &Piece) -> anyhow::Result<bool> {
        let process = &self.process;
        match (piece, self.json) {
            (Piece::Output(_, bytes), false) => write(bytes),
            (Piece::Gap(_, length), false) => {
                stderr::line(format_args!("toolhost: {length} bytes are no longer kept"));
                Ok(true)
            }
            (Piece::Output(offset, bytes), true) => {
                let (key, text) = match std::str::from_utf8(bytes) {
                    Ok(text) => ("text", text.to_owned()),
                    Err(_) => ("base64", STANDARD.encode(bytes)),
                };
                let mut line =
                    json!({ "process": process, "offset": offset, "length": bytes.len() });
                if let Some(fields) = line.as_object_mut() {
                    fields.insert(key.to_owned(), text.into());
                }
                write(format!("{line}\n").as_bytes())
            }
            (Piece::Gap(offset, length), true) => {
                let line =
                    json!({ "process": process, "offset": offset, "length": length, "gap": true });
                write(format!("{line}\n").as_bytes())
            }
        }
    }
}

/// How often a program that writes seldom looks whether anything reads standard output.
const LOOK: Duration = Duration::from_millis(250);

/// Waits until the reader of standard output is gone.
pub(super) async fn closed() {
    let stdout = io::stdout();
    loop {
        // A pipe whose reader is gone has an error, whatever is asked for.
        let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
        let looked = poll(&mut polled, PollTimeout::ZERO);
        let [polled] = polled;
        let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
        if looked.is_ok()
            && polled
                .revents()
                .is_some_and(|events| events.intersects(gone))
        {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Writes bytes to standard output. Returns `false` if its reader is gone.
pub(super) fn write(bytes: &[u8]) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write to standard output"),
    }
}
