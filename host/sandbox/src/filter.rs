//! The filter of system calls. It covers what Landlock does not, and the network if commands have no network namespace.
//!
//! A refused call fails with EPERM, so that programs can continue without it. The filter compares only the low 32 bits of a 32-bit
//! argument. The kernel ignores the high bits, so setting them would bypass a filter that compares them.

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
use numbers::Verdict;

/// The options that decide which calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Allow commands to make namespaces.
    pub(crate) nested: bool,
    /// Refuse all sockets except Unix sockets.
    pub(crate) offline: bool,
    /// Allow tracing, because Landlock limits it to the command's own processes.
    pub(crate) tracing: bool,
}

/// The rules for each call. A call is refused if one of its rules matches.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// The same, as the kernel names it in the data of a call: `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64`.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCHITECTURE: u32 = 0xC000_00B7;

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

/// `CLONE_NEWTIME`. In the flags of `clone`, this bit belongs to the exit signal instead.
const NEW_TIME: i32 = 0x80;

/// `TIOCSTI` and `TIOCLINUX`, which put input into a terminal. libc lacks the second, and the type of the first varies.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR`, with which the owner of a file changes its flags and its project. A file that leaves its
/// project leaves the quota of the project.
const FILE_ATTRIBUTES: [u64; 2] = [0x4008_6602, 0x401C_5820];

/// The address families that commands may use when they have a network.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// The socket types that send packets with headers of the program's choice. libc marks `SOCK_PACKET` as deprecated, but the kernel still
/// supports it.
const SOCK_RAW: u64 = 3;
const SOCK_PACKET: u64 = 10;

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;

/// The arguments of `personality` that commands may use: those of 32-bit programs, of old kernels and of debuggers (no address
/// randomization), and the query of the current value. Other personalities make programs easier to exploit.
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

/// The bits of a mode for the rights of the owner and the group: `S_ISUID` and `S_ISGID`.
const SPECIAL: [i32; 2] = [0o4000, 0o2000];

/// Returns the BPF program of the filter.
pub(crate) fn program(options: Options) -> Result<BpfProgram, BackendError> {
    let rules = rules(options)?;
    let by_number = numbers::decide(AUDIT_ARCHITECTURE, verdicts(options, &rules));
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        ARCHITECTURE,
    )?;
    // This program also kills processes of foreign architectures, such as 32-bit programs, whose calls have other numbers.
    let by_arguments = BpfProgram::try_from(filter)?;
    Ok([by_number, by_arguments].concat())
}

/// Returns the verdicts on calls by their numbers alone.
fn verdicts(options: Options, rules: &Rules) -> BTreeMap<i64, Verdict> {
    let lists: [(&[i64], bool); 3] = [
        (calls::SYSTEM, true),
        (calls::NAMESPACES, !options.nested),
        (calls::TRACING, !options.tracing),
    ];
    let mut verdicts: BTreeMap<_, _> = rules.keys().map(|call| (*call, Verdict::Check)).collect();
    let refused = lists.into_iter().filter(|(_, refused)| *refused);
    let refused = refused.flat_map(|(calls, _)| calls);
    verdicts.extend(refused.map(|call| (*call, Verdict::Fail(libc::EPERM))));
    // A filter cannot see the flags of `clone3`, which are in memory. After ENOSYS, C libraries use `clone`.
    if !options.nested {
        verdicts.insert(libc::SYS_clone3, Verdict::Fail(libc::ENOSYS));
        // Nor the mode of `openat2`. Programs use `openat` then.
        verdicts.insert(libc::SYS_openat2, Verdict::Fail(libc::ENOSYS));
    }
    verdicts
}

fn rules(options: Options) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    if !options.nested {
        let flags = || NAMESPACES.map(|flag| vec![has(0, flag)]).into_iter();
        rules.insert(libc::SYS_clone, any(flags())?);
        let time = vec![has(0, NEW_TIME)];
        rules.insert(libc::SYS_unshare, any(flags().chain([time]))?);
    }
    // Input for a terminal looks as if a person had typed it.
    let requests = TERMINAL_INPUT.into_iter().chain(FILE_ATTRIBUTES);
    let requests = requests.map(|request| [condition(1, Dword, Eq, request)]);
    rules.insert(libc::SYS_ioctl, any(requests)?);
    // A lease on a file of this user keeps others from opening it, for up to 45 s each time.
    let lease = [is(1, Eq, libc::F_SETLEASE)];
    rules.insert(libc::SYS_fcntl, any([lease])?);
    let odd = PERSONALITIES.map(|known| condition(0, Dword, Ne, known.into()));
    rules.insert(libc::SYS_personality, any([odd])?);
    // Refuse new limits for any process given by its id, even the caller's own, because a filter does not know that id.
    let others = [is(0, Ne, 0), condition(2, Qword, Ne, 0)];
    rules.insert(libc::SYS_prlimit64, any([others])?);
    rules.insert(libc::SYS_socket, sockets(options.offline)?);
    for (call, mode, flags) in calls::MODES {
        rules.insert(*call, special_modes(*mode, *flags)?);
    }
    rules.insert(libc::SYS_socketpair, any([[is(0, Ne, libc::AF_UNIX)]])?);
    Ok(rules)
}

/// Returns the rules against a mode that gives whoever runs the file the rights of its owner or group.
fn special_modes(mode: u8, flags: Option<u8>) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = SPECIAL.into_iter().flat_map(|bit| match flags {
        None => vec![vec![has(mode, bit)]],
        Some(flags) => {
            let creates = calls::CREATES.into_iter();
            creates
                .map(|flag| vec![has(mode, bit), has(flags, flag)])
                .collect()
        }
    });
    any(rules)
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

/// Returns rules that refuse a call if, for one of these lists, all tests hold.
fn any<T: IntoIterator<Item = Test>>(
    rules: impl IntoIterator<Item = T>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |tests: T| SeccompRule::new(tests.into_iter().collect::<Result<_, _>>()?);
    rules.into_iter().map(rule).collect()
}
