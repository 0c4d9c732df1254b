//! The rows of workspaces and of the chats that belong to them. They have checksums, because a damaged name must not lead a chat into
//! another workspace.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::checksum::checksum;
use super::core::Core;
use super::fault::Fault;
use super::filter::Filter;
use crate::{Binding, StoredWorkspace, Workspaces};
use toolhost_state::workspace_name::WorkspaceName;

impl Core {
    /// Stores a workspace, or replaces it.
    pub(super) fn put_workspace(&mut self, workspace: &StoredWorkspace) -> Result<(), Fault> {
        let put = "REPLACE INTO workspaces VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let time = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        self.connection.prepare_cached(put)?.execute(params![
            workspace.name.as_str(),
            workspace.spec,
            workspace.principal,
            time(workspace.created_ms),
            time(workspace.used_ms),
            workspace.removed_ms.map(time),
            sum(workspace),
        ])?;
        Ok(())
    }

    /// Forgets a workspace and its bindings.
    pub(super) fn remove_workspace(&mut self, name: &WorkspaceName) -> Result<(), Fault> {
        for table in [
            "DELETE FROM bindings WHERE workspace = ?1",
            "DELETE FROM workspaces WHERE name = ?1",
        ] {
            self.connection
                .prepare_cached(table)?
                .execute([name.as_str()])?;
        }
        Ok(())
    }

    /// Stores the workspace of a chat that has none. Returns the one that it has.
    pub(super) fn bind(&mut self, binding: &Binding) -> Result<WorkspaceName, Fault> {
        const BIND: &str = "INSERT INTO bindings VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        const BOUND: &str = "SELECT * FROM bindings WHERE chat = ?1";
        self.connection.prepare_cached(BIND)?.execute(params![
            binding.chat.as_str(),
            binding.workspace.as_str(),
            sum_of_binding(binding),
        ])?;
        let mut bound = self.connection.prepare_cached(BOUND)?;
        Ok(bound
            .query_row([binding.chat.as_str()], read_binding)?
            .workspace)
    }
}

/// Returns all workspaces and their chats, and a fault for each row that cannot be read.
pub(super) fn all(connection: &Connection) -> Result<(Workspaces, Vec<Fault>), Fault> {
    let mut faults = Vec::new();
    let rows = Filter::new("SELECT * FROM workspaces WHERE true");
    let found = rows.readable_rows(connection, "", u32::MAX, read, &mut faults)?;
    let rows = Filter::new("SELECT * FROM bindings WHERE true");
    let bindings = rows.readable_rows(connection, "", u32::MAX, read_binding, &mut faults)?;
    let all = Workspaces {
        found,
        bindings,
        damaged: faults.len() as u64,
    };
    Ok((all, faults))
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredWorkspace> {
    let workspace = StoredWorkspace {
        name: parsed(row, 0)?,
        spec: row.get(1)?,
        principal: row.get(2)?,
        created_ms: row.get(3)?,
        used_ms: row.get(4)?,
        removed_ms: row.get(5)?,
    };
    check(row.get::<_, i64>(6)? == sum(&workspace))?;
    Ok(workspace)
}

fn read_binding(row: &Row<'_>) -> rusqlite::Result<Binding> {
    let binding = Binding {
        chat: parsed(row, 0)?,
        workspace: parsed(row, 1)?,
    };
    check(row.get::<_, i64>(2)? == sum_of_binding(&binding))?;
    Ok(binding)
}

fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error: T::Err| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

fn check(is_sound: bool) -> rusqlite::Result<()> {
    let wrong = "the row of a workspace does not match its checksum";
    match is_sound {
        true => Ok(()),
        false => Err(rusqlite::Error::FromSqlConversionFailure(
            0,
            Type::Text,
            wrong.into(),
        )),
    }
}

fn sum(workspace: &StoredWorkspace) -> i64 {
    checksum(&[
        workspace.name.as_str().as_bytes(),
        workspace.spec.as_bytes(),
        workspace.principal.as_bytes(),
        &workspace.created_ms.to_le_bytes(),
        &workspace.used_ms.to_le_bytes(),
        &workspace.removed_ms.unwrap_or_default().to_le_bytes(),
    ])
}

fn sum_of_binding(binding: &Binding) -> i64 {
    checksum(&[
        binding.chat.as_str().as_bytes(),
        binding.workspace.as_str().as_bytes(),
    ])
}
