//! Hosts that share their chats.

use std::sync::Arc;

use toolhost_postgres::{Config, Postgres};
use toolhost_store::HostState;

use super::{elsewhere, postgres};

/// The kind of workspaces that three hosts share, with their chats.
pub(crate) const KIND: &str = "cluster";

/// The state of a host that shares its chats.
pub(crate) async fn state(config: Config) -> (HostState, Arc<Postgres>) {
    let store = Arc::new(Postgres::open(config).await.unwrap());
    let own = HostState::temporary(std::env::temp_dir()).unwrap();
    (own.sharing(Arc::clone(&store) as _), store)
}

/// Returns the states of the hosts of the kind that the variable chooses; `None` is a state of the host's own.
pub(crate) async fn states_of_kind() -> Vec<Option<HostState>> {
    if std::env::var(elsewhere::KIND).as_deref() != Ok(KIND) {
        return vec![None];
    }
    let url = postgres::database();
    let mut states = Vec::new();
    for _ in 0..3 {
        states.push(Some(state(postgres::config(&url)).await.0));
    }
    states
}
