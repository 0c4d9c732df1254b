//! The lease of a host, which a heartbeat prolongs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use deadpool_postgres::Transaction;
use parking_lot::Mutex;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use toolhost_store::News;
use uuid::Uuid;

use crate::database::{Database, Values, run};
use crate::error::Fault;
use crate::{Config, Shared};

/// How many heartbeats there are in the time of a lease.
const BEATS: u32 = 5;

/// How long the row of a host whose lease has ended is kept, for operators.
const KEPT: Duration = Duration::from_secs(3600);

/// The lease of this host.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The id under which the host has its lease. A host that loses its lease takes another one under another id.
    host: Mutex<Uuid>,
    pub(crate) machine: Uuid,
    name: String,
    address: Option<String>,
    lasts: Duration,
    beat: Duration,
    /// Held while another lease is taken.
    renewing: tokio::sync::Mutex<()>,
    is_reachable: AtomicBool,
    is_closed: AtomicBool,
    lost: AtomicU64,
    taken_over: AtomicU64,
    /// The end that the lease had when the host started. A host of this name whose lease was over by then had ended before.
    first: OnceLock<SystemTime>,
}

/// What a heartbeat found.
struct Beat {
    /// Whether the lease was prolonged.
    is_prolonged: bool,
    /// Whether a call of another host waits to be taken over.
    is_interrupted: bool,
    /// Whether a call that runs here was cancelled at another host.
    is_cancelled: bool,
}

/// The state of the leases, as this host knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leases {
    /// The id of this host.
    pub host: Uuid,
    /// Whether the last heartbeat reached the database.
    pub is_reachable: bool,
    /// How often this host has lost its lease.
    pub lost: u64,
    /// How many calls of other hosts this one has taken over.
    pub taken_over: u64,
}

/// A host of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The URL at which clients reach it, if it is known.
    pub address: Option<String>,
    /// Whether it has its lease.
    pub has_lease: bool,
}

impl Lease {
    /// Takes a lease.
    pub(crate) async fn take(database: &Database, config: &Config) -> Result<Self, Fault> {
        let lease = Self {
            host: Mutex::new(Uuid::now_v7()),
            machine: config.machine,
            name: config.name.clone(),
            address: config.address.clone(),
            lasts: config.lease,
            beat: config.beat.unwrap_or(config.lease / BEATS),
            renewing: tokio::sync::Mutex::default(),
            is_reachable: AtomicBool::new(true),
            is_closed: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            taken_over: AtomicU64::new(0),
            first: OnceLock::new(),
        };
        lease.enter(database, lease.host()).await?;
        lease.inherit(database).await?;
        Ok(lease)
    }

    /// Returns the id under which this host has its lease, or had it.
    pub(crate) fn host(&self) -> Uuid {
        *self.host.lock()
    }

