//! Standard output and error of a guest: line by line to the operator's log, never to a stream that speaks a protocol.

use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::line_log::LineLog;

/// How much of an unfinished line is held before it is written as it is.
const MAX_PARTIAL: usize = 4096;

/// The most bytes that `check_write` lets a guest write at once.
const PERMIT: usize = 64 * 1024;

/// One of the two streams of a guest.
#[derive(Clone, Debug)]
pub(super) struct GuestOutput {
    log: LineLog,
    is_error: bool,
}

/// An open handle to the stream, with the line that it has not finished.
#[derive(Debug)]
struct Lines {
    output: GuestOutput,
    partial: Vec<u8>,
}

impl GuestOutput {
    /// Makes standard output, each line of which is logged at once.
    pub(super) fn output(log: LineLog) -> Self {
        let is_error = false;
        Self { log, is_error }
    }

    /// Makes standard error, the last lines of which the log holds back.
    pub(super) fn error(log: LineLog) -> Self {
        let is_error = true;
        Self { log, is_error }
    }
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(at);
            self.partial.extend_from_slice(line);
            self.finish();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > MAX_PARTIAL {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let line = std::mem::take(&mut self.partial);
        let (log, text) = (&self.output.log, String::from_utf8_lossy(&line));
        match self.output.is_error {
            true => log.hold(&text),
            false => log.line(Level::INFO, &text),
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.partial.is_empty() {
            self.finish();
        }
    }
}

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestOutput {
    /// WASI 0.2 asks for `p2_stream` alone.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Lines {
            output: self.clone(),
            partial: Vec::new(),
        })
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}
