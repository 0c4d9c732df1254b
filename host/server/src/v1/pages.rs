//! Pages of lists: their sizes, their order, and the problems of their parameters.

use std::fmt;
use std::ops::RangeInclusive;

use toolhost_call::call::StoreError;
use toolhost_http::problem::{Kind, Problem};
use toolhost_state::id::MAX_CHAT_ID;

/// The default and the largest number of entries of a page.
const LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 500;

/// The last time, in milliseconds: the largest number that JSON has in every language.
pub(super) const MAX_TIME: u64 = (1 << 53) - 1;

/// Returns the number of entries of a page.
pub(super) fn limit(given: Option<u32>) -> Result<u32, Problem> {
    within("limit", given.unwrap_or(LIMIT), 1..=MAX_LIMIT)
}

/// Returns a prefix of chats, if chats can begin so.
pub(super) fn prefix(given: Option<&str>) -> Result<&str, Problem> {
    let prefix = given.unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
    if prefix.len() <= MAX_CHAT_ID && prefix.bytes().all(allowed) {
        return Ok(prefix);
    }
    let detail = format!("prefix has at most {MAX_CHAT_ID} characters of A-Z a-z 0-9 . _ : @ -");
    Err(Problem::broken_request(detail))
}

/// Returns a number of a query, if it is within its bounds.
pub(super) fn within<T: PartialOrd + fmt::Display>(
    name: &str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<T, Problem> {
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (bounds.start(), bounds.end());
    let detail = format!("{name} must be from {least} to {most}, and is {value}");
    Err(Problem::broken_request(detail))
}

/// Returns the problem of a parameter `after` that no page named.
pub(super) fn wrong_place() -> Problem {
    Problem::broken_request("after must be the `next` of an earlier page of the same list")
}

/// Returns the problem of a store that cannot be read.
pub(super) fn unreadable(error: &StoreError) -> Problem {
    // The text names files of the host, which are none of the client's business.
    tracing::error!(
        error = error as &dyn std::error::Error,
        "a list cannot be read from the store"
    );
    let detail = "the store cannot be read now; the log of the server says why";
    Problem::new(Kind::UNREADABLE, detail).retry_after(1)
}
