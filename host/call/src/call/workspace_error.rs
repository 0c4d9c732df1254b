//! Why a workspace cannot be had.

use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::OtherHost;

/// Why a workspace cannot be made, used or removed. The name of a variant in snake case is a label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum WorkspaceError {
    /// There is no such workspace.
    #[error("there is no workspace \"{0}\": make it with PUT /v1/workspaces/{0}")]
    UnknownWorkspace(WorkspaceName),
    /// The actor is for other workspaces.
    #[error("this token is for other workspaces")]
    ForeignWorkspace,
    /// The workspace begins with files, and the actor is bound to some tools.
    #[error(
        "this token is for some tools only: it makes no workspace with a template or a repository; make it with another token"
    )]
    BoundedActor,
    /// The actor is for other templates.
    #[error("this token is for other templates than {0:?}")]
    ForeignTemplate(String),
    /// The chat belongs to another workspace, or a call of it ran in the default one.
    #[error(
        "the chat {chat} belongs to the workspace \"{workspace}\" since its first call: use another chat"
    )]
    ChatBound {
        /// The chat.
        chat: ChatId,
        /// Its workspace.
        workspace: WorkspaceName,
    },
    /// The workspace is another one than the request describes.
    #[error(
        "the workspace \"{0}\" was made from another template, repository or quota: remove it first, or choose another name"
    )]
    WorkspaceExists(WorkspaceName),
    /// Something runs in the workspace.
    #[error(
        "{} and {} run in the workspace \"{name}\": end them, or remove it with force", counted(*.calls, "call", "calls"), counted(*.processes, "process", "processes")
    )]
    WorkspaceInUse {
        /// The workspace.
        name: WorkspaceName,
        /// How many calls run in it.
        calls: usize,
        /// How many processes run or linger in it.
        processes: usize,
    },
    /// The default workspace is that of the server.
    #[error("the default workspace is that of the server, and is not removed")]
    DefaultWorkspace,
    /// The workspace cannot be what the request describes.
    #[error("{0}")]
    InvalidWorkspace(String),
    /// The workspace is stopped, and a call does not start it. Nothing was done.
    #[error("the workspace \"{0}\" is stopped: start it with `toolhost workspaces start {0}`")]
    Stopped(WorkspaceName),
    /// The host has no such provider.
    #[error("this server has no workspaces of the provider {0:?}: {advice}", advice = advice(.0))]
    NoProvider(&'static str),
    /// The workspace is being changed. Nothing was done.
    #[error("the workspace \"{0}\" is being changed: try again")]
    Changing(WorkspaceName),
    /// There are too many workspaces or chats in them. Nothing was done.
    #[error("{0}")]
    TooManyWorkspaces(String),
    /// The system failed.
    #[error("the workspace \"{name}\" cannot be used: {reason}")]
    WorkspaceFailed {
        /// The workspace.
        name: WorkspaceName,
        /// The reason.
        reason: String,
    },
    /// The operator refused to have the workspace made.
    #[error("the workspace \"{name}\" was not made: {reason}")]
    NotApproved {
        /// The workspace.
        name: WorkspaceName,
        /// The reason.
        reason: String,
    },
    /// The calls of the chat run in the default workspace of another host.
    #[error(
        "the chat {chat} runs on the host {}{}: send its calls there{}", .host.name, at(.host.address.as_deref()), if_gone(chat, .host)
    )]
    OtherHost {
        /// The chat.
        chat: ChatId,
        /// The host.
        host: OtherHost,
    },
    /// The agent of the workspace is connected to another host.
    #[error("the agent {agent} is connected to the host {}{}: send calls for its workspace there", .host.name, at(.host.address.as_deref()))]
    AgentElsewhere {
        /// The name of the agent.
        agent: WorkspaceName,
        /// The host.
        host: OtherHost,
    },
    /// The workspace cannot be reached now. Nothing was done.
    #[error("the workspace cannot be reached now: {0}")]
    Unreachable(String),
    /// The store cannot take the change. Nothing was done.
    #[error("the workspace cannot be recorded ({0}); repeat the request once that is repaired")]
    Unrecorded(String),
}

impl WorkspaceError {
    /// Returns after how many seconds it is worth trying again, if it is.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Changing(_) | Self::TooManyWorkspaces(_) | Self::Unrecorded(_) => Some(1),
            Self::Unreachable(_) => Some(5),
            _ => None,
        }
    }

    /// Returns the other host that has the workspace, if that is the reason.
    pub fn other_host(&self) -> Option<&OtherHost> {
        match self {
            Self::OtherHost { host, .. } | Self::AgentElsewhere { host, .. } => Some(host),
            _ => None,
        }
    }
}

/// Names a number of things.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns the way to go on with a chat whose host may be gone for good.
fn if_gone(chat: &ChatId, host: &OtherHost) -> String {
    match host.has_lease {
        true => String::new(),
        false => format!(
            " when it is back; if it is gone for good, free the chat with DELETE /v1/chats/{chat}"
        ),
    }
}

fn at(address: Option<&str>) -> String {
    address.map_or_else(String::new, |address| format!(" at {address}"))
}

fn advice(provider: &str) -> &'static str {
    match provider {
        "agent" => "its operator names agents, or a lookup URL, in [workspaces]",
        "template" => "its operator names templates as [templates.NAME]",
        _ => {
            "its operator names a directory for them as `root` in [workspaces], or an agent of this name connects"
        }
    }
}
