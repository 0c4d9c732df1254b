//! Values of processes that the surfaces serialize alike.

use serde::Serialize;
use utoipa::ToSchema;

use crate::time::{milliseconds, unix};
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::{self, Info, Saved, State};

/// The exit code for an end without one: a signal ended the shell, or its end is unknown.
const NO_CODE: i32 = -1;

/// The status of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProcessStatus {
    status: Status,
    /// Absent while the shell runs; -1 if a signal ended it, or if its end is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The name of the signal that ended the shell, such as `SIGKILL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// The cause of the end of the shell: `itself`, `signalled`, `output_limit`, `out_of_memory`, `shutdown` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// The reason why the end of the process is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// `running`; `lingering`: the shell has exited, and something that it started still runs; `exited`: nothing of it is left;
/// `lost`: the host stopped while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Running,
    Lingering,
    Exited,
    Lost,
}

impl From<&State> for ProcessStatus {
    fn from(state: &State) -> Self {
        let (status, reason) = match state {
            State::Running => (Status::Running, None),
            State::Lingering(_) => (Status::Lingering, None),
            State::Exited(_) => (Status::Exited, None),
            State::Lost(reason) => (Status::Lost, Some(reason.clone())),
        };
        let exit = state.exit_status();
        let code = exit.and_then(|exit| exit.code).unwrap_or(NO_CODE);
        Self {
            status,
            exit_code: (status != Status::Running).then_some(code),
            signal: exit.and_then(|exit| exit.signal.clone()),
            cause: exit.map(|exit| exit.cause.name()),
            reason,
        }
    }
}

/// A process.
#[derive(Debug, Serialize, ToSchema)]
pub struct Process {
    /// The id of the process.
    id: String,
    /// The chat that it belongs to, in a list of all chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    /// The workspace of its chat, in a list of all chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// The call that started it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// Its command, cut at 2 KiB.
    command: String,
    /// The absolute directory in which it was started.
    workdir: String,
    /// Whether it was started as a background process.
    background: bool,
    #[serde(flatten)]
    status: ProcessStatus,
    /// When it was started, in seconds since 1970.
    started_at_unix: u64,
    /// When its shell exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    exited_at_unix: Option<u64>,
    /// When it last wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_output_at_unix: Option<u64>,
    /// The number of bytes that it has written so far.
    total_bytes: u64,
    /// What everything that it started uses, in a list of all chats: absent if nothing of it lives, or if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The last line of its output, in a list of all chats: without escape sequences and control characters, at most 200 characters;
    /// absent if there is none in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<String>,
}

/// What everything that a process started uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Usage {
    /// The CPU time since its start, with that of the processes of it that ended.
    cpu_ms: u64,
    /// The memory. Without a cgroup for the command, memory that several processes share counts for each.
    memory_bytes: u64,
    /// The number of processes of the system.
    processes: u64,
}

impl From<process::Usage> for Usage {
    fn from(usage: process::Usage) -> Self {
        Self {
            cpu_ms: milliseconds(usage.cpu),
            memory_bytes: usage.memory,
            processes: usage.processes,
        }
    }
}

impl Process {
    /// Names the workspace of the process.
    #[must_use]
    pub fn in_workspace(self, workspace: &WorkspaceName) -> Self {
        let workspace = Some(workspace.to_string());
        Self { workspace, ..self }
    }

    /// Adds what the process uses and last wrote.
    #[must_use]
    pub fn observed(self, usage: Option<process::Usage>, last_line: Option<String>) -> Self {
        let usage = usage.map(Usage::from);
        Self {
            usage,
            last_line,
            ..self
        }
    }

    /// Names the chat of the process.
    #[must_use]
    pub fn of_chat(self, chat: Option<&ChatId>) -> Self {
        let chat = chat.map(ToString::to_string);
        Self { chat, ..self }
    }

    /// Describes a process, and the call that started it if the reply should name that.
    pub fn new(info: Info, call: Option<CallId>) -> Self {
        Self {
            id: info.id,
            chat: None,
            workspace: None,
            call: call.map(|call| call.to_string()),
            command: info.command,
            workdir: info.workdir.to_string_lossy().into_owned(),
            background: info.background,
            status: ProcessStatus::from(&info.state),
            started_at_unix: unix(info.started),
            exited_at_unix: info.exited.map(unix),
            last_output_at_unix: info.last_output.map(unix),
            total_bytes: info.total,
            usage: None,
            last_line: None,
        }
    }
}

/// How far the full copy of an output goes: `none`, `complete`, `partial` up to a limit, or `failed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SavedStatus {
    /// Nothing is saved.
    None,
    /// Every byte so far is saved.
    Complete,
    /// Only the first bytes are saved.
    Partial {
        /// The number of saved bytes.
        bytes: u64,
    },
    /// Saving failed; only the bytes before the failure are saved.
    Failed {
        /// Why it failed.
        reason: String,
    },
}

impl From<Saved> for SavedStatus {
    fn from(saved: Saved) -> Self {
        match saved {
            Saved::None => Self::None,
            Saved::Complete => Self::Complete,
            Saved::Partial(bytes) => Self::Partial { bytes },
            Saved::Failed(reason) => Self::Failed { reason },
        }
    }
}

/// A process that outlives a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Its command line, cut at 256 bytes.
    pub command: String,
}

impl From<process::Survivor> for Survivor {
    fn from(survivor: process::Survivor) -> Self {
        Self {
            pid: survivor.pid,
            command: survivor.command,
        }
    }
}

/// Returns how many of the last bytes are the beginning of an incomplete character: at most 3.
///
/// The result depends only on the last 3 bytes, so that a client that reads again gets the same cut.
pub fn unfinished(bytes: &[u8]) -> usize {
    let is_begun = |tail: &&[u8]| {
        let error = std::str::from_utf8(tail).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let ends = (1..=3).filter_map(|count| bytes.len().checked_sub(count));
    let mut tails = ends.filter_map(|end| bytes.get(end..)).filter(is_begun);
    tails.next().map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copies_say_how_far_they_go() {
        for (saved, expected) in [
            (Saved::None, json!({ "status": "none" })),
            (Saved::Complete, json!({ "status": "complete" })),
            (
                Saved::Partial(7),
                json!({ "status": "partial", "bytes": 7 }),
            ),
            (
                Saved::Failed("disk full".into()),
                json!({ "status": "failed", "reason": "disk full" }),
            ),
        ] {
            assert_eq!(
                serde_json::to_value(SavedStatus::from(saved)).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn only_what_a_character_begins_with_is_unfinished() {
        for (bytes, count) in [
            ("".as_bytes(), 0),
            (b"abc", 0),
            ("aä".as_bytes(), 0),
            (b"a\xc3", 1),
            (b"\xe2\x82", 2),
            (b"abc\xf0\x9f\x98", 3),
            ("😀".as_bytes(), 0),
            // No character begins like this.
            (b"\x80\x80\x80", 0),
            (b"\xff", 0),
            (b"\xc3a", 0),
            (b"\xe0\x80", 0),
        ] {
            assert_eq!(unfinished(bytes), count, "{bytes:?}");
            // Bytes before the last three do not count.
            let longer = [b"xyz\xff", bytes].concat();
            assert_eq!(unfinished(&longer), count, "{bytes:?}");
        }
    }
}