    /// Returns an interval of heartbeats.
    pub(crate) fn beats(&self) -> Interval {
        let mut beats = tokio::time::interval(self.beat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beats
    }

    /// Returns how long a connection may take to answer that shows whether the database can be reached: the time of two heartbeats, so
    /// that an answer that is lost costs no lease.
    pub(crate) fn patience(&self) -> Duration {
        self.beat * 2
    }

    /// Returns a configuration of connections for heartbeats. They have one of their own, so that they wait for no other operation.
    pub(crate) fn hurried(&self, config: &Config) -> Config {
        Config {
            connections: 1,
            patience: config.patience.min(self.patience()),
            ..config.clone()
        }
    }

    pub(crate) fn numbers(&self) -> Leases {
        Leases {
            host: self.host(),
            is_reachable: self.is_reachable.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            taken_over: self.taken_over.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count_taken_over(&self, calls: usize) {
        self.taken_over.fetch_add(calls as u64, Ordering::Relaxed);
    }

    async fn enter(&self, database: &Database, host: Uuid) -> Result<(), Fault> {
        // The same id twice is another attempt, whose connection was lost.
        const ENTER: &str = "WITH earlier AS (UPDATE toolhost.hosts SET until = least(until, clock_timestamp()) WHERE machine = $2 AND id <> $1) \
             INSERT INTO toolhost.hosts (id, machine, name, address, until) \
             VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)) \
             ON CONFLICT (id) DO UPDATE SET until = excluded.until RETURNING until";
        let lasts = self.lasts.as_secs_f64();
        run!(database, connection => {
            let enter = connection.prepare_cached(ENTER).await?;
            let values: &Values<'_> = &[&host, &self.machine, &self.name, &self.address, &lasts];
            let until = connection.query_one(&enter, values).await?.try_get(0)?;
            self.first.get_or_init(|| until);
            Ok(())
        })
    }

    /// Takes over the chats of hosts that had the name of this one and ended before it started: those whose state directory is lost, and
    /// whose machine does not come back. A host that runs beside this one under the same name keeps its chats.
    async fn inherit(&self, database: &Database) -> Result<(), Fault> {
        const INHERIT: &str = "UPDATE toolhost.chats SET home = $1 WHERE toolhost.has_lease($4) AND home IN (SELECT machine FROM \
             (SELECT DISTINCT ON (machine) machine, name, until FROM toolhost.hosts ORDER BY machine, until DESC) last \
             WHERE machine <> $1 AND name = $2 AND until <= least(clock_timestamp(), $3))";
        let (host, Some(first)) = (self.host(), self.first.get()) else {
            return Ok(());
        };
        if self.name.is_empty() {
            return Ok(());
        }
        let chats = run!(database, connection => {
            let values: &Values<'_> = &[&self.machine, &self.name, first, &host];
            Ok(connection.execute(INHERIT, values).await?)
        })?;
        if chats > 0 {
            tracing::info!(
                chats,
                name = self.name,
                "the chats of an earlier server of this name run here now: its processes are lost"
            );
        }
        Ok(())
    }

    /// Prolongs the lease, unless it has run out.
    async fn prolong(&self, database: &Database, host: Uuid) -> Result<Beat, Fault> {
        const PROLONG: &str = "WITH prolonged AS (UPDATE toolhost.hosts SET until = clock_timestamp() + make_interval(secs => $2) \
             WHERE id = $1 AND until > clock_timestamp() RETURNING id) \
             SELECT EXISTS (SELECT FROM prolonged), EXISTS (SELECT FROM toolhost.calls c WHERE state = 0 AND NOT EXISTS \
             (SELECT FROM toolhost.hosts h WHERE h.id = c.host AND h.until > clock_timestamp())), \
             EXISTS (SELECT FROM toolhost.calls WHERE state = 0 AND cancelled AND host = $1 AND NOT taken)";
        let lasts = self.lasts.as_secs_f64();
        run!(database, connection => {
            let prolong = connection.prepare_cached(PROLONG).await?;
            let row = connection.query_one(&prolong, &[&host, &lasts]).await?;
            Ok(Beat {
                is_prolonged: row.try_get(0)?,
                is_interrupted: row.try_get(1)?,
                is_cancelled: row.try_get(2)?,
            })
        })
    }

    /// Gives the lease up: other hosts take over the calls of this one at once.
    pub(crate) async fn give_up(&self, database: &Database) -> Result<(), Fault> {
        self.is_closed.store(true, Ordering::SeqCst);
        let host = self.host();
        run!(database, connection => {
            const LEAVE: &str = "UPDATE toolhost.hosts SET until = least(until, clock_timestamp()) WHERE id = $1";
            connection.execute(LEAVE, &[&host]).await?;
            Ok(())
        })
    }
}

/// Prolongs the lease of a host for as long as the store is open. `database` has the connection of the heartbeats.
pub(crate) async fn beat(shared: Arc<Shared>, database: Database) {
    let lease = &shared.lease;
    let mut beats = lease.beats();
    // The lease was taken just now.
    beats.reset();
    // The lease of an earlier server of this name may still have to run out.
    let mut inherits = Some(Instant::now() + lease.lasts + lease.beat * 2);
    loop {
        beats.tick().await;
        if lease.is_closed.load(Ordering::SeqCst) {
            return;
        }
        let host = lease.host();
        match lease.prolong(&database, host).await {
            Ok(beat) if beat.is_prolonged => {
                shared.found();
                if beat.is_interrupted {
                    shared.tell(News::Interrupted);
                }
                if let Some(until) = inherits {
                    match lease.inherit(&database).await {
                        Ok(()) => inherits = inherits.filter(|_| Instant::now() < until),
                        Err(fault) => shared.missed(&fault),
                    }
                }
                if beat.is_cancelled
                    && let Err(fault) = shared.find_cancelled(&database, host).await
                {
                    shared.missed(&fault);
                }
            }
            Ok(_) if lease.is_closed.load(Ordering::SeqCst) => return,
            Ok(_) => {
                if let Err(fault) = shared.renew(host).await {
                    shared.missed(&fault);
                }
            }
            Err(fault) => shared.missed(&fault),
        }
    }
}

impl Shared {
    /// Sends news to the host, if it listens.
    pub(crate) fn tell(&self, news: News) {
        _ = self.news.send(news);
    }

    /// Notes that the database was reached.
    fn found(&self) {
        if !self.lease.is_reachable.swap(true, Ordering::Relaxed) {
            tracing::info!("the database can be reached again");
            self.tell(News::Reachable);
        }
    }

    /// Notes that the database was not reached.
    fn missed(&self, fault: &Fault) {
        if self.lease.is_reachable.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                error = fault as &dyn std::error::Error,
                "the database cannot be reached: new calls are refused, and those that run go on"
            );
        }
    }

    /// Takes another lease in the place of one that was lost.
    pub(crate) async fn renew(&self, lost: Uuid) -> Result<(), Fault> {
        let lease = &self.lease;
        let _turn = lease.renewing.lock().await;
        if lease.host() != lost {
            return Ok(());
        }
        if lease.is_closed.load(Ordering::SeqCst) {
            return Err(Fault::NoLease);
        }
        let next = Uuid::now_v7();
        lease.enter(&self.database, next).await?;
        *lease.host.lock() = next;
        // The calls that ran under the earlier id are ended by the host that takes them over, be it this one. They run on here.
        let running = std::mem::take(&mut *self.running.lock());
        lease.lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            host = %lost,
            "this host was cut off from the database for longer than its lease: the outcomes of the calls that it runs will not be stored"
        );
        self.found();
        self.tell(News::Interrupted);
        self.tell(News::Reachable);
        if let Err(fault) = self.find_cancelled_of(running).await {
            let error = &fault as &dyn std::error::Error;
            tracing::warn!(error, "the cancellations of calls that run cannot be read");
        }
        Ok(())
    }

