//! Tests of the plans with which SQLite finds the calls of a page.

use super::super::schema;
use super::*;
use crate::CallState;

/// Returns SQLite's plan for the query of a page: a line for each step.
fn plan(connection: &Connection, query: &CallQuery) -> Vec<String> {
    let chat = query.chat.as_ref().map(|_| 1);
    let filter = filter(chat, query, Some(0)).explain(connection, " ORDER BY c.seq DESC");
    filter.unwrap()
}

/// SQLite walks down the calls of a chat, or all calls, from the start of the page, and sorts nothing.
#[test]
fn every_filter_walks_down_an_index() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&schema::STEPS.concat()).unwrap();
    for bits in 0..1_u32 << 8 {
        let has = |bit: u32| bits & (1 << bit) != 0;
        let text = |bit: u32| has(bit).then(|| "text".to_owned());
        let query = CallQuery {
            chat: has(0).then(|| "chat".parse().unwrap()),
            prefix: text(1).unwrap_or_default(),
            call: has(2).then(|| "call".parse().unwrap()),
            states: has(3).then(|| [CallState::Failed].into()),
            tool: text(4),
            visible: has(5).then(|| ["tool".to_owned()].into()),
            since_ms: has(6).then_some(1),
            until_ms: has(6).then_some(2),
            text: text(7),
            before: Some(9),
            limit: 50,
        };
        let plan = plan(&connection, &query);
        let first = match (has(0), has(2)) {
            (true, true) => {
                "SEARCH c USING INDEX calls_name (chat=? AND call=? AND rowid>? AND rowid<?)"
            }
            (true, false) => "SEARCH c USING INDEX calls_kept (chat=? AND rowid>? AND rowid<?)",
            (false, _) => "SEARCH c USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        };
        assert_eq!(plan[0], first, "{query:?}: {plan:#?}");
        for step in &plan[1..] {
            let known = [
                "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)",
                "VIRTUAL TABLE",
                "SUBQUERY",
                "BLOOM FILTER",
            ];
            let is_known = known.iter().any(|known| step.contains(known));
            assert!(is_known, "{step}: {query:?}");
        }
    }
}
