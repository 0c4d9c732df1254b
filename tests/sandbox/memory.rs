//! Attacks on memory: the limit is for all memories of a call together, from their start.

use super::contained::{contained, load_error};

#[tokio::test]
async fn memory_bomb() {
    contained("memory_bomb").await;
}

#[tokio::test]
async fn memory_at_once() {
    contained("memory_at_once").await;
}

/// It is refused memory again and again, and lives on with what it has: until its time is over.
#[tokio::test]
async fn page_by_page() {
    contained("page_by_page").await;
}

#[tokio::test]
async fn three_memories() {
    contained("three_memories").await;
}

#[tokio::test]
async fn memory_of_64_bits() {
    contained("memory_of_64_bits").await;
}

#[tokio::test]
async fn many_globals() {
    contained("many_globals").await;
}

#[tokio::test]
async fn giant_memory() {
    load_error("giant_memory").await;
}

#[tokio::test]
async fn many_memories() {
    load_error("many_memories").await;
}

/// Who waits on such a memory cannot be interrupted.
#[tokio::test]
async fn shared_memory() {
    load_error("shared_memory").await;
}
