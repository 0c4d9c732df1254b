//! The connections to the database.

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError,
    RecyclingMethod, Runtime, Timeouts, Transaction,
};
use tokio_postgres::IsolationLevel;
use tokio_postgres::types::ToSql;
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use crate::Config;
use crate::error::Fault;

/// How often a transaction is tried that meets others, or whose connection turns out to be lost.
const ATTEMPTS: usize = 3;

/// Values of a statement.
pub(crate) type Values<'a> = [&'a (dyn ToSql + Sync)];

/// Returns these values with the host in front of them, as `$1`.
pub(crate) fn of_host<'a>(host: &'a Uuid, values: &Values<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
    let host = std::iter::once(host as &(dyn ToSql + Sync));
    host.chain(values.iter().copied()).collect()
}

/// A pool of connections.
#[derive(Debug)]
pub(crate) struct Database {
    pool: Pool,
    patience: Duration,
}

impl Database {
    /// Makes a pool without connections.
    pub(crate) fn new(config: &Config) -> Result<Self, Fault> {
        let tls = MakeRustlsConnect::new(config.tls.clone());
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.parsed()?, tls, recycling);
        let pool = Pool::builder(manager)
            .max_size(config.connections)
            .timeouts(Timeouts {
                wait: Some(config.patience),
                create: Some(config.patience),
                recycle: Some(config.patience),
            })
            .post_create(Hook::async_fn(|client: &mut ClientWrapper, _| {
                let set = client.batch_execute(Config::SESSION);
                Box::pin(async { set.await.map_err(HookError::Backend) })
            }))
            .runtime(Runtime::Tokio1)
            .build();
        let pool = pool.map_err(|_| Fault::Pool(PoolError::NoRuntimeSpecified))?;
        Ok(Self {
            pool,
            patience: config.patience,
        })
    }

    /// Returns how many connections there are, and how many operations wait for one.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let status = self.pool.status();
        (status.size as u64, status.waiting as u64)
    }

    /// Takes a connection. The pool bounds the time until one is made, and not the time of the first statements on it.
    pub(crate) async fn connection(&self) -> Result<Object, Fault> {
        self.within(async { Ok(self.pool.get().await?) }).await
    }

    /// Waits for work no longer than the database has time to answer.
    pub(crate) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let done = tokio::time::timeout(self.patience, work).await;
        done.unwrap_or(Err(Fault::Late(self.patience)))
    }

    /// Returns what came of an attempt; `None` if there is to be another one.
    pub(crate) fn judge<T>(
        connection: Object,
        attempts: &mut usize,
        done: Result<T, Fault>,
    ) -> Option<Result<T, Fault>> {
        let fault = match done {
            Ok(done) => return Some(Ok(done)),
            Err(fault) => fault,
        };
        let is_lost = fault.is_unreachable();
        if is_lost {
            // It may still wait for the statement that it has, or be closed without having noticed.
            drop(Object::take(connection));
        }
        *attempts += 1;
        let may_help = (is_lost && !matches!(fault, Fault::Late(_))) || fault.is_conflict();
        (*attempts == ATTEMPTS || !may_help).then_some(Err(fault))
    }
}

/// Begins a transaction.
pub(crate) async fn transaction(connection: &mut Object) -> Result<Transaction<'_>, Fault> {
    let transaction = connection.build_transaction();
    let transaction = transaction.isolation_level(IsolationLevel::ReadCommitted);
    Ok(transaction.start().await?)
}

/// Runs statements on a connection: `run!(database, connection => work)`. They may run twice, because it is not known of an attempt whose
/// connection was lost whether it had an effect. A connection that was lost is replaced. A macro, because the compiler does not see that the
/// futures of asynchronous closures with borrowed arguments can be sent to other threads.
macro_rules! run {
    ($database:expr, $connection:ident => $work:expr) => {{
        let database: &$crate::database::Database = &$database;
        let mut attempts = 0;
        loop {
            let taken = match database.connection().await {
                Ok(taken) => taken,
                Err(fault) => break Err(fault),
            };
            let $connection = &taken;
            let done = database.within(async { $work }).await;
            if let Some(done) = $crate::database::Database::judge(taken, &mut attempts, done) {
                break done;
            }
        }
    }};
}
pub(crate) use run;

/// Runs a transaction that may run twice, as [`run`] does: `transact!(database, transaction => work)`.
macro_rules! transact {
    ($database:expr, $transaction:ident => $work:expr) => {{
        let database: &$crate::database::Database = &$database;
        let mut attempts = 0;
        loop {
            let mut taken = match database.connection().await {
                Ok(taken) => taken,
                Err(fault) => break Err(fault),
            };
            let transacted = async {
                let begun = $crate::database::transaction(&mut taken).await?;
                let $transaction = &begun;
                let done = database.within(async { $work }).await?;
                begun.commit().await?;
                Ok(done)
            };
            let done = database.within(transacted).await;
            if let Some(done) = $crate::database::Database::judge(taken, &mut attempts, done) {
                break done;
            }
        }
    }};
}
pub(crate) use transact;
