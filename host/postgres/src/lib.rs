//! The store of several hosts: [`Postgres`] implements [`Store`](toolhost_store::Store) with a database of PostgreSQL.
//!
//! Each host has a row with a **lease**, which a heartbeat prolongs. Every change asks in its own statement whether the host still has its
//! lease, by the clock of the database alone. A call names the host that runs it. When the lease of a host has run out, another host takes
//! its calls over, and then the first one can no longer end them: it has to take a new lease, under another id.

mod beginnings;
mod call_row;
mod calls;
mod cancel;
mod cancelled;
mod chats;
mod config;
mod database;
mod error;
mod hosts;
mod lease;
mod listen;
mod operations;
mod pages;
mod plugins;
mod query;
mod readers;
mod records;
mod report;
mod schema;
mod sweep;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolhost_state::id::{CallId, ChatId};
use toolhost_store::{News, StoreError};

use beginnings::Beginnings;
pub use config::Config;
use database::{Database, transact};
use error::Fault;
use lease::Lease;
pub use lease::{Leases, Neighbour};
pub use report::{Report, report};
use sweep::Touched;

/// A call: its chat, and its name there.
type Key = (ChatId, CallId);

/// The part of a database of PostgreSQL that belongs to Toolhost: the schema `toolhost`.
#[derive(Debug)]
pub struct Postgres {
    shared: Arc<Shared>,
    news: Mutex<Option<UnboundedReceiver<News>>>,
    /// The heartbeat, the listener, and the task that withdraws beginnings. They end with the store.
    _tasks: JoinSet<()>,
}

/// The state that the store and its tasks share.
#[derive(Debug)]
struct Shared {
    database: Database,
    /// The key with which all hosts sign links.
    link_key: [u8; 32],
    lease: Lease,
    beginnings: Beginnings,
    /// The calls that began here and have no end yet.
    running: Mutex<HashSet<Key>>,
    /// The calls of other hosts for whose ends callers of this host wait.
    awaited: Mutex<HashMap<Key, watch::Sender<()>>>,
    touched: Mutex<Touched>,
    news: UnboundedSender<News>,
    changes: AtomicU64,
    failures: AtomicU64,
}

impl Postgres {
    /// Connects to the database, makes or upgrades its schema, and takes a lease.
    ///
    /// # Errors
    ///
    /// If the address is wrong, the database cannot be reached, or the role may not make the schema.
    pub async fn open(config: Config) -> Result<Self, StoreError> {
        let opening = async {
            let database = Database::new(&config)?;
            let link_key = transact!(database, transaction => {
                schema::migrate(transaction).await?;
                schema::link_key(transaction).await
            })?;
            let lease = Lease::take(&database, &config).await?;
            let beating = Database::new(&lease.hurried(&config))?;
            Ok((database, link_key, lease, beating))
        };
        let opened: Result<_, Fault> = opening.await;
        let (database, link_key, lease, beating) =
            opened.map_err(|fault| fault.into_store_error("open the database"))?;
        let (sender, news) = unbounded_channel();
        let shared = Arc::new(Shared {
            database,
            link_key,
            lease,
            beginnings: Beginnings::default(),
            running: Mutex::default(),
            awaited: Mutex::default(),
            touched: Mutex::default(),
            news: sender,
            changes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(lease::beat(Arc::clone(&shared), beating));
        tasks.spawn(beginnings::withdraw(Arc::clone(&shared)));
        let (patience, (begun, has_begun)) = (config.patience, oneshot::channel());
        tasks.spawn(listen::listen(Arc::clone(&shared), config, begun));
        // A host that is open hears of all that others do from then on.
        if !matches!(timeout(patience, has_begun).await, Ok(Ok(()))) {
            return Err(Fault::Late(patience).into_store_error("listen to the database"));
        }
        Ok(Self {
            shared,
            news: Mutex::new(Some(news)),
            _tasks: tasks,
        })
    }

    /// Returns the state of the leases, for metrics and checks.
    pub fn leases(&self) -> Leases {
        self.shared.lease.numbers()
    }
}
