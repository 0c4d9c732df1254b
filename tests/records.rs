//! Output and records: every byte is where its cursor says, or named as gone, and what is kept outlives the host.

mod ageing;
mod crash;
mod cursors;
mod disk_full;
mod keys;
mod late;
mod opening;
mod overlaps;
mod restart;
mod served;
mod sizes;

use std::ops::Range;
use std::path::Path;

use proptest::test_runner::Config as Cases;
use toolhost_local::process::Process;

use crate::harness::processes::{
    TestRegistry, chat, config, finished, gone, kept, long, open_kept, sh, temporary,
};

/// Reads everything that can be read from the start on, as far as there is no gap.
async fn read_all(process: &Process) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let chunk = process.read(all.len() as u64, 1 << 20).await;
        if chunk.data.is_empty() || chunk.offset > all.len() as u64 {
            return all;
        }
        all.extend(chunk.data);
    }
}

/// The bytes of a stretch of an output in which every eight bytes tell where they are.
fn pattern(range: Range<u64>) -> Vec<u8> {
    let words = range.start / 8..range.end.div_ceil(8);
    let bytes: Vec<u8> = words
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
        .collect();
    let skipped = usize::try_from(range.start % 8).unwrap();
    let length = usize::try_from(range.end - range.start).unwrap();
    bytes[skipped..skipped + length].to_vec()
}

/// So many cases, without a file of failed ones: each starts real processes.
pub(crate) fn cases(count: u32) -> Cases {
    Cases {
        failure_persistence: None,
        max_shrink_iters: 64,
        ..Cases::with_cases(count)
    }
}

/// How many bytes of output are on the disk, in a state directory.
pub(crate) fn saved_in(state: &Path) -> u64 {
    let chats = std::fs::read_dir(state.join("output"))
        .into_iter()
        .flatten();
    let files = chats.flat_map(|chat| std::fs::read_dir(chat.unwrap().path()).unwrap());
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}
