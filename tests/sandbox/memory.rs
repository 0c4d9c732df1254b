//! Attacks on memory: the limit is for all memories of a call together, from their start.

use super::contained::{End, GUEST_TIME, MEMORY, contained, load_error};

#[tokio::test]
async fn memory_bomb() {
    contained("memory_bomb", MEMORY).await;
}

#[tokio::test]
async fn memory_at_once() {
    contained("memory_at_once", MEMORY).await;
}

/// It is refused memory again and again, and lives on with what it has: until its time is over.
#[tokio::test]
async fn page_by_page() {
    contained("page_by_page", GUEST_TIME).await;
}

#[tokio::test]
async fn three_memories() {
    contained("three_memories", MEMORY).await;
}

#[tokio::test]
async fn memory_of_64_bits() {
    contained("memory_of_64_bits", MEMORY).await;
}

#[tokio::test]
async fn many_globals() {
    contained("many_globals", End::Reply("hello")).await;
}

#[tokio::test]
async fn giant_memory() {
    insta::assert_snapshot!(load_error("giant_memory").await, @"the plugin did not list its tools: the tool was stopped: memory limit of 64 MiB reached");
}

#[tokio::test]
async fn many_memories() {
    let error = load_error("many_memories").await.to_string();
    assert!(error.contains("memories"), "{error}");
}

/// Who waits on such a memory cannot be interrupted.
#[tokio::test]
async fn shared_memory() {
    let error = load_error("shared_memory").await.to_string();
    assert!(error.contains("threads must be enabled"), "{error}");
}
