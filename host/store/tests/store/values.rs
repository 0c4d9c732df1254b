//! Values for tests.

use toolhost_store::{
    CallState, Cancellation, EndedCall, Limits, NewCall, Process, ProcessState, Session,
};

pub(crate) fn call(chat: &str, id: &str) -> NewCall {
    NewCall {
        chat: chat.parse().unwrap(),
        call: id.parse().unwrap(),
        tool: "execute".into(),
        principal: "token".into(),
        digest: [1; 32],
        arguments: Some(format!(r#"{{"command":"echo {id}"}}"#)),
        began_ms: 1_700_000_000_000,
    }
}

pub(crate) fn ended(chat: &str, id: &str) -> EndedCall {
    EndedCall {
        call: call(chat, id),
        state: CallState::Finished,
        cancelled: false,
        outcome: format!("outcome of {id}"),
    }
}

pub(crate) fn cancellation(chat: &str, id: &str, tools: Option<&[&str]>) -> Cancellation {
    Cancellation {
        chat: chat.parse().unwrap(),
        call: id.parse().unwrap(),
        principal: "token".into(),
        tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        most: 4,
    }
}

/// Limits that drop nothing.
pub(crate) fn limits() -> Limits {
    let hour = std::time::Duration::from_secs(3600);
    Limits {
        keep: hour,
        keep_per_chat: 256,
        tombstone: 24 * hour,
        outcome_bytes: 1 << 30,
        ids: 1 << 20,
    }
}

pub(crate) fn process(id: &str, chat: &str) -> Process {
    Process {
        id: id.into(),
        chat: Some(chat.parse().unwrap()),
        key: Some(format!("key {id}")),
        state: ProcessState::Running,
        command: "sleep 1".into(),
        workdir: "/".into(),
        background: true,
        started_ms: 1_700_000_000_000,
        output: None,
        end: None,
    }
}

pub(crate) fn session(id: &str) -> Session {
    Session {
        id: id.into(),
        chat: "mcp-1".parse().unwrap(),
        is_named: false,
        principal: "token".into(),
        token: vec![7; 32],
        revision: "2025-11-25".into(),
        client: "{}".into(),
        created_ms: 1,
        used_ms: 2,
    }
}
