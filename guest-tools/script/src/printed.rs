//! The output of a script.

use toolhost_view::{CAP, Windows};

/// How many bytes are kept of the beginning, and at least how many of the end. The middle of what a model reads is cut out long before.
const KEPT: usize = 4 * CAP;

/// The ends of what a script has printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl Printed {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: &str) {
        for bytes in [line.as_bytes(), b"\n"] {
            self.total += bytes.len() as u64;
            let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
            let (head, tail) = bytes.split_at(room);
            self.head.extend(head);
            self.tail.extend(tail);
        }
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// Returns the ends of what was printed.
    pub(crate) fn windows(&self) -> Windows<'_> {
        Windows {
            head: &self.head,
            tail: &self.tail,
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept() {
        let mut printed = Printed::default();
        for line in 0..100_000 {
            printed.add(&format!("line {line}"));
        }
        let windows = printed.windows();
        assert!(windows.head.starts_with(b"line 0\n"));
        assert!(windows.tail.ends_with(b"line 99999\n"));
        assert!(windows.tail.len() <= 2 * KEPT && windows.head.len() == KEPT);
        let all: u64 = (0..100_000_u64)
            .map(|line| format!("line {line}\n").len() as u64)
            .sum();
        assert_eq!(windows.total, all);
    }
}
