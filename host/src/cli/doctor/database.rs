//! The check of the database of `[store]`.

use std::time::Duration;

use toolhost_postgres::{Report, report};
use toolhost_service::errors;

use super::super::cluster;
use super::Check;
use crate::config::Store;

const NAME: &str = "database";

/// A call waits for two round trips. Above this time for one of them, people notice.
const SLOW: Duration = Duration::from_millis(20);

/// Ages are measured by the clock of the database, and the times in lists by that of each host.
const MOST_AHEAD_MS: u64 = 2_000;

/// Looks at the database.
pub(super) async fn check(store: &Store) -> Check {
    let config = match cluster::config(store) {
        Ok(config) => config,
        Err(error) => {
            return Check::failed(NAME, errors::full_text(&error), "see `ca` of [store]");
        }
    };
    match report(&config).await {
        Ok(report) => of_report(&report, config.connections),
        Err(error) => Check::failed(
            NAME,
            errors::full_text(&error.into()),
            "compare `url` of [store] with what psql takes on this machine",
        ),
    }
}

fn of_report(report: &Report, connections: usize) -> Check {
    let live = report.hosts.iter().filter(|host| host.has_lease);
    let names: Vec<_> = live.map(|host| host.name.as_str()).collect();
    let text = format!(
        "PostgreSQL {}, {:.1} ms away, clock {} ms ahead; hosts now: {}",
        report.version,
        report.latency.as_secs_f64() * 1e3,
        report.clock_ahead_ms,
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    );
    let major = report.version.split('.').next().unwrap_or_default();
    let needed = (names.len() + 1) * (connections + 1);
    let warned = |advice: String| Check::warning(NAME, text.clone(), advice);
    if !report.may_write {
        let advice =
            "GRANT CREATE ON DATABASE to the role, or let the role own the schema toolhost";
        return Check::failed(NAME, text, advice);
    }
    if report.is_half_made {
        let advice = "the schema toolhost has tables, and its version is 0: restore it from a backup, or DROP SCHEMA toolhost CASCADE, \
             which forgets all calls";
        return Check::failed(NAME, text, advice);
    }
    if major.parse::<u32>().is_ok_and(|major| major < 13) {
        return warned("PostgreSQL 13 or newer is what Toolhost is made for".to_owned());
    }
    if !report.is_durable {
        return warned(
            "fsync or synchronous_commit is off: a call that began may run again after the server of the database has failed".to_owned(),
        );
    }
    if report.latency > SLOW {
        return warned(
            "each call waits for two round trips: move host and database closer together"
                .to_owned(),
        );
    }
    if report.clock_ahead_ms.unsigned_abs() > MOST_AHEAD_MS {
        return warned(
            "set the clocks of both machines by NTP: times in lists are those of each host"
                .to_owned(),
        );
    }
    if usize::try_from(report.max_connections).is_ok_and(|most| needed > most) {
        return warned(format!(
            "with this host there may be {needed} connections, and the server takes {}: lower `connections` of [store], or raise max_connections",
            report.max_connections
        ));
    }
    Check::ok(NAME, text)
}
