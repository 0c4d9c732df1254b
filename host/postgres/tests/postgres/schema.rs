//! The schema of a database, as hosts of several versions find it.

use toolhost_needs::needs;
use toolhost_postgres::Postgres;
use toolhost_store::{Begun, Store};

use crate::hosts::open;
use crate::server;
use crate::suite::begin;
use crate::values::ended;

#[needs(postgres)]
#[tokio::test]
async fn a_half_made_schema_is_named() {
    let url = server::database();
    drop(open(&url).await);
    let config = server::config(&url);
    assert!(
        !toolhost_postgres::report(&config)
            .await
            .unwrap()
            .is_half_made
    );
    let admin = server::connect(&url).await;
    let reset = admin.batch_execute("UPDATE toolhost.version SET version = 0");
    reset.await.unwrap();
    assert!(
        toolhost_postgres::report(&config)
            .await
            .unwrap()
            .is_half_made
    );
    let error = Postgres::open(config).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.contains("the schema toolhost is half made"),
        "{source}"
    );
}

/// Later versions only add: hosts of both versions run side by side while they are exchanged one after the other.
#[needs(postgres)]
#[tokio::test]
async fn a_host_uses_a_database_that_a_later_version_has_extended() {
    // Each by itself: together they would wait for a heartbeat that waits for them.
    const EXTEND: [&str; 4] = [
        "UPDATE toolhost.version SET version = version + 1",
        "CREATE TABLE toolhost.more (one int)",
        "ALTER TABLE toolhost.calls ADD COLUMN more text",
        "ALTER TABLE toolhost.hosts ADD COLUMN more text",
    ];
    let url = server::database();
    let before = open(&url).await;
    let admin = server::connect(&url).await;
    let version = async || -> i32 {
        let version = admin.query_one("SELECT version FROM toolhost.version", &[]);
        version.await.unwrap().get(0)
    };
    let known = version().await;
    for step in EXTEND {
        admin.batch_execute(step).await.unwrap();
    }
    let after = open(&url).await;
    assert_eq!(begin(&before, "c", "1").await, Begun::New);
    assert_eq!(begin(&after, "c", "1").await, Begun::Running);
    before.end(ended("c", "1")).await.unwrap();
    assert!(matches!(begin(&after, "c", "1").await, Begun::Ended(_)));
    assert_eq!(version().await, known + 1);
}
