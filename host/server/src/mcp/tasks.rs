//! The Tasks extension (SEP-2663), answered from the ledger: a task is a call that its client no longer waits for.
//!
//! This module keeps no state. The id of a task names its call, so it is valid as long as the ledger knows the call, also after
//! a restart of the host.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject,
    Task, TaskPayload, TaskStatus,
};

use super::caller::Caller;
use super::{errors, reply};
use crate::visibility::Visibility as _;
use toolhost_call::audit::rfc3339;
use toolhost_call::call::{CallStatus, Limits, Outcome};
use toolhost_core::Host;
use toolhost_http::time::milliseconds;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::unix_time;

/// How often a client should poll a task.
const POLL: Duration = Duration::from_secs(1);

/// The id of a task: it names the call and when it began, which the protocol wants in every reply about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskId {
    /// In milliseconds since 1970.
    created: u64,
    chat: ChatId,
    call: CallId,
}

impl TaskId {
    pub(super) fn new(created: SystemTime, chat: ChatId, call: CallId) -> Self {
        Self {
            created: unix_time::to_ms(created),
            chat,
            call,
        }
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither of the two ids has a slash in it.
        write!(formatter, "{}/{}/{}", self.created, self.chat, self.call)
    }
}

impl FromStr for TaskId {
    type Err = ErrorData;

    fn from_str(text: &str) -> Result<Self, ErrorData> {
        let read = || {
            let mut parts = text.splitn(3, '/');
            Some(Self {
                created: parts.next()?.parse().ok()?,
                chat: parts.next()?.parse().ok()?,
                call: parts.next()?.parse().ok()?,
            })
        };
        read().ok_or_else(errors::unknown_task)
    }
}

/// Returns the reply that a call has become a task.
pub(super) fn created(id: &TaskId, tool: &str) -> CallToolResponse {
    CallToolResponse::Task(CreateTaskResult::new(working(id, tool)))
}

/// Returns the state of a task.
pub(super) async fn get(
    host: &Host,
    caller: &Caller,
    id: &str,
) -> Result<GetTaskResult, ErrorData> {
    let (id, status) = find(host, caller, id).await?;
    let (task, payload) = match status {
        CallStatus::Ended(outcome) => ended(&id, &outcome, caller.structured),
        CallStatus::Tombstone { .. } => {
            let task = task(&id, id.created, "cancelled before it began");
            (task, TaskPayload::Cancelled)
        }
        CallStatus::Gone => return Err(errors::refused("gone", "reply no longer kept")),
        CallStatus::Live { tool, .. } => (working(&id, &tool), TaskPayload::Working),
    };
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Checks that a task exists.
pub(super) async fn check(host: &Host, caller: &Caller, id: &str) -> Result<(), ErrorData> {
    find(host, caller, id).await.map(|_| ())
}

/// Begins to cancel a task. The client sees the end of the task when it polls.
pub(super) async fn cancel(host: &Host, caller: &Caller, id: &str) -> Result<(), ErrorData> {
    let (id, _) = find(host, caller, id).await?;
    let (host, actor) = (host.clone(), caller.principal.actor().clone());
    tokio::spawn(async move { host.cancel(&id.chat, &id.call, &actor).await });
    Ok(())
}

async fn find(host: &Host, caller: &Caller, id: &str) -> Result<(TaskId, CallStatus), ErrorData> {
    let id: TaskId = id.parse()?;
    let principal = &caller.principal;
    let is_outside = caller.is_confined && caller.chat != id.chat;
    let visible =
        principal.may_name(&id.chat) && host.may_reach(principal.actor(), &id.chat) && !is_outside;
    let status = match visible {
        true => host.status(&id.chat, &id.call).await,
        false => Ok(None),
    };
    let status = status.map_err(|refused| errors::not_now(&refused))?;
    let status = status.filter(|status| principal.may_see(status));
    Ok((id, status.ok_or_else(errors::unknown_task)?))
}

fn ended(id: &TaskId, outcome: &Outcome, structured: bool) -> (Task, TaskPayload) {
    let took = milliseconds(outcome.queued + outcome.duration);
    let until = id.created.saturating_add(took);
    let message = match outcome.cancelled {
        true => format!("cancelled after {took} ms"),
        false => format!("ended after {took} ms"),
    };
    let keep = milliseconds(Limits::default().keep);
    let task = task(id, until, &message).with_ttl_ms(took.saturating_add(keep));
    let payload = match outcome.cancelled {
        true => TaskPayload::Cancelled,
        // A tool's failure is a result as well. A task fails only by an error of the protocol.
        false => TaskPayload::Completed {
            result: object(reply::result(&id.chat, outcome, structured)),
        },
    };
    (task, payload)
}

/// A task that is running. It has no time to live, so it does not expire.
fn working(id: &TaskId, tool: &str) -> Task {
    task(id, id.created, &format!("{tool} is running")).with_poll_interval_ms(milliseconds(POLL))
}

/// A task whose status is overwritten by the payload that is sent with it.
fn task(id: &TaskId, updated: u64, message: &str) -> Task {
    Task::new(
        id.to_string(),
        TaskStatus::Working,
        date(id.created),
        date(updated),
    )
    .with_status_message(message)
}

/// Formats a time as ISO 8601. The id that a client made up can have any number, so times out of range become 1970.
fn date(milliseconds: u64) -> String {
    rfc3339(unix_time::from_ms(milliseconds))
}

fn object(result: CallToolResult) -> JsonObject {
    reply::object(serde_json::to_value(result).unwrap_or_default()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back() {
        let created = SystemTime::UNIX_EPOCH + Duration::from_millis(1_790_000_000_123);
        let id = TaskId::new(created, "a-1".parse().unwrap(), "call_7!~".parse().unwrap());
        assert_eq!(id.to_string(), "1790000000123/a-1/call_7!~");
        assert_eq!(id.to_string().parse::<TaskId>().unwrap(), id);
        assert_eq!(date(id.created), "2026-09-21T14:13:20.123Z");
        assert_eq!(date(u64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn what_nobody_made_here_is_no_task() {
        for text in [
            "", "1", "1/a", "x/a/b", "1/a b/c", "1/a/b/c", "-1/a/b", "1/../b",
        ] {
            let error = text.parse::<TaskId>().unwrap_err();
            assert_eq!(error.data.unwrap()["code"], "unknown_task", "{text:?}");
        }
    }
}
