//! The memory of the answers of all agents together, while they are read.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of all answers.
const ALL: usize = 128 << 20;

/// The bytes of each answer that are not counted: an agent that sends much does not keep short answers of others away.
const FREE: usize = 64 << 10;

/// The unit in which the bytes are counted.
const UNIT: usize = 4 << 10;

/// The memory for the answers of agents. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Semaphore>);

/// An answer that is being read. It gives its memory back when it is dropped.
#[derive(Debug)]
pub(crate) struct Received {
    budget: Budget,
    most: usize,
    pub(crate) bytes: BytesMut,
    held: Option<OwnedSemaphorePermit>,
}

/// A piece of an answer that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMuch {
    /// The answer is longer than the reply to its request can be.
    #[error("has more than {0} bytes, which no right one has")]
    Long(usize),
    /// There is no memory left for it.
    #[error("does not fit: the answers of all agents have {} MiB of memory together; try again", ALL >> 20)]
    Full,
}

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL / UNIT)))
    }
}

impl Budget {
    /// Begins an answer of at most this many bytes.
    pub(crate) fn begin(&self, most: usize) -> Received {
        Received {
            budget: self.clone(),
            most,
            bytes: BytesMut::new(),
            held: None,
        }
    }
}

impl Received {
    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(), TooMuch> {
        let length = self.bytes.len() + piece.len();
        if length > self.most {
            return Err(TooMuch::Long(self.most));
        }
        let needed = length.saturating_sub(FREE).div_ceil(UNIT);
        let held = self
            .held
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        if let Some(more) = needed.checked_sub(held).filter(|more| *more > 0) {
            let semaphore = Arc::clone(&self.budget.0);
            let more = u32::try_from(more).map_err(|_| TooMuch::Full)?;
            let more = semaphore.try_acquire_many_owned(more);
            let more = more.map_err(|_| TooMuch::Full)?;
            match &mut self.held {
                Some(held) => held.merge(more),
                None => self.held = Some(more),
            }
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_share_what_is_beyond_their_first_bytes() {
        let budget = Budget::default();
        let half = vec![0; ALL / 2];
        let mut one = budget.begin(usize::MAX);
        one.add(&half).unwrap();
        let mut other = budget.begin(usize::MAX);
        other.add(&half).unwrap();
        assert_eq!(other.add(&half), Err(TooMuch::Full));
        let mut short = budget.begin(usize::MAX);
        short.add(&half[..FREE]).unwrap();
        assert_eq!(short.add(&half), Err(TooMuch::Full));
        drop(one);
        short.add(&half[FREE..]).unwrap();
        assert_eq!(short.bytes.len(), ALL / 2);
    }

    #[test]
    fn an_answer_is_no_longer_than_its_request_allows() {
        let mut answer = Budget::default().begin(10);
        answer.add(&[0; 10]).unwrap();
        assert_eq!(answer.add(&[0]), Err(TooMuch::Long(10)));
        assert_eq!(answer.bytes.len(), 10);
    }
}
