//! Workspaces, and the chats that belong to them.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{Binding, Home, OtherHost, StoredWorkspace, Workspaces};
use uuid::Uuid;

use crate::Shared;
use crate::call_row::{time, to_time};
use crate::database::{Values, of_host, run, transact};
use crate::error::Fault;
use crate::hosts::{OF_MACHINE, known_or_gone};
use crate::lease::require_lease;
use crate::listen::{CHANNEL, Message};

/// The query for rows that [`workspace`] reads, of the table `w`.
macro_rules! select_workspaces {
    ($rest:literal) => {
        concat!(
            "SELECT w.name, w.spec, w.principal, w.created, w.used, w.removed FROM toolhost.workspaces w ",
            $rest
        )
    };
}

impl Shared {
    /// Makes a change of a host that has its lease, and tells the other hosts something, if there is something to tell. `$1` is the host.
    pub(crate) async fn change(
        &self,
        statement: &'static str,
        values: &Values<'_>,
        message: Option<Message>,
    ) -> Result<(), Fault> {
        let message = message.map(|message| message.to_json());
        let host = self.lease.host();
        let values = of_host(&host, values);
        transact!(self.database, transaction => {
            require_lease(transaction, host).await?;
            transaction.execute(statement, &values).await?;
            if let Some(message) = &message {
                transaction.query(TELL, &[&CHANNEL, message]).await?;
            }
            Ok(())
        })
    }

    /// Stores a workspace, or replaces it.
    pub(crate) async fn put_workspace(&self, workspace: &StoredWorkspace) -> Result<(), Fault> {
        const PUT: &str = "INSERT INTO toolhost.workspaces SELECT $2, $3, $4, $5, $6, $7 WHERE toolhost.has_lease($1) \
             ON CONFLICT (name) DO UPDATE SET spec = $3, principal = $4, created = $5, used = $6, removed = $7";
        let (created, used) = (to_time(workspace.created_ms), to_time(workspace.used_ms));
        let removed = workspace.removed_ms.map(to_time);
        let values: &Values<'_> = &[
            &workspace.name.as_str(),
            &workspace.spec,
            &workspace.principal,
            &created,
            &used,
            &removed,
        ];
        let message = Message::Workspace {
            by: self.lease.host(),
            name: workspace.name.to_string(),
        };
        self.change(PUT, values, Some(message)).await
    }

    /// Forgets a workspace, and which chats belong to it.
    pub(crate) async fn remove_workspace(&self, name: &WorkspaceName) -> Result<(), Fault> {
        const REMOVE: &str = "WITH bindings AS (DELETE FROM toolhost.bindings WHERE workspace = $2 AND toolhost.has_lease($1)) \
             DELETE FROM toolhost.workspaces WHERE name = $2 AND toolhost.has_lease($1)";
        self.change(REMOVE, &[&name.as_str()], None).await
    }

    /// Stores the workspace of a chat that has none. Returns the one that it has.
    pub(crate) async fn bind(&self, binding: &Binding) -> Result<WorkspaceName, Fault> {
        const BIND: &str =
            "INSERT INTO toolhost.bindings VALUES ($1, $2) ON CONFLICT (chat) DO NOTHING";
        let host = self.lease.host();
        let (chat, workspace) = (binding.chat.as_str(), binding.workspace.as_str());
        let message = Message::Bound {
            by: host,
            chat: binding.chat.clone(),
        }
        .to_json();
        let bound = transact!(self.database, transaction => {
            require_lease(transaction, host).await?;
            if home(transaction, chat, "").await?.is_some() {
                return Ok(None);
            }
            if transaction.execute(BIND, &[&chat, &workspace]).await? > 0 {
                transaction.query(TELL, &[&CHANNEL, &message]).await?;
            }
            bound(transaction, chat).await
        })?;
        match bound {
            Some(bound) => name(&bound),
            None => Ok(WorkspaceName::of_default()),
        }
    }

    /// Stores that the calls of a chat run on this machine, unless they run elsewhere.
    pub(crate) async fn settle(&self, chat: &ChatId, principal: &str) -> Result<Home, Fault> {
        const SETTLE: &str = "UPDATE toolhost.chats SET home = $2 WHERE chat = $1";
        let (host, machine) = (self.lease.host(), self.lease.machine);
        transact!(self.database, transaction => {
            require_lease(transaction, host).await?;
            match home(transaction, chat.as_str(), principal).await? {
                Some(known) if known == machine => Ok(Home::Here),
                Some(known) => {
                    let known = transaction.query_opt(OF_MACHINE, &[&known]).await?;
                    Ok(Home::Elsewhere(known_or_gone(known.as_ref())?))
                }
                None if bound(transaction, chat.as_str()).await?.is_some() => Ok(Home::Bound),
                None => {
                    transaction.execute(SETTLE, &[&chat.as_str(), &machine]).await?;
                    Ok(Home::Here)
                }
            }
        })
    }

    /// Frees a chat from a host without a lease. Returns that host.
    pub(crate) async fn free(&self, chat: &ChatId) -> Result<Option<OtherHost>, Fault> {
        const HOME: &str =
            "SELECT home FROM toolhost.chats WHERE chat = $1 AND home IS NOT NULL FOR UPDATE";
        const FREE: &str = "UPDATE toolhost.chats SET home = NULL WHERE chat = $1";
        let (host, machine) = (self.lease.host(), self.lease.machine);
        transact!(self.database, transaction => {
            require_lease(transaction, host).await?;
            let row = transaction.query_opt(HOME, &[&chat.as_str()]).await?;
            let home: Option<Uuid> = row.map(|row| row.try_get(0)).transpose()?;
            let Some(home) = home.filter(|home| *home != machine) else {
                return Ok(None);
            };
            let known = transaction.query_opt(OF_MACHINE, &[&home]).await?;
            let known = known_or_gone(known.as_ref())?;
            if known.has_lease {
                return Ok(None);
            }
            transaction.execute(FREE, &[&chat.as_str()]).await?;
            Ok(Some(known))
        })
    }

    /// Returns the host in whose default workspace the calls of a chat run.
    pub(crate) async fn home_of(&self, chat: &ChatId) -> Result<Option<Home>, Fault> {
        const HOME: &str = "SELECT home FROM toolhost.chats WHERE chat = $1 AND home IS NOT NULL";
        let machine = self.lease.machine;
        run!(self.database, connection => {
            let of_chat = connection.prepare_cached(HOME).await?;
            let home = connection.query_opt(&of_chat, &[&chat.as_str()]).await?;
            let home: Option<Uuid> = home.map(|row| row.try_get(0)).transpose()?;
            match home {
                None => Ok(None),
                Some(home) if home == machine => Ok(Some(Home::Here)),
                Some(home) => {
                    let of_machine = connection.prepare_cached(OF_MACHINE).await?;
                    let known = connection.query_opt(&of_machine, &[&home]).await?;
                    Ok(Some(Home::Elsewhere(known_or_gone(known.as_ref())?)))
                }
            }
        })
    }

    /// Returns the workspace that a chat belongs to.
    pub(crate) async fn workspace_of(
        &self,
        chat: &ChatId,
    ) -> Result<Option<StoredWorkspace>, Fault> {
        const OF_CHAT: &str = select_workspaces!(
            "JOIN toolhost.bindings b ON w.name = b.workspace WHERE b.chat = $1"
        );
        self.one_workspace(OF_CHAT, chat.as_str()).await
    }

    /// Returns a workspace.
    pub(crate) async fn workspace(
        &self,
        name: &WorkspaceName,
    ) -> Result<Option<StoredWorkspace>, Fault> {
        const ONE: &str = select_workspaces!("WHERE w.name = $1");
        self.one_workspace(ONE, name.as_str()).await
    }

    async fn one_workspace(
        &self,
        statement: &'static str,
        of: &str,
    ) -> Result<Option<StoredWorkspace>, Fault> {
        run!(self.database, connection => {
            let one = connection.prepare_cached(statement).await?;
            let row = connection.query_opt(&one, &[&of]).await?;
            row.as_ref().map(workspace).transpose()
        })
    }

    /// Returns all workspaces and their chats.
    pub(crate) async fn workspaces(&self) -> Result<Workspaces, Fault> {
        const ALL: &str = select_workspaces!("ORDER BY w.name");
        const BINDINGS: &str = "SELECT chat, workspace FROM toolhost.bindings ORDER BY chat";
        run!(self.database, connection => {
            let found = connection.query(ALL, &[]).await?;
            let found = found.iter().map(workspace);
            let found = found.collect::<Result<_, Fault>>()?;
            let bindings = connection.query(BINDINGS, &[]).await?;
            let bindings = bindings.iter().map(|row| {
                let chat: String = row.try_get(0)?;
                Ok(Binding {
                    chat: chat.parse().map_err(|_| Fault::Odd("a chat id that is none"))?,
                    workspace: name(row.try_get(1)?)?,
                })
            });
            Ok(Workspaces {
                found,
                bindings: bindings.collect::<Result<_, Fault>>()?,
                damaged: 0,
            })
        })
    }
}

