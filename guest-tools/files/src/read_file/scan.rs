//! A file line by line, of which only the starts of lines are ever in memory.

use toolhost_sdk::files::{Error, Files};

/// How much is read at once.
const STEP: u32 = 256 << 10;

/// From here on, the end of a line is looked for by the host.
const LONG: u64 = 64 << 10;

/// A file that is read, or the text of one.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    files: &'a dyn Files,
    path: &'a str,
    /// How many bytes are scanned.
    size: u64,
    /// The size of the file, if the buffer has all of its text in another encoding.
    of_file: Option<u64>,
    version: String,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    begin: u64,
    /// How much of the buffer has been gone over.
    used: usize,
}

/// A line, or the start of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its first bytes, without the line feed.
    pub(super) start: Vec<u8>,
    /// How many bytes it has, without the line feed.
    pub(super) length: u64,
}

impl<'a> Scan<'a> {
    pub(super) fn begin(files: &'a dyn Files, path: &'a str) -> Result<Self, Error> {
        let chunk = files.read(path, 0, STEP)?;
        Ok(Self {
            files,
            path,
            size: chunk.size,
            of_file: None,
            // That of the first bytes: what changes while the rest is read makes a write with it fail.
            version: chunk.version,
            buffer: chunk.data,
            begin: 0,
            used: 0,
        })
    }

    /// Scans this text, which is all that the file has, in its place.
    pub(super) fn of_text(self, text: Vec<u8>) -> Self {
        Self {
            of_file: Some(self.size),
            size: text.len() as u64,
            buffer: text,
            begin: 0,
            used: 0,
            ..self
        }
    }

    pub(super) fn files(&self) -> &'a dyn Files {
        self.files
    }

    pub(super) fn path(&self) -> &'a str {
        self.path
    }

    /// Returns all bytes of a file that has at most this many. Only before anything else is done.
    pub(super) fn all(&self, most: u32) -> Result<Vec<u8>, Error> {
        if self.size <= self.buffer.len() as u64 {
            return Ok(self.buffer.clone());
        }
        Ok(self.files.read(self.path, 0, most)?.data)
    }

    /// Returns all bytes of a file of any size. Only before anything else is done.
    pub(super) fn whole(&self) -> Result<Vec<u8>, Error> {
        /// The most that the host reads at once.
        const MOST: u32 = 4 << 20;
        if self.size <= u64::from(MOST) {
            return self.all(MOST);
        }
        let mut data = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        while (data.len() as u64) < self.size {
            let chunk = self.files.read(self.path, data.len() as u64, MOST)?;
            if chunk.version != self.version || chunk.data.is_empty() {
                return Err(Error::Changed(
                    "the file changed while it was read".to_owned(),
                ));
            }
            data.extend(chunk.data);
        }
        Ok(data)
    }

    /// Returns the bytes that the file begins with. Only before anything else is done.
    pub(super) fn start(&self) -> &[u8] {
        &self.buffer
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the size of the file in bytes, whatever its encoding.
    pub(super) fn file_size(&self) -> u64 {
        self.of_file.unwrap_or(self.size)
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Returns where the next line begins.
    pub(super) fn position(&self) -> u64 {
        self.begin + self.used as u64
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position() >= self.size
    }

    /// Goes over a number of lines. Returns how many line feeds there were.
    pub(super) fn skip(&mut self, lines: u64) -> Result<u64, Error> {
        if self.of_file.is_some() {
            return Ok(self.skip_in_buffer(lines));
        }
        let skipped = self.files.skip_lines(self.path, self.position(), lines)?;
        self.go_to(skipped.offset);
        Ok(skipped.lines)
    }

    fn skip_in_buffer(&mut self, lines: u64) -> u64 {
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', rest).zip(1..=lines);
        let (last, count) = ends.last().unzip();
        let is_all = count.unwrap_or_default() < lines;
        self.used += match last {
            Some(last) if !is_all => last + 1,
            _ => rest.len(),
        };
        count.unwrap_or_default()
    }

    /// Returns the next line, of which the start is at least `most` bytes if it has as many; `None` at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<Line>, Error> {
        let mut line = Line {
            start: Vec::new(),
            length: 0,
        };
        let mut any = false;
        loop {
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            if rest.is_empty() {
                if !self.fill()? {
                    return Ok(any.then_some(line));
                }
                continue;
            }
            any = true;
            let end = memchr::memchr(b'\n', rest);
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let room = most.saturating_sub(line.start.len());
            line.start.extend(part.iter().take(room));
            line.length += part.len() as u64;
            self.used += part.len() + usize::from(end.is_some());
            if end.is_some() {
                return Ok(Some(line));
            }
            if line.length > LONG {
                let before = self.position();
                let ended = self.skip(1)?;
                line.length += (self.position() - before).saturating_sub(ended);
                return Ok(Some(line));
            }
        }
    }

    /// Returns the bytes from one place to another, as far as there are any.
    pub(super) fn bytes(&self, start: u64, end: u64) -> Result<Vec<u8>, Error> {
        if self.of_file.is_some() {
            let place = |at: u64| {
                usize::try_from(at)
                    .unwrap_or(usize::MAX)
                    .min(self.buffer.len())
            };
            let range = place(start)..place(end);
            return Ok(self.buffer.get(range).unwrap_or_default().to_vec());
        }
        let mut bytes = Vec::new();
        while start + (bytes.len() as u64) < end {
            let at = start + bytes.len() as u64;
            let length = u32::try_from(end - at).unwrap_or(STEP).min(STEP);
            let chunk = self.files.read(self.path, at, length)?;
            if chunk.data.is_empty() {
                break;
            }
            bytes.extend(chunk.data);
        }
        Ok(bytes)
    }

    /// Returns how many lines there are from here on.
    pub(super) fn count_rest(&mut self) -> Result<u64, Error> {
        if self.is_at_end() {
            return Ok(0);
        }
        let feeds = self.skip(u64::MAX)?;
        Ok(feeds + u64::from(self.last()?.is_some_and(|last| last != b'\n')))
    }

    /// Returns the last byte of the file.
    pub(super) fn last(&self) -> Result<Option<u8>, Error> {
        if self.of_file.is_some() {
            return Ok(self.buffer.last().copied());
        }
        let last = self.size.saturating_sub(1);
        Ok(self.files.read(self.path, last, 1)?.data.first().copied())
    }

    pub(super) fn go_to(&mut self, position: u64) {
        let within = position.checked_sub(self.begin);
        match within.and_then(|within| usize::try_from(within).ok()) {
            Some(within) if within <= self.buffer.len() => self.used = within,
            _ => (self.begin, self.used, self.buffer) = (position, 0, Vec::new()),
        }
    }

    /// Reads what follows the buffer. Returns whether there is anything.
    fn fill(&mut self) -> Result<bool, Error> {
        let position = self.position();
        if position >= self.size {
            return Ok(false);
        }
        let chunk = self.files.read(self.path, position, STEP)?;
        (self.begin, self.used, self.buffer) = (position, 0, chunk.data);
        Ok(!self.buffer.is_empty())
    }
}
