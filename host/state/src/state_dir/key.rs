//! Keys of the host in its state directory.

use std::io;

use super::StateDir;

impl StateDir {
    /// Reads the key in a file of this name, or keeps this new one there. A file that is no such key is replaced.
    ///
    /// # Errors
    ///
    /// If the new key cannot be kept.
    pub fn key<const BYTES: usize>(&self, name: &str, new: [u8; BYTES]) -> io::Result<[u8; BYTES]> {
        let read = || {
            let read = self.read(name, BYTES as u64).ok().flatten();
            read.and_then(|key| key.try_into().ok())
        };
        if let Some(key) = read() {
            return Ok(key);
        }
        if self.create(name, &new)? {
            return Ok(new);
        }
        // Another program was faster, or the file is no key.
        if let Some(key) = read() {
            return Ok(key);
        }
        self.write(name, &new)?;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_and_a_broken_one_replaced() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        let key = |new| state.key("name", new).unwrap();
        let (one, other) = ([1; 32], [2; 32]);
        assert_eq!(key(one), one);
        assert_eq!(key(other), one);
        state.write("name", b"short").unwrap();
        assert_eq!(key(other), other);
        assert_eq!(key(one), other);
    }
}
