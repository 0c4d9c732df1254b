//! Attacks on what crosses the boundary: giant and broken strings, lists and replies.

use toolhost_call::tool::ErrorKind;
use toolhost_plugin::Limits;

use super::contained::{Attack, End, contained};

#[tokio::test]
async fn giant_reply() {
    contained(
        "giant_reply",
        End::Limit("reply limit of 1 MiB reached: it has 2097216 bytes"),
    )
    .await;
}

#[tokio::test]
async fn endless_reply() {
    contained(
        "endless_reply",
        End::Limit("limit of 8 MiB of data for one call into the host reached"),
    )
    .await;
}

#[tokio::test]
async fn reply_out_of_bounds() {
    contained("reply_out_of_bounds", End::Broken("out of bounds")).await;
}

#[tokio::test]
async fn reply_not_json() {
    contained("reply_not_json", End::Broken("JSON that is not valid")).await;
}

#[tokio::test]
async fn trap() {
    contained("trap", End::Broken("unreachable")).await;
}

#[tokio::test]
async fn length_of_4_gib() {
    contained("length_of_4_gib", End::Broken("out of bounds")).await;
}

#[tokio::test]
async fn endless_list() {
    contained("endless_list", End::Broken("out of bounds")).await;
}

#[tokio::test]
async fn unaligned() {
    contained("unaligned", End::Broken("not aligned")).await;
}

#[tokio::test]
async fn unaligned_answer() {
    contained("unaligned_answer", End::Broken("not aligned")).await;
}

#[tokio::test]
async fn answer_out_of_bounds() {
    contained("answer_out_of_bounds", End::Broken("out of bounds")).await;
}

#[tokio::test]
async fn allocator_out_of_bounds() {
    contained(
        "allocator_out_of_bounds",
        End::Broken("beyond end of memory"),
    )
    .await;
}

/// The host copies what it is passed, so that nothing in it can change meanwhile.
#[tokio::test]
async fn overlapping() {
    contained("overlapping", End::Reply("hello")).await;
}

#[tokio::test]
async fn invalid_utf8() {
    contained("invalid_utf8", End::Broken("invalid utf-8")).await;
}

#[tokio::test]
async fn lone_surrogate() {
    contained("lone_surrogate", End::Broken("invalid utf-8")).await;
}

#[tokio::test]
async fn deep_json() {
    contained("deep_json", End::Broken("nests deeper than 64 levels")).await;
}

#[tokio::test]
async fn million_parts() {
    contained(
        "million_parts",
        End::Limit("limit of 8 MiB of data for one call into the host reached"),
    )
    .await;
}

#[tokio::test]
async fn many_parts() {
    contained(
        "many_parts",
        End::Limit("reply limit of 1 MiB reached: it has 1280000 bytes"),
    )
    .await;
}

#[tokio::test]
async fn giant_error() {
    let attack = Attack::new("giant_error", Limits::default()).await;
    let (outcome, _) = attack.run(End::Failed(ErrorKind::Failed, "xxx")).await;
    assert_eq!(outcome.result.as_ref().unwrap_err().message.len(), 32 << 10);
}

#[tokio::test]
async fn bad_discriminant() {
    contained("bad_discriminant", End::Broken("unexpected discriminant")).await;
}

#[tokio::test]
async fn env_flood() {
    contained(
        "env_flood",
        End::Limit("limit of 8 MiB of data for one call into the host reached"),
    )
    .await;
}
