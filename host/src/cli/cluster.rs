//! The store of `[store]`, which several hosts share.

use std::sync::Arc;

use anyhow::Context as _;
use toolhost_postgres::{Config, Postgres};
use toolhost_service::tls;

use crate::config::Store;

/// Connects to the database, and takes a lease for this host.
pub(super) async fn open(store: &Store) -> anyhow::Result<Arc<Postgres>> {
    let opened = Postgres::open(config(store)?).await;
    Ok(Arc::new(opened.context(
        "the store of [store] cannot be used; `toolhost doctor` looks closer",
    )?))
}

/// Returns what the store is told.
pub(super) fn config(store: &Store) -> anyhow::Result<Config> {
    let mut config = Config::new(store.url.reveal(), tls::client(store.ca.as_deref())?);
    config.password.clone_from(&store.password);
    config.address.clone_from(&store.address);
    config.name = store.name.clone().unwrap_or_else(this_machine);
    if let Some(connections) = store.connections {
        config.connections = connections;
    }
    if let Some(lease) = store.lease {
        config.lease = lease;
    }
    Ok(config)
}

/// Returns the name of this machine.
fn this_machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_ascii().to_owned()
}
