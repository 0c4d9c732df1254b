//! Sessions, workspaces, and the chats that belong to them.

use tokio_postgres::types::ToSql;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{Binding, Session, StoredWorkspace, Workspaces};

use crate::Shared;
use crate::call_row::{time, to_time};
use crate::database::{run, transact};
use crate::error::Fault;

impl Shared {
    /// Makes a change of a host that has its lease. `$1` is the host.
    async fn change(
        &self,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Fault> {
        let host = self.lease.host();
        let values: Vec<_> = std::iter::once(&host as &(dyn ToSql + Sync))
            .chain(values.iter().copied())
            .collect();
        transact!(self.database, transaction => {
            crate::cancel::require_lease(transaction, host).await?;
            transaction.execute(statement, &values).await?;
            Ok(())
        })
    }

    /// Stores a session, or replaces it.
    pub(crate) async fn put_session(&self, session: &Session) -> Result<(), Fault> {
        const PUT: &str = "INSERT INTO toolhost.sessions SELECT $2, $3, $4, $5, $6, $7, $8, $9, $10 WHERE toolhost.has_lease($1) \
             ON CONFLICT (id) DO UPDATE SET chat = $3, named = $4, principal = $5, token = $6, revision = $7, client = $8, created = $9, \
             used = $10";
        let (created, used) = (to_time(session.created_ms), to_time(session.used_ms));
        let values: [&(dyn ToSql + Sync); 9] = [
            &session.id,
            &session.chat.as_str(),
            &session.is_named,
            &session.principal,
            &session.token,
            &session.revision,
            &session.client,
            &created,
            &used,
        ];
        self.change(PUT, &values).await
    }

    /// Forgets a session.
    pub(crate) async fn remove_session(&self, id: &str) -> Result<(), Fault> {
        const REMOVE: &str =
            "DELETE FROM toolhost.sessions WHERE id = $2 AND toolhost.has_lease($1)";
        self.change(REMOVE, &[&id]).await
    }

    /// Returns all sessions.
    pub(crate) async fn sessions(&self) -> Result<Vec<Session>, Fault> {
        const ALL: &str = "SELECT id, chat, named, principal, token, revision, client, created, used FROM toolhost.sessions ORDER BY id";
        run!(self.database, connection => {
            let rows = connection.query(ALL, &[]).await?;
            let rows = rows.iter().map(|row| {
                let chat: String = row.try_get(1)?;
                Ok(Session {
                    id: row.try_get(0)?,
                    chat: chat.parse().map_err(|_| Fault::Odd("a chat id that is none"))?,
                    is_named: row.try_get(2)?,
                    principal: row.try_get(3)?,
                    token: row.try_get(4)?,
                    revision: row.try_get(5)?,
                    client: row.try_get(6)?,
                    created_ms: time(row.try_get(7)?),
                    used_ms: time(row.try_get(8)?),
                })
            });
            rows.collect()
        })
    }

    /// Stores a workspace, or replaces it.
    pub(crate) async fn put_workspace(&self, workspace: &StoredWorkspace) -> Result<(), Fault> {
        const PUT: &str = "INSERT INTO toolhost.workspaces SELECT $2, $3, $4, $5, $6, $7 WHERE toolhost.has_lease($1) \
             ON CONFLICT (name) DO UPDATE SET spec = $3, principal = $4, created = $5, used = $6, removed = $7";
        let (created, used) = (to_time(workspace.created_ms), to_time(workspace.used_ms));
        let removed = workspace.removed_ms.map(to_time);
        let values: [&(dyn ToSql + Sync); 6] = [
            &workspace.name.as_str(),
            &workspace.spec,
            &workspace.principal,
            &created,
            &used,
            &removed,
        ];
        self.change(PUT, &values).await
    }

    /// Forgets a workspace, and which chats belong to it.
    pub(crate) async fn remove_workspace(&self, name: &WorkspaceName) -> Result<(), Fault> {
        const REMOVE: &str = "WITH bindings AS (DELETE FROM toolhost.bindings WHERE workspace = $2 AND toolhost.has_lease($1)) \
             DELETE FROM toolhost.workspaces WHERE name = $2 AND toolhost.has_lease($1)";
        self.change(REMOVE, &[&name.as_str()]).await
    }

    /// Stores the workspace of a chat that has none. Returns the one that it has.
    pub(crate) async fn bind(&self, binding: &Binding) -> Result<WorkspaceName, Fault> {
        const BIND: &str =
            "INSERT INTO toolhost.bindings VALUES ($1, $2) ON CONFLICT (chat) DO NOTHING";
        const BOUND: &str = "SELECT workspace FROM toolhost.bindings WHERE chat = $1";
        let host = self.lease.host();
        let (chat, workspace) = (binding.chat.as_str(), binding.workspace.as_str());
        let bound = transact!(self.database, transaction => {
            crate::cancel::require_lease(transaction, host).await?;
            transaction.execute(BIND, &[&chat, &workspace]).await?;
            let bound = transaction.query_one(BOUND, &[&chat]).await?;
            Ok(bound.try_get::<_, String>(0)?)
        })?;
        bound
            .parse()
            .map_err(|_| Fault::Odd("a name of a workspace that is none"))
    }

    /// Returns all workspaces and their chats.
    pub(crate) async fn workspaces(&self) -> Result<Workspaces, Fault> {
        const ALL: &str = "SELECT name, spec, principal, created, used, removed FROM toolhost.workspaces ORDER BY name";
        const BINDINGS: &str = "SELECT chat, workspace FROM toolhost.bindings ORDER BY chat";
        let name = |text: String| {
            text.parse()
                .map_err(|_| Fault::Odd("a name of a workspace that is none"))
        };
        run!(self.database, connection => {
            let found = connection.query(ALL, &[]).await?;
            let found = found.iter().map(|row| {
                Ok(StoredWorkspace {
                    name: name(row.try_get(0)?)?,
                    spec: row.try_get(1)?,
                    principal: row.try_get(2)?,
                    created_ms: time(row.try_get(3)?),
                    used_ms: time(row.try_get(4)?),
                    removed_ms: row.try_get::<_, Option<i64>>(5)?.map(time),
                })
            });
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
