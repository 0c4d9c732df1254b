//! The numbers of nested calls. A call that runs again after a crash gives each call the number that the earlier run gave it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use toolhost_call::call::{NestedCall, NestedRecord};

/// The numbers that are taken, and those of earlier runs that this run has not asked for yet.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The numbers of calls with the same tool and arguments, the lowest first.
    unmatched: BTreeMap<[u8; 32], VecDeque<u32>>,
    /// The numbers that were cancelled before they were taken.
    cancelled: BTreeSet<u32>,
    /// The first of the records that are damaged.
    damaged: Option<u32>,
    last: u32,
}

impl Numbers {
    /// Makes the numbers of a call that has made these calls so far.
    pub(super) fn new(made: &[NestedCall]) -> Self {
        let mut numbers = Self::default();
        for call in made {
            match call.record {
                NestedRecord::Begun(digest) => {
                    let same = numbers.unmatched.entry(digest).or_default();
                    same.push_back(call.number);
                }
                NestedRecord::Tombstone => {
                    numbers.cancelled.insert(call.number);
                    continue;
                }
                NestedRecord::Damaged => numbers.damaged = numbers.damaged.or(Some(call.number)),
            }
            numbers.last = numbers.last.max(call.number);
        }
        numbers
    }

    /// Returns the number of the next call with this digest: that of an earlier run, or else a new one.
    ///
    /// # Errors
    ///
    /// The number of a damaged record, which may be of a call with this digest.
    pub(super) fn take(&mut self, digest: &[u8; 32]) -> Result<u32, u32> {
        if let Some(number) = self.unmatched.get_mut(digest).and_then(VecDeque::pop_front) {
            return Ok(number);
        }
        if let Some(number) = self.damaged {
            return Err(number);
        }
        self.last += 1;
        while self.cancelled.contains(&self.last) {
            self.last += 1;
        }
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(number: u32, digest: u8) -> NestedCall {
        let record = NestedRecord::Begun([digest; 32]);
        NestedCall { number, record }
    }

    #[test]
    fn equal_calls_get_the_numbers_of_the_earlier_run_in_its_order() {
        let mut numbers = Numbers::new(&[begun(1, 7), begun(2, 8), begun(4, 7)]);
        let mut take = |digest: u8| numbers.take(&[digest; 32]);
        assert_eq!(
            [take(8), take(7), take(7), take(7), take(8), take(9)],
            [Ok(2), Ok(1), Ok(4), Ok(5), Ok(6), Ok(7)]
        );
    }

    #[test]
    fn numbers_that_were_cancelled_are_skipped() {
        let tombstone = |number| NestedCall {
            number,
            record: NestedRecord::Tombstone,
        };
        let mut numbers = Numbers::new(&[tombstone(1), begun(2, 1), tombstone(3), tombstone(999)]);
        assert_eq!(numbers.take(&[0; 32]), Ok(4));
        assert_eq!(numbers.take(&[0; 32]), Ok(5));
    }

    #[test]
    fn no_new_call_begins_while_a_record_is_damaged() {
        let damaged = NestedCall {
            number: 2,
            record: NestedRecord::Damaged,
        };
        let mut numbers = Numbers::new(&[begun(1, 1), damaged]);
        assert_eq!(numbers.take(&[1; 32]), Ok(1));
        assert_eq!(numbers.take(&[1; 32]), Err(2));
    }
}