    /// Forgets hosts whose leases ended long ago. A host is kept that a running call names, and the last one of a machine that a chat names:
    /// clients learn from it where the chat runs.
    pub(crate) async fn forget_hosts(&self) -> Result<(), Fault> {
        const FORGET: &str = "DELETE FROM toolhost.hosts h WHERE until < clock_timestamp() - make_interval(secs => $1) \
             AND NOT EXISTS (SELECT FROM toolhost.calls c WHERE c.state = 0 AND c.host = h.id) \
             AND (EXISTS (SELECT FROM toolhost.hosts l WHERE l.machine = h.machine AND (l.until, l.id) > (h.until, h.id)) \
                 OR NOT EXISTS (SELECT FROM toolhost.chats c WHERE c.home = h.machine))";
        let kept = KEPT.as_secs_f64();
        run!(self.database, connection => {
            connection.execute(FORGET, &[&kept]).await?;
            Ok(())
        })
    }
}

/// Fails if a host has lost its lease.
pub(crate) async fn require_lease(transaction: &Transaction<'_>, host: Uuid) -> Result<(), Fault> {
    const LEASE: &str = "SELECT toolhost.has_lease($1)";
    let has_lease = transaction.query_one(LEASE, &[&host]).await?;
    match has_lease.try_get(0)? {
        true => Ok(()),
        false => Err(Fault::NoLease),
    }
}

/// Does work for the host that has this lease. If the host has lost it, takes another lease and does the work once more:
/// `with_lease!(shared, host => work)`. A macro for the same reason as [`run`].
macro_rules! with_lease {
    ($shared:expr, $host:ident => $work:expr) => {{
        let shared: &$crate::Shared = $shared;
        let $host = shared.lease.host();
        match $work {
            Err($crate::error::Fault::NoLease) => match shared.renew($host).await {
                Ok(()) => {
                    let $host = shared.lease.host();
                    $work
                }
                Err(fault) => Err(fault),
            },
            done => done,
        }
    }};
}
pub(crate) use with_lease;

/// Returns the hosts of the store.
pub(crate) async fn neighbours(database: &Database) -> Result<Vec<Neighbour>, Fault> {
    const ALL: &str =
        "SELECT id, name, address, until > clock_timestamp() FROM toolhost.hosts ORDER BY name, id";
    run!(database, connection => {
        let rows = connection.query(ALL, &[]).await?;
        let rows = rows.iter().map(|row| {
            Ok(Neighbour {
                id: row.try_get(0)?,
                name: row.try_get(1)?,
                address: row.try_get(2)?,
                has_lease: row.try_get(3)?,
            })
        });
        rows.collect()
    })
}
