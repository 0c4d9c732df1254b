//! The part of the filter that decides by the number of a call alone.
//!
//! For each command, the kernel compiles the filter and runs it once for every number, to learn which calls are always allowed. So this
//! part must be short: adjacent numbers form one range, and a binary search finds the range.

use nix::libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ERRNO,
};
use seccompiler::{BpfProgram, sock_filter};

/// The most ranges that are compared one by one.
const FEW: usize = 3;

/// A range of numbers: the first and the last.
type Range = (u32, u32);

/// Returns the instruction that loads the number of the call, for the instructions of the other functions.
pub(super) fn load() -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0)
}

/// Returns instructions that make calls fail whose number has this bit (`BPF_JSET`) or this value (`BPF_JEQ`).
pub(super) fn fail_if(test: u32, value: u32, errno: i32) -> [sock_filter; 2] {
    [jump(test, value, 0, 1), fail(errno)]
}

/// Returns instructions that make these calls fail. For all other calls, execution continues after the last instruction.
pub(super) fn fail_each(calls: impl IntoIterator<Item = i64>, errno: i32) -> BpfProgram {
    let mut numbers: Vec<_> = calls
        .into_iter()
        .filter_map(|call| u32::try_from(call).ok())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut ranges: Vec<Range> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    search(&ranges, errno)
}

fn search(ranges: &[Range], errno: i32) -> BpfProgram {
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let lower = || search(low, errno);
    match high.first() {
        Some((middle, _)) if ranges.len() > FEW => {
            let (lower, higher) = (lower(), search(high, errno));
            let over = instruction(BPF_JMP | BPF_JA, 0, 0, length(&higher));
            // This jump skips the lower half and the jump at its end. A conditional jump may not reach that far.
            let to_higher = instruction(BPF_JMP | BPF_JA, 0, 0, length(&lower) + 1);
            let split = [jump(BPF_JGE, *middle, 0, 1), to_higher];
            [&split[..], &lower, &[over], &higher].concat()
        }
        _ => ranges.iter().flat_map(|range| one(*range, errno)).collect(),
    }
}

fn one((first, last): Range, errno: i32) -> BpfProgram {
    if first == last {
        return fail_if(BPF_JEQ, first, errno).to_vec();
    }
    vec![
        jump(BPF_JGE, first, 0, 2),
        jump(BPF_JGT, last, 1, 0),
        fail(errno),
    ]
}

fn length(program: &BpfProgram) -> u32 {
    // A program has 4,096 instructions at most.
    u32::try_from(program.len()).unwrap_or(u32::MAX)
}

fn fail(errno: i32) -> sock_filter {
    instruction(
        BPF_RET | BPF_K,
        0,
        0,
        SECCOMP_RET_ERRNO | errno.unsigned_abs(),
    )
}

/// Returns a conditional jump that skips `holds` instructions if the test holds, and `fails` otherwise.
fn jump(test: u32, value: u32, holds: u8, fails: u8) -> sock_filter {
    instruction(BPF_JMP | test | BPF_K, holds, fails, value)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter {
        // The codes have 16 bits.
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a program on a number, and returns the code with which it ends; `None` if it does not end there.
    fn run(program: &[sock_filter], number: u32) -> Option<u32> {
        let mut at = 0;
        while let Some(instruction) = program.get(at) {
            let (code, value) = (u32::from(instruction.code), instruction.k);
            let holds = match code {
                code if code == BPF_RET | BPF_K => return Some(value),
                code if code == BPF_JMP | BPF_JA => {
                    at += 1 + value as usize;
                    continue;
                }
                code if code == BPF_JMP | BPF_JEQ | BPF_K => number == value,
                code if code == BPF_JMP | BPF_JGE | BPF_K => number >= value,
                code if code == BPF_JMP | BPF_JGT | BPF_K => number > value,
                code => panic!("{code}"),
            };
            at += 1 + usize::from(if holds {
                instruction.jt
            } else {
                instruction.jf
            });
        }
        // No jump may go beyond the end of the program.
        assert_eq!(at, program.len());
        None
    }

    proptest! {
        #[test]
        fn exactly_the_listed_calls_fail(calls in prop::collection::vec(0..600_i64, 0..200)) {
            let program = fail_each(calls.clone(), 1);
            for number in 0..=601 {
                let expected = calls.contains(&number).then_some(SECCOMP_RET_ERRNO | 1);
                prop_assert_eq!(run(&program, u32::try_from(number).unwrap()), expected, "{}", number);
            }
        }
    }
}