/// Tells the other hosts something.
pub(crate) const TELL: &str = "SELECT pg_notify($1, $2)";

/// Returns the machine in whose default workspace the calls of a chat run. No other transaction changes that until this one ends. A chat
/// that is not known is stored.
async fn home(
    transaction: &Transaction<'_>,
    chat: &str,
    principal: &str,
) -> Result<Option<Uuid>, Fault> {
    const HOME: &str = "INSERT INTO toolhost.chats AS h (chat, owner) VALUES ($1, $2) \
         ON CONFLICT (chat) DO UPDATE SET owner = CASE h.owner WHEN '' THEN $2 ELSE h.owner END RETURNING home";
    let home = transaction.query_one(HOME, &[&chat, &principal]).await?;
    Ok(home.try_get(0)?)
}

/// Returns the name of the workspace that a chat belongs to.
async fn bound(transaction: &Transaction<'_>, chat: &str) -> Result<Option<String>, Fault> {
    const BOUND: &str = "SELECT workspace FROM toolhost.bindings WHERE chat = $1";
    let bound = transaction.query_opt(BOUND, &[&chat]).await?;
    Ok(bound.map(|row| row.try_get(0)).transpose()?)
}

fn name(text: &str) -> Result<WorkspaceName, Fault> {
    text.parse()
        .map_err(|_| Fault::Odd("a name of a workspace that is none"))
}

/// Reads a row of [`select_workspaces`].
fn workspace(row: &Row) -> Result<StoredWorkspace, Fault> {
    Ok(StoredWorkspace {
        name: name(row.try_get(0)?)?,
        spec: row.try_get(1)?,
        principal: row.try_get(2)?,
        created_ms: time(row.try_get(3)?),
        used_ms: time(row.try_get(4)?),
        removed_ms: row.try_get::<_, Option<i64>>(5)?.map(time),
    })
}
