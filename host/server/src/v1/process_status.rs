//! The status of processes, in replies and events.

use serde::Serialize;
use utoipa::ToSchema;

use toolhost_http::time::unix;
use toolhost_state::id::CallId;
use toolhost_workspace::process::{Info, State};

/// The exit code for an end without one: a signal ended the shell, or its end is unknown.
const NO_CODE: i32 = -1;

/// How a process stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct ProcessStatus {
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
    /// Why the end of the process is unknown.
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
        let status = match state {
            State::Running => Status::Running,
            State::Lingering(_) => Status::Lingering,
            State::Exited(_) => Status::Exited,
            State::Lost(_) => Status::Lost,
        };
        let exit = state.exit_status();
        let code = exit.and_then(|exit| exit.code).unwrap_or(NO_CODE);
        Self {
            status,
            exit_code: (status != Status::Running).then_some(code),
            signal: exit.and_then(|exit| exit.signal.clone()),
            cause: exit.map(|exit| exit.cause.name()),
            reason: match state {
                State::Lost(why) => Some(why.clone()),
                _ => None,
            },
        }
    }
}

/// A process.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Process {
    /// Its id.
    id: String,
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
    /// How many bytes it has written so far.
    total_bytes: u64,
}

impl From<Info> for Process {
    fn from(info: Info) -> Self {
        let call = info.key.as_deref().and_then(CallId::of_start_key);
        Self {
            id: info.id,
            call: call.map(|call| call.to_string()),
            command: info.command,
            workdir: info.workdir.to_string_lossy().into_owned(),
            background: info.background,
            status: ProcessStatus::from(&info.state),
            started_at_unix: unix(info.started),
            exited_at_unix: info.exited.map(unix),
            last_output_at_unix: info.last_output.map(unix),
            total_bytes: info.total,
        }
    }
}
