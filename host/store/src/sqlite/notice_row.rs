//! The row of a notice, with its checksum.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::checksum::checksum;
use super::fault::Fault;
use super::filter::Filter;
use crate::Notice;

/// Stores a notice, or replaces it. It keeps its place among the others.
pub(super) fn put(connection: &Connection, notice: &Notice) -> Result<(), Fault> {
    const PUT: &str = "INSERT INTO notices (id, body, sum) VALUES (?1, ?2, ?3) \
                       ON CONFLICT (id) DO UPDATE SET body = ?2, sum = ?3";
    let body = notice.body.to_string();
    let sum = checksum(&[notice.id.as_bytes(), body.as_bytes()]);
    let mut put = connection.prepare_cached(PUT)?;
    put.execute(params![notice.id, body, sum])?;
    Ok(())
}

/// Forgets these notices.
pub(super) fn forget(connection: &Connection, ids: &[String]) -> Result<(), Fault> {
    let mut forget = connection.prepare_cached("DELETE FROM notices WHERE id = ?1")?;
    for id in ids {
        forget.execute([id])?;
    }
    Ok(())
}

/// Returns all notices in the order in which they were stored first, and a fault for each that cannot be read. At a damaged page, the
/// list ends.
pub(super) fn all(connection: &Connection) -> Result<(Vec<Notice>, Vec<Fault>), Fault> {
    let mut faults = Vec::new();
    let rows = Filter::new("SELECT id, body, sum FROM notices WHERE true");
    let found = rows.readable_rows(connection, " ORDER BY seq", u32::MAX, read, &mut faults)?;
    Ok((found, faults))
}

/// Reads a notice. Fails if the row does not match its checksum.
fn read(row: &Row<'_>) -> rusqlite::Result<Notice> {
    let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
    let wrong = |error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, error);
    if row.get::<_, i64>(2)? != checksum(&[id.as_bytes(), body.as_bytes()]) {
        return Err(wrong(
            "the row of a notice does not match its checksum".into(),
        ));
    }
    let body = serde_json::from_str(&body).map_err(|error| wrong(error.into()))?;
    Ok(Notice { id, body })
}
