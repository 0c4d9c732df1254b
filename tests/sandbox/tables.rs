//! Attacks on tables: the limit is for all tables of a call together.

use super::contained::{contained, load_error};

#[tokio::test]
async fn table_bomb() {
    contained("table_bomb").await;
}

#[tokio::test]
async fn three_tables() {
    contained("three_tables").await;
}

#[tokio::test]
async fn giant_table() {
    load_error("giant_table").await;
}

#[tokio::test]
async fn many_tables() {
    load_error("many_tables").await;
}
