//! The store of `[store]`, which several hosts share.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use toolhost_http::forward::Forwarding;
use toolhost_link::TlsFiles;
use toolhost_postgres::{Config, Postgres};
use toolhost_service::tls;
use toolhost_state::state_dir::StateDir;
use uuid::Uuid;

use crate::config::{self, Store};

/// The file of a state directory by which other hosts know the one that uses it.
const MACHINE: &str = "machine";

/// Connects to the database, and takes a lease for the host that has locked this state directory.
pub(super) async fn open(store: &Store, directory: Option<&Path>) -> anyhow::Result<Arc<Postgres>> {
    let mut config = config(store)?;
    if let Some(directory) = directory {
        config.machine = machine(directory).with_context(|| {
            format!(
                "the file {MACHINE} of {} cannot be used",
                directory.display()
            )
        })?;
    }
    let opened = Postgres::open(config).await;
    Ok(Arc::new(opened.context(
        "the store of [store] cannot be used; `toolhost doctor` looks closer",
    )?))
}

/// Returns what the store is told.
pub(super) fn config(store: &Store) -> anyhow::Result<Config> {
    let mut config = Config::new(store.url.reveal(), tls::client(store.ca.as_deref())?);
    config.password.clone_from(&store.password);
    config.address.clone_from(&store.address);
    config.name = name(store);
    if let Some(connections) = store.connections {
        config.connections = connections;
    }
    if let Some(lease) = store.lease {
        config.lease = lease;
    }
    Ok(config)
}

/// Returns the connections to other hosts, if requests are sent on to them.
pub(super) fn forwarding(config: &config::Config) -> anyhow::Result<Option<Forwarding>> {
    let cluster = config.cluster();
    let Some(store) = config.store().filter(|_| cluster.forward) else {
        return Ok(None);
    };
    let tls = tls::client(cluster.ca.as_deref()).context("`ca` of [cluster] cannot be used")?;
    Ok(Some(Forwarding::new(&name(store), tls)?))
}

/// Returns the TLS settings for other hosts, if requests are sent on to them.
pub(super) fn hosts(config: &config::Config) -> Option<TlsFiles> {
    let cluster = config.cluster();
    config.store().filter(|_| cluster.forward)?;
    Some(TlsFiles {
        authorities: cluster.ca.clone(),
        identity: None,
    })
}

fn name(store: &Store) -> String {
    store.name.clone().unwrap_or_else(this_machine)
}

/// Returns the id in a state directory, which is made if there is none.
fn machine(directory: &Path) -> anyhow::Result<Uuid> {
    let directory = StateDir::open(directory)?;
    if let Some(known) = directory.read(MACHINE, 64)? {
        return Ok(Uuid::try_parse_ascii(known.trim_ascii())?);
    }
    let machine = Uuid::now_v7();
    directory.write(MACHINE, machine.to_string().as_bytes())?;
    Ok(machine)
}

/// Returns the name of this machine.
fn this_machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_ascii().to_owned()
}
