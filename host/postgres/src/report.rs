//! A look at a database before a host uses it.

use std::time::{Duration, Instant, SystemTime};

use toolhost_state::unix_time;
use toolhost_store::StoreError;

use crate::Config;
use crate::database::{Database, run};
use crate::error::Fault;
use crate::lease::{Neighbour, neighbours};

/// How many round trips are measured.
const TRIPS: usize = 9;

/// What was found in a database.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of the server, such as `15.18`.
    pub version: String,
    /// The median time of a round trip.
    pub latency: Duration,
    /// By how much the clock of the server is ahead of that of this machine, in milliseconds.
    pub clock_ahead_ms: i64,
    /// Whether the role may make the schema, or use the one that is there.
    pub may_write: bool,
    /// Whether the schema has tables, and its version says that it has none: hosts do not start then.
    pub is_half_made: bool,
    /// The hosts that have used the store lately.
    pub hosts: Vec<Neighbour>,
    /// How many connections the server takes.
    pub max_connections: i32,
    /// Whether a commit survives a failure of the server: `fsync`, `synchronous_commit`.
    pub is_durable: bool,
}

/// Looks at a database, and changes nothing.
///
/// # Errors
///
/// If it cannot be reached or read.
pub async fn report(config: &Config) -> Result<Report, StoreError> {
    let looked = async { look(&Database::new(config)?).await };
    let looked = looked.await;
    looked.map_err(|fault: Fault| fault.into_store_error("look at the database"))
}

async fn look(database: &Database) -> Result<Report, Fault> {
    const SERVER: &str = "SELECT current_setting('server_version'), current_setting('max_connections')::int, \
         current_setting('fsync')::bool AND current_setting('synchronous_commit') <> 'off', \
         to_regclass('toolhost.hosts') IS NOT NULL, \
         CASE WHEN to_regclass('toolhost.calls') IS NULL THEN has_database_privilege(current_database(), 'CREATE') \
              ELSE has_table_privilege('toolhost.calls', 'INSERT, UPDATE, DELETE') END";
    const VERSION: &str = "SELECT to_regclass('toolhost.version') IS NOT NULL";
    const CLOCK: &str = "SELECT extract(epoch FROM clock_timestamp())::float8";
    let (row, mut trips, ahead) = run!(database, connection => {
        let row = connection.query_one(SERVER, &[]).await?;
        let clock = connection.prepare_cached(CLOCK).await?;
        let (mut trips, mut ahead) = (Vec::new(), 0);
        for _ in 0..TRIPS {
            let begun = Instant::now();
            let before = unix_time::to_ms(SystemTime::now());
            let now: f64 = connection.query_one(&clock, &[]).await?.try_get(0)?;
            let after = unix_time::to_ms(SystemTime::now());
            trips.push(begun.elapsed());
            // The server looks at its clock in the middle of the trip, roughly.
            ahead = (now * 1e3) as i64 - i64::try_from(before.midpoint(after)).unwrap_or_default();
        }
        Ok((row, trips, ahead))
    })?;
    trips.sort_unstable();
    let is_made: bool = row.try_get(3)?;
    let is_half_made = is_made
        && run!(database, connection => {
            let row = connection.query_one(VERSION, &[]).await?;
            let has_version: bool = row.try_get(0)?;
            if !has_version {
                return Ok(true);
            }
            let version = connection.query_opt("SELECT version FROM toolhost.version", &[]).await?;
            let version: Option<i32> = version.map(|row| row.try_get(0)).transpose()?;
            Ok(version.is_none_or(|version| version == 0))
        })?;
    Ok(Report {
        is_half_made,
        version: row.try_get(0)?,
        latency: trips.get(TRIPS / 2).copied().unwrap_or_default(),
        clock_ahead_ms: ahead,
        may_write: row.try_get(4)?,
        hosts: match is_made {
            true => neighbours(database).await?,
            false => Vec::new(),
        },
        max_connections: row.try_get(1)?,
        is_durable: row.try_get(2)?,
    })
}
