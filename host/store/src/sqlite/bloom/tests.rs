//! Tests of the filter.

use super::*;
use crate::sqlite::witness::key;

fn keys(chat: &str) -> impl Iterator<Item = Key> {
    (0..10_000).map(move |call| key(chat, &call.to_string()))
}

#[test]
fn a_full_filter_has_its_calls_and_claims_few_others() {
    let mut filter = Bloom::with_room(10_000);
    for key in keys("c") {
        assert!(!filter.is_full());
        filter.add(&key);
    }
    assert!(keys("c").all(|key| filter.may_have(&key)));
    let claimed = keys("other").filter(|key| filter.may_have(key)).count();
    assert!(claimed < 150, "{claimed} of 10,000");
}

#[test]
fn a_call_takes_room_once() {
    let mut filter = Bloom::with_room(1);
    let key = key("c", "1");
    for _ in 0..2 * CALLS {
        filter.add(&key);
    }
    assert!(!filter.is_full() && filter.may_have(&key));
}

#[test]
fn a_filter_without_room_still_takes_calls() {
    let mut filter = Bloom::with_room(40);
    for key in keys("c") {
        filter.add(&key);
    }
    assert!(filter.is_full());
    assert!(keys("c").all(|key| filter.may_have(&key)));
}
