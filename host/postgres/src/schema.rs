//! The schema, and migrations from older versions.

use deadpool_postgres::Transaction;

use crate::error::Fault;

/// The migrations, oldest first. The version of a database is the number of migrations that it has. They only add, so that a host of the
/// version before can use the database as well.
const STEPS: [&str; 5] = [
    include_str!("schema.sql"),
    // For hosts that take over the chats of another one.
    "CREATE INDEX chats_home ON toolhost.chats (home) WHERE home IS NOT NULL",
    // With which hosts use an agent through the host to which it is connected. NULL: that host is of the version before.
    "ALTER TABLE toolhost.agents ADD COLUMN token text",
    // The tools that were found in the chat, as JSON. NULL: none.
    "ALTER TABLE toolhost.chats ADD COLUMN found text",
    // The key with which all hosts sign links for people: 32 bytes.
    "CREATE TABLE toolhost.links (key bytea NOT NULL); \
     INSERT INTO toolhost.links VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'))",
];

/// Upgrades a database to the last step. Hosts that start together do it one after the other.
pub(crate) async fn migrate(transaction: &Transaction<'_>) -> Result<(), Fault> {
    // A number of our own: the first bytes of `toolhost`.
    const ALONE: &str = "SELECT pg_advisory_xact_lock(8389754676633367416)";
    const KNOWN: &str = "SELECT to_regclass('toolhost.version') IS NOT NULL, to_regclass('toolhost.hosts') IS NOT NULL";
    const FIRST: &str = "CREATE SCHEMA IF NOT EXISTS toolhost; CREATE TABLE toolhost.version (version int NOT NULL); \
         INSERT INTO toolhost.version VALUES (0)";
    transaction.batch_execute(ALONE).await?;
    let known = transaction.query_one(KNOWN, &[]).await?;
    let (is_known, has_tables): (bool, bool) = (known.try_get(0)?, known.try_get(1)?);
    if !is_known {
        transaction.batch_execute(FIRST).await?;
    }
    let version = transaction
        .query_one("SELECT version FROM toolhost.version", &[])
        .await?;
    let version: i32 = version.try_get(0)?;
    if version == 0 && has_tables {
        return Err(Fault::HalfMade);
    }
    let taken = usize::try_from(version).unwrap_or_default();
    for step in STEPS.get(taken..).unwrap_or_default() {
        transaction.batch_execute(step).await?;
    }
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    if version < known {
        transaction
            .execute("UPDATE toolhost.version SET version = $1", &[&known])
            .await?;
    }
    Ok(())
}

/// Returns the key with which all hosts sign links.
pub(crate) async fn link_key(transaction: &Transaction<'_>) -> Result<[u8; 32], Fault> {
    let row = transaction
        .query_one("SELECT key FROM toolhost.links", &[])
        .await?;
    let key: Vec<u8> = row.try_get(0)?;
    key.try_into().map_err(|_| Fault::HalfMade)
}
