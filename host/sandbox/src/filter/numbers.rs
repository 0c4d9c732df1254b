//! The part of the filter that decides by the number of a call alone.
//!
//! For each command, the kernel runs the filter once for every number, to learn which calls are always allowed. That takes longer than all
//! other steps into the sandbox, so the way through the program must be short: a binary search over ranges of numbers.

use std::collections::BTreeMap;

use nix::libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, ENOSYS,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
};
use seccompiler::{BpfProgram, sock_filter};

/// The offsets of the number and of the architecture in the data of a call.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The verdict of the filter on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// The call fails with this error.
    Fail(i32),
    /// The instructions after this part decide.
    Check,
}

/// Returns the program that decides about calls of this architecture. Calls that are not listed are allowed. The instructions after the
/// program decide about those of other architectures, whose numbers mean other calls.
pub(super) fn decide(
    architecture: u32,
    calls: impl IntoIterator<Item = (i64, Verdict)>,
) -> BpfProgram {
    let calls = calls.into_iter();
    let calls = calls.filter_map(|(call, verdict)| Some((u32::try_from(call).ok()?, verdict)));
    let mut program = vec![
        load(ARCHITECTURE),
        jump(BPF_JEQ, architecture, 1, 0),
        to_end(),
        load(NUMBER),
    ];
    // Calls of the x32 ABI are calls of x86_64 with bit 30 set in the number. A kernel without x32 also answers ENOSYS.
    if cfg!(target_arch = "x86_64") {
        program.extend([
            jump(BPF_JSET, 0x4000_0000, 0, 1),
            end(Verdict::Fail(ENOSYS)),
        ]);
    }
    program.extend(search(&ranges(&calls.collect())));
    let length = length(&program);
    for (place, instruction) in (1..).zip(&mut program) {
        if is_to_end(instruction) {
            instruction.k = length - place;
        }
    }
    program
}

/// Returns the ranges of numbers with one verdict, each by its first number. The first begins at 0.
fn ranges(calls: &BTreeMap<u32, Verdict>) -> Vec<(u32, Verdict)> {
    let mut ranges = vec![(0, Verdict::Allow)];
    for (number, verdict) in calls {
        // Between two adjacent calls, and before call 0, there is no number.
        ranges.pop_if(|(first, _)| first == number);
        ranges.push((*number, *verdict));
        ranges.push((number.saturating_add(1), Verdict::Allow));
    }
    ranges.dedup_by_key(|(_, verdict)| *verdict);
    ranges
}

fn search(ranges: &[(u32, Verdict)]) -> BpfProgram {
    let (low, high) = ranges.split_at(ranges.len() / 2);
    match (high, low) {
        ([(_, verdict)], []) => vec![end(*verdict)],
        ([(middle, _), ..], _) => {
            let (lower, higher) = (search(low), search(high));
            let split = match u8::try_from(lower.len()) {
                Ok(over) => vec![jump(BPF_JGE, *middle, over, 0)],
                Err(_) => vec![
                    jump(BPF_JGE, *middle, 0, 1),
                    instruction(BPF_JMP | BPF_JA, 0, 0, length(&lower)),
                ],
            };
            [split, lower, higher].concat()
        }
        ([], _) => Vec::new(),
    }
}

/// Returns the instruction that ends with a verdict.
fn end(verdict: Verdict) -> sock_filter {
    let value = match verdict {
        Verdict::Allow => SECCOMP_RET_ALLOW,
        Verdict::Fail(errno) => SECCOMP_RET_ERRNO | errno.unsigned_abs(),
        Verdict::Check => return to_end(),
    };
    instruction(BPF_RET | BPF_K, 0, 0, value)
}

/// Returns a jump to the end of the program, whose distance is not known yet.
fn to_end() -> sock_filter {
    instruction(BPF_JMP | BPF_JA, 0, 0, u32::MAX)
}

fn is_to_end(instruction: &sock_filter) -> bool {
    *instruction == to_end()
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset)
}

fn length(program: &BpfProgram) -> u32 {
    // A program has 4,096 instructions at most.
    u32::try_from(program.len()).unwrap_or(u32::MAX)
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

    const HERE: u32 = 7;

    /// Runs a program on a call, and returns the value with which it ends, and after how many instructions; no value if it does not end
    /// there.
    fn run(program: &[sock_filter], architecture: u32, number: u32) -> (Option<u32>, usize) {
        let (mut at, mut loaded, mut steps) = (0, 0, 0);
        while let Some(instruction) = program.get(at) {
            let (code, value) = (u32::from(instruction.code), instruction.k);
            steps += 1;
            at += 1;
            let holds = match code {
                code if code == BPF_RET | BPF_K => return (Some(value), steps),
                code if code == BPF_LD | BPF_W | BPF_ABS => {
                    loaded = [number, architecture][value as usize / 4];
                    continue;
                }
                code if code == BPF_JMP | BPF_JA => {
                    at += value as usize;
                    continue;
                }
                code if code == BPF_JMP | BPF_JEQ | BPF_K => loaded == value,
                code if code == BPF_JMP | BPF_JGE | BPF_K => loaded >= value,
                code if code == BPF_JMP | BPF_JSET | BPF_K => loaded & value != 0,
                code => panic!("{code}"),
            };
            at += usize::from(if holds {
                instruction.jt
            } else {
                instruction.jf
            });
        }
        // No jump may go beyond the end of the program.
        assert_eq!(at, program.len());
        (None, steps)
    }

    fn value(verdict: Verdict) -> Option<u32> {
        match verdict {
            Verdict::Allow => Some(SECCOMP_RET_ALLOW),
            Verdict::Fail(errno) => Some(SECCOMP_RET_ERRNO | errno.unsigned_abs()),
            Verdict::Check => None,
        }
    }

    proptest! {
        #[test]
        fn each_call_gets_its_verdict(
            calls in prop::collection::btree_map(
                0..600_i64,
                prop_oneof![Just(Verdict::Check), (1..9).prop_map(Verdict::Fail)],
                0..300,
            ),
        ) {
            let program = decide(HERE, calls.clone());
            for number in (0..=601).chain([u32::MAX >> 2]) {
                let verdict = calls.get(&i64::from(number)).copied().unwrap_or(Verdict::Allow);
                let (found, steps) = run(&program, HERE, number);
                prop_assert_eq!(found, value(verdict), "{}", number);
                // 601 ranges are found in ten comparisons, of which each may take a jump as well.
                prop_assert!(steps <= 30, "{} steps", steps);
                prop_assert_eq!(run(&program, HERE + 1, number).0, None);
            }
        }
    }
}
