//! Attacks on the stack: it ends where the guest's part of it does, wherever the guest is called from.

use super::contained::{End, contained, load_error};

#[tokio::test]
async fn deep_recursion() {
    contained(
        "deep_recursion",
        End::Limit("stack limit of 512 KiB reached"),
    )
    .await;
}

#[tokio::test]
async fn huge_frames() {
    contained("huge_frames", End::Limit("stack limit of 512 KiB reached")).await;
}

/// The host has a stack of its own for what it does, however little the guest has left.
#[tokio::test]
async fn host_call_at_the_end() {
    contained(
        "host_call_at_the_end",
        End::Limit("stack limit of 512 KiB reached"),
    )
    .await;
}

#[tokio::test]
async fn recursion_in_realloc() {
    contained(
        "recursion_in_realloc",
        End::Limit("stack limit of 512 KiB reached"),
    )
    .await;
}

#[tokio::test]
async fn deep_recursion_in_list_tools() {
    insta::assert_snapshot!(load_error("deep_recursion_in_list_tools").await, @"the plugin did not list its tools: the tool was stopped: stack limit of 512 KiB reached");
}
