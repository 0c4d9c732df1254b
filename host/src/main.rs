//! The command line: arguments, logging, exit code.

use std::process::ExitCode;

/// The allocator of the C library takes a third of the calls per second that 16 connections get.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Has the allocator give unused memory back after 10 ms instead of a second. A busy server then takes 15 MiB less.
#[allow(
    unsafe_code,
    reason = "the options of the allocator have no safe interface"
)]
fn give_back_soon() {
    /// `mi_option_purge_delay` in `mimalloc.h`, in milliseconds.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: it stores a number, and no other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 10) };
}

/// Has the C library, whose allocator only SQLite uses here, take address space for two threads instead of for each. Each takes 128 MiB.
#[cfg(target_env = "gnu")]
#[allow(
    unsafe_code,
    reason = "the options of the allocator have no safe interface"
)]
fn take_little() {
    // SAFETY: it stores a number, and no other thread runs yet.
    unsafe { nix::libc::mallopt(nix::libc::M_ARENA_MAX, 2) };
}

fn main() -> ExitCode {
    give_back_soon();
    #[cfg(target_env = "gnu")]
    take_little();
    toolhost::cli::main()
}
