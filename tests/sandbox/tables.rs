//! Attacks on tables: the limit is for all tables of a call together.

use super::contained::{End, contained, load_error};

#[tokio::test]
async fn table_bomb() {
    contained(
        "table_bomb",
        End::Limit("limit of 100000 table elements reached"),
    )
    .await;
}

#[tokio::test]
async fn three_tables() {
    contained(
        "three_tables",
        End::Limit("limit of 100000 table elements reached"),
    )
    .await;
}

#[tokio::test]
async fn giant_table() {
    let error = load_error("giant_table").await.to_string();
    assert!(error.contains("table"), "{error}");
}

#[tokio::test]
async fn many_tables() {
    let error = load_error("many_tables").await.to_string();
    assert!(error.contains("tables"), "{error}");
}
