//! The content of a zstd file: all of its frames, one behind the other.

use std::io::{self, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The frames of a stream, unpacked.
pub(super) struct Frames<R> {
    decoder: FrameDecoder,
    source: R,
    has_frame: bool,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            decoder: FrameDecoder::new(),
            source,
            has_frame: false,
        }
    }

    /// Goes to the next frame with data. Returns whether there is one.
    fn next(&mut self) -> io::Result<bool> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        loop {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.has_frame = true;
                    return Ok(true);
                }
                Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(Header(ReadFrameHeaderError::MagicNumberReadError(error)))
                    if error.kind() == io::ErrorKind::UnexpectedEof && self.has_frame =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            if !self.has_frame || self.decoder.is_finished() {
                if !self.next()? {
                    return Ok(0);
                }
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut self.source, one);
            decoded.map_err(io::Error::other)?;
        }
        self.decoder.read(to)
    }
}
