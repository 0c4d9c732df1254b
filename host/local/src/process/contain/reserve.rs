//! The part of the limits of this user that commands leave to the host.

/// The most descriptors or processes that commands leave to the host.
const MOST: u64 = 1024;

/// Returns how many of so many descriptors or processes commands leave to the host.
pub(in crate::process) fn reserve(limit: u64) -> u64 {
    (limit / 4).min(MOST)
}
