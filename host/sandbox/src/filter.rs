//! The filter of system calls: what Landlock does not cover, and the network where there is no namespace for it.
//!
//! A refused call fails with EPERM, so that programs can go on without it. Arguments of 32 bits are compared as such: the kernel
//! ignores the upper half, so a filter that looks at it can be passed by.

mod calls;
mod numbers;

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use SeccompCmpArgLen::{Dword, Qword};
use SeccompCmpOp::{Eq, MaskedEq, Ne};

/// What decides which calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Namespaces can be made.
    pub(crate) nested: bool,
    /// No sockets but those of Unix.
    pub(crate) offline: bool,
    /// Landlock confines tracing to the command's own processes.
    pub(crate) tracing: bool,
}

/// The rules of each call: it is refused if one of them applies.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// The flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// `CLONE_NEWTIME`, which is a part of the signal in the flags of `clone`.
const NEW_TIME: i32 = 0x80;

/// Requests that put input into a terminal. libc does not name the second, and gives the first different types.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// The kinds of sockets that commands may have with a network.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// The types of sockets that send packets with headers of their own. libc calls the second deprecated, which the kernel is not.
const SOCK_RAW: u64 = 3;
const SOCK_PACKET: u64 = 10;

/// The bits of the type of a socket that are no flags.
const SOCKET_TYPE: u64 = 0xf;

/// The personalities that commands may have: those of 32 bits, of old kernels, without random addresses (for debuggers), and the
/// question for the present one. Others make programs easier to exploit.
const PERSONALITIES: [u32; 9] = [
    0,
    0x8,
    0x2_0000,
    0x2_0008,
    0x4_0000,
    0x4_0008,
    0x6_0000,
    0x6_0008,
    0xffff_ffff,
];

/// Returns the program for a command.
pub(crate) fn program(options: Options) -> Result<BpfProgram, BackendError> {
    let filter = SeccompFilter::new(
        rules(options)?,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        ARCHITECTURE,
    )?;
    // It kills processes of foreign architectures, such as programs of 32 bits: the numbers of their calls are others.
    let filter = BpfProgram::try_from(filter)?;
    Ok([by_number(options), filter].concat())
}

/// Returns the instructions that come first: those for calls that fail whatever their arguments are.
fn by_number(options: Options) -> BpfProgram {
    let mut program = vec![numbers::load()];
    // The calls of x32 are those of x86_64 under other numbers. A kernel without x32 answers the same.
    #[cfg(target_arch = "x86_64")]
    program.extend(numbers::fail_if(libc::BPF_JSET, 0x4000_0000, libc::ENOSYS));
    // The flags of `clone3` are in memory, where a filter does not see them. Libraries then use `clone`.
    if !options.nested {
        program.extend(numbers::fail_each([libc::SYS_clone3], libc::ENOSYS));
    }
    let lists: [(&[i64], bool); 3] = [
        (calls::SYSTEM, true),
        (calls::NAMESPACES, !options.nested),
        (calls::TRACING, !options.tracing),
    ];
    let refused = lists.into_iter().filter(|(_, refused)| *refused);
    let refused = refused.flat_map(|(calls, _)| calls.iter().copied());
    program.extend(numbers::fail_each(refused, libc::EPERM));
    program
}

fn rules(options: Options) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    if !options.nested {
        let flags = || NAMESPACES.map(|flag| vec![has(0, flag)]).into_iter();
        rules.insert(libc::SYS_clone, any(flags())?);
        let time = vec![has(0, NEW_TIME)];
        rules.insert(libc::SYS_unshare, any(flags().chain([time]))?);
    }
    // Input for a terminal, as if a person had typed it.
    let input = |request| vec![condition(1, Dword, Eq, request)];
    rules.insert(libc::SYS_ioctl, any(TERMINAL_INPUT.map(input))?);
    let odd = PERSONALITIES.map(|known| condition(0, Dword, Ne, known.into()));
    rules.insert(libc::SYS_personality, any([odd])?);
    // New limits for another process, and also for the own one by its number: a filter does not know that number.
    let others = [is(0, Ne, 0), condition(2, Qword, Ne, 0)];
    rules.insert(libc::SYS_prlimit64, any([others])?);
    rules.insert(libc::SYS_socket, sockets(options.offline)?);
    rules.insert(libc::SYS_socketpair, any([[is(0, Ne, libc::AF_UNIX)]])?);
    Ok(rules)
}

fn sockets(offline: bool) -> Result<Vec<SeccompRule>, BackendError> {
    if offline {
        return any([[is(0, Ne, libc::AF_UNIX)]]);
    }
    let other = Vec::from(FAMILIES.map(|family| is(0, Ne, family)));
    let raw = [libc::AF_INET, libc::AF_INET6]
        .into_iter()
        .flat_map(|family| {
            [SOCK_RAW, SOCK_PACKET].map(|kind| {
                vec![
                    is(0, Eq, family),
                    condition(1, Dword, MaskedEq(SOCKET_TYPE), kind),
                ]
            })
        });
    any(std::iter::once(other).chain(raw))
}

/// A test of an argument of a call.
type Test = Result<SeccompCondition, BackendError>;

fn condition(argument: u8, length: SeccompCmpArgLen, operator: SeccompCmpOp, value: u64) -> Test {
    SeccompCondition::new(argument, length, operator, value)
}

fn is(argument: u8, operator: SeccompCmpOp, value: i32) -> Test {
    condition(argument, Dword, operator, value.unsigned_abs().into())
}

fn has(argument: u8, flag: i32) -> Test {
    let flag = u64::from(flag.unsigned_abs());
    condition(argument, Dword, MaskedEq(flag), flag)
}

/// Returns the rules that refuse a call if all tests of one list hold.
fn any<T: IntoIterator<Item = Test>>(
    rules: impl IntoIterator<Item = T>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |tests: T| SeccompRule::new(tests.into_iter().collect::<Result<_, _>>()?);
    rules.into_iter().map(rule).collect()
}
