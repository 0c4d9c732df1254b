//! Pages of calls. A page looks at a bounded number of calls, so that a query that matches nothing also returns quickly.

use deadpool_postgres::Object;
use tokio_postgres::Row;
use toolhost_state::id::CallId;
use toolhost_store::{BYTES_OF_PAGE, CALLS_OF_PAGE, CallPage, CallQuery, CallState, CallSummary};

use crate::Shared;
use crate::call_row::{time, to_time};
use crate::database::run;
use crate::error::Fault;
use crate::query::Query;

/// The columns that [`summary`] reads. The numbers of an outcome stand at its end.
const COLUMNS: &str = "SELECT c.number, c.chat, c.call, c.principal, c.tool, c.state, c.began, CASE WHEN c.state <> 0 THEN c.ended END, \
     octet_length(c.arguments), CASE WHEN c.state <> 0 THEN octet_length(c.outcome) END, CASE WHEN c.state <> 0 THEN right(c.outcome, 80) END \
     FROM toolhost.calls c WHERE c.gone IS NULL";

impl Shared {
    /// Returns a page of the calls that run or whose outcome is kept, newest first.
    pub(crate) async fn page(&self, query: &CallQuery) -> Result<CallPage, Fault> {
        run!(self.database, connection => page(connection, query).await)
    }
}

async fn page(connection: &Object, query: &CallQuery) -> Result<CallPage, Fault> {
    let floor = floor(connection, query).await?;
    let mut filter = Query::new(COLUMNS);
    filter_by(&mut filter, query);
    if let Some(floor) = floor {
        filter.and("c.number > ?", floor);
    }
    // Ask for one more than the limit to learn whether another page follows.
    let wanted = query.limit.saturating_add(1);
    filter.add(&format!(" ORDER BY c.number DESC LIMIT {wanted}"));
    let mut found = filter.rows(connection).await?;
    let is_full = found.len() > query.limit as usize;
    found.truncate(query.limit as usize);
    let calls: Vec<_> = found.iter().map(summary).collect::<Result<_, _>>()?;
    let next = match calls.last() {
        Some(last) if is_full => Some(last.number),
        _ => floor.map(|floor| floor.saturating_add(1)),
    };
    Ok(CallPage { calls, next })
}

/// Returns the floor of a page: the number of the newest call below the page. `None`: the page reaches the oldest call.
async fn floor(connection: &Object, query: &CallQuery) -> Result<Option<i64>, Fault> {
    let is_one = query.chat.is_some() && query.call.is_some();
    let is_unbounded = query.chat.is_some() && !query.is_filtered() && query.text.is_none();
    if is_one || is_unbounded {
        return Ok(None);
    }
    let mut looked = Query::new(
        "SELECT number FROM (SELECT number, held, row_number() OVER page AS place, sum(held) OVER page AS bytes \
         FROM toolhost.calls c WHERE c.gone IS NULL",
    );
    if let Some(chat) = &query.chat {
        looked.and("c.chat = ?", chat.to_string());
    }
    looked.and("c.number < ?", query.before.unwrap_or(i64::MAX));
    let bytes = match query.text {
        Some(_) => format!(" OR bytes - held > {BYTES_OF_PAGE}"),
        None => String::new(),
    };
    looked.add(&format!(
        " WINDOW page AS (ORDER BY number DESC) ORDER BY number DESC LIMIT {}) looked WHERE place > {CALLS_OF_PAGE}{bytes} \
         ORDER BY number DESC LIMIT 1",
        CALLS_OF_PAGE + 1
    ));
    let rows = looked.rows(connection).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Adds the conditions of a query.
fn filter_by(filter: &mut Query, query: &CallQuery) {
    if let Some(chat) = &query.chat {
        filter.and("c.chat = ?", chat.to_string());
    }
    filter.and_begins_with("c.chat", &query.prefix);
    if let Some(call) = &query.call {
        filter.and("c.call = ?", call.to_string());
    }
    if let Some(states) = &query.states {
        let states: Vec<_> = states.iter().map(|state| state.number()).collect();
        filter.and("c.state = ANY(?)", states);
    }
    if let Some(tool) = &query.tool {
        filter.and("c.tool = ?", text_of(tool));
    }
    if let Some(tools) = &query.visible {
        let tools: Vec<_> = tools.iter().map(|tool| text_of(tool)).collect();
        filter.and("c.tool = ANY(?)", tools);
    }
    if let Some(since) = query.since_ms {
        filter.and("c.began >= ?", to_time(since));
    }
    if let Some(until) = query.until_ms {
        filter.and("c.began < ?", to_time(until));
    }
    if let Some(texts) = query.texts() {
        const CONTAINS: &str = "EXISTS (SELECT FROM unnest(?::text[]) t WHERE position(t in c.arguments) > 0 OR position(t in c.outcome) > 0)";
        filter.and(CONTAINS, Vec::from(texts.map(|text| text_of(&text))));
    }
    if let Some(before) = query.before {
        filter.and("c.number < ?", before);
    }
}

/// Returns a text without the character that PostgreSQL stores in no text. What is stored is JSON, which does not have it either, so
/// nothing matches.
fn text_of(text: &str) -> String {
    text.replace('\0', "\u{1}")
}

/// Reads a row of [`COLUMNS`].
fn summary(row: &Row) -> Result<CallSummary, Fault> {
    let (chat, call): (String, String) = (row.try_get(1)?, row.try_get(2)?);
    let state: i16 = row.try_get(5)?;
    let bytes = |column: usize| -> Result<Option<u64>, Fault> {
        let bytes: Option<i32> = row.try_get(column)?;
        Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok()))
    };
    Ok(CallSummary {
        number: row.try_get(0)?,
        chat: chat
            .parse()
            .map_err(|_| Fault::Odd("a chat id that is none"))?,
        call: CallId::recorded(&call).map_err(|_| Fault::Odd("a call id that is none"))?,
        principal: row.try_get(3)?,
        tool: row.try_get(4)?,
        state: CallState::from_number(state.into()).ok_or(Fault::Odd("an unknown state"))?,
        began_ms: time(row.try_get(6)?),
        ended_ms: row.try_get::<_, Option<i64>>(7)?.map(time),
        arguments_bytes: bytes(8)?,
        outcome_bytes: bytes(9)?,
        outcome_end: row
            .try_get::<_, Option<String>>(10)?
            .unwrap_or_default()
            .into_bytes(),
    })
}
