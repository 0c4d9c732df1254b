//! The hosts of the store as they know each other, and the agents that are connected to them.

use tokio_postgres::Row;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{AgentElsewhere, ConnectedAgent, OtherHost};
use uuid::Uuid;

use crate::Shared;
use crate::database::run;
use crate::error::Fault;
use crate::lease::with_lease;

/// The query for the newest host of a machine, `$1`, as [`other`] reads it.
pub(crate) const OF_MACHINE: &str = "SELECT name, address, until > clock_timestamp() FROM toolhost.hosts \
     WHERE machine = $1 ORDER BY until DESC LIMIT 1";

impl Shared {
    /// Returns the host of a machine.
    pub(crate) async fn host_of_machine(&self, machine: &str) -> Result<Option<OtherHost>, Fault> {
        let Ok(machine) = Uuid::try_parse(machine) else {
            return Ok(None);
        };
        run!(self.database, connection => {
            let of_machine = connection.prepare_cached(OF_MACHINE).await?;
            let row = connection.query_opt(&of_machine, &[&machine]).await?;
            row.as_ref().map(other).transpose()
        })
    }

    /// Stores that an agent has connected to this host.
    pub(crate) async fn put_agent(&self, agent: &ConnectedAgent) -> Result<(), Fault> {
        const PUT: &str = "INSERT INTO toolhost.agents (name, host, token) SELECT $2, $1, $3 WHERE toolhost.has_lease($1) \
             ON CONFLICT (name) DO UPDATE SET host = $1, token = $3";
        with_lease!(self, host => run!(self.database, connection => {
            let put = connection.prepare_cached(PUT).await?;
            match connection.execute(&put, &[&host, &agent.name.as_str(), &agent.token.reveal()]).await? {
                0 => Err(Fault::NoLease),
                _ => Ok(()),
            }
        }))
    }

    /// Stores that these agents are still connected to this host, and no others.
    pub(crate) async fn sync_agents(&self, agents: &[ConnectedAgent]) -> Result<(), Fault> {
        const SYNC: &str = "WITH gone AS (DELETE FROM toolhost.agents WHERE host = $1 AND name <> ALL ($2)) \
             INSERT INTO toolhost.agents AS a (name, host, token) \
             SELECT name, $1, token FROM unnest($2::text[], $3::text[]) AS agents (name, token) WHERE toolhost.has_lease($1) ORDER BY name \
             ON CONFLICT (name) DO UPDATE SET host = $1, token = excluded.token \
             WHERE a.host = $1 AND a.token IS DISTINCT FROM excluded.token OR NOT toolhost.has_lease(a.host)";
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let tokens: Vec<_> = agents.iter().map(|agent| agent.token.reveal()).collect();
        let host = self.lease.host();
        run!(self.database, connection => {
            let sync = connection.prepare_cached(SYNC).await?;
            connection.execute(&sync, &[&host, &names, &tokens]).await?;
            Ok(())
        })
    }

    /// Stores that an agent is no longer connected to this host.
    pub(crate) async fn remove_agent(&self, agent: &WorkspaceName) -> Result<(), Fault> {
        const REMOVE: &str = "DELETE FROM toolhost.agents WHERE name = $2 AND host = $1";
        let host = self.lease.host();
        run!(self.database, connection => {
            let remove = connection.prepare_cached(REMOVE).await?;
            connection.execute(&remove, &[&host, &agent.as_str()]).await?;
            Ok(())
        })
    }

    /// Returns the other host to which an agent is connected, if that host has its lease.
    pub(crate) async fn host_of_agent(
        &self,
        agent: &WorkspaceName,
    ) -> Result<Option<AgentElsewhere>, Fault> {
        const OF_AGENT: &str = "SELECT h.name, h.address, true, a.token FROM toolhost.agents a JOIN toolhost.hosts h ON h.id = a.host \
             WHERE a.name = $2 AND h.machine <> $1 AND h.until > clock_timestamp()";
        let machine = self.lease.machine;
        run!(self.database, connection => {
            let of_agent = connection.prepare_cached(OF_AGENT).await?;
            let row = connection.query_opt(&of_agent, &[&machine, &agent.as_str()]).await?;
            row.map(|row| {
                let token: Option<String> = row.try_get(3)?;
                let (host, token) = (other(&row)?, token.map(Secret::new));
                Ok(AgentElsewhere { host, token })
            })
            .transpose()
        })
    }
}

/// Reads the name and the address of a host, and whether it has its lease.
fn other(row: &Row) -> Result<OtherHost, Fault> {
    Ok(OtherHost {
        name: row.try_get(0)?,
        address: row.try_get(1)?,
        has_lease: row.try_get(2)?,
    })
}

/// Returns the host of a row, or one that is no longer known.
pub(crate) fn known_or_gone(row: Option<&Row>) -> Result<OtherHost, Fault> {
    row.map_or_else(
        || {
            Ok(OtherHost {
                name: "that is gone".to_owned(),
                address: None,
                has_lease: false,
            })
        },
        other,
    )
}
