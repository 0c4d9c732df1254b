//! Attacks on the stack: it ends where the guest's part of it does, wherever the guest is called from.

use super::contained::{contained, load_error};

#[tokio::test]
async fn deep_recursion() {
    contained("deep_recursion").await;
}

#[tokio::test]
async fn huge_frames() {
    contained("huge_frames").await;
}

/// The host has a stack of its own for what it does, however little the guest has left.
#[tokio::test]
async fn host_call_at_the_end() {
    contained("host_call_at_the_end").await;
}

#[tokio::test]
async fn recursion_in_realloc() {
    contained("recursion_in_realloc").await;
}

#[tokio::test]
async fn deep_recursion_in_list_tools() {
    load_error("deep_recursion_in_list_tools").await;
}
