//! Attacks on what crosses the boundary: giant and broken strings, lists and replies.

use toolhost_plugin::Limits;

use super::contained::{Attack, contained};

#[tokio::test]
async fn giant_reply() {
    contained("giant_reply").await;
}

#[tokio::test]
async fn endless_reply() {
    contained("endless_reply").await;
}

#[tokio::test]
async fn reply_out_of_bounds() {
    contained("reply_out_of_bounds").await;
}

#[tokio::test]
async fn reply_not_json() {
    contained("reply_not_json").await;
}

#[tokio::test]
async fn trap() {
    contained("trap").await;
}

#[tokio::test]
async fn length_of_4_gib() {
    contained("length_of_4_gib").await;
}

#[tokio::test]
async fn endless_list() {
    contained("endless_list").await;
}

#[tokio::test]
async fn unaligned() {
    contained("unaligned").await;
}

#[tokio::test]
async fn unaligned_answer() {
    contained("unaligned_answer").await;
}

#[tokio::test]
async fn answer_out_of_bounds() {
    contained("answer_out_of_bounds").await;
}

#[tokio::test]
async fn allocator_out_of_bounds() {
    contained("allocator_out_of_bounds").await;
}

/// The host copies what it is passed, so that nothing in it can change meanwhile.
#[tokio::test]
async fn overlapping() {
    contained("overlapping").await;
}

#[tokio::test]
async fn invalid_utf8() {
    contained("invalid_utf8").await;
}

#[tokio::test]
async fn lone_surrogate() {
    contained("lone_surrogate").await;
}

#[tokio::test]
async fn deep_json() {
    contained("deep_json").await;
}

#[tokio::test]
async fn million_parts() {
    contained("million_parts").await;
}

#[tokio::test]
async fn many_parts() {
    contained("many_parts").await;
}

#[tokio::test]
async fn giant_error() {
    let attack = Attack::new("giant_error", Limits::default()).await;
    let (outcome, _) = attack.run().await;
    assert_eq!(outcome.result.as_ref().unwrap_err().message.len(), 32 << 10);
}

#[tokio::test]
async fn bad_discriminant() {
    contained("bad_discriminant").await;
}

#[tokio::test]
async fn env_flood() {
    contained("env_flood").await;
}
