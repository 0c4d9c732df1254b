//! The reasons why a host does not start.

use toolhost_link::AddressError;
use toolhost_local::{OpenDirectoriesError, OpenError};
use toolhost_plugin::{CacheError, EngineError, LoadError};
use toolhost_state::state_dir::StateDirError;
use toolhost_store::{HostStateError, StoreError};

/// A reason why a host does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] OpenError),
    /// The directory for workspaces cannot be used.
    #[error(transparent)]
    Directories(#[from] OpenDirectoriesError),
    /// The default workspace is not one that the host opens, so that no directory can be beside it.
    #[error(
        "workspaces with names are directories beside the default one, which is not on this machine"
    )]
    NoLocalWorkspace,
    /// An agent cannot be used.
    #[error("the agent {agent:?} of [workspaces.agents] cannot be used: {source}")]
    Agent {
        /// The name of the agent.
        agent: String,
        /// The reason.
        source: AddressError,
    },
    /// Machines are found again by what a state directory keeps.
    #[error(
        "workspaces of [templates] need a state directory that no other host uses: name one with --state-dir"
    )]
    MachinesNotKept,
    /// Several hosts share the workspaces.
    #[error(
        "hosts that share a [store] have no workspaces of [templates]: leave one of the two out"
    )]
    MachinesShared,
    /// The directory for the socket of machines cannot be made.
    #[error(
        "the directory for the agents of [templates] cannot be made in the state directory: {source}"
    )]
    Machines {
        /// The reason.
        source: std::io::Error,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The code cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// This machine cannot run guests.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A plugin does not load.
    #[error("plugin {name} cannot be loaded")]
    Load {
        /// The name of the plugin.
        name: String,
        /// The reason.
        source: LoadError,
    },
    /// The state that is kept cannot be opened.
    #[error(transparent)]
    Kept(#[from] HostStateError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The durability is [`Durability::Power`](toolhost_store::Durability::Power), and there is no state directory for the records of calls.
    #[error(
        "durability is power, and calls are not kept in a state directory: name one that no other host uses (--state-dir)"
    )]
    NotDurable,
    /// Two plugins have one name.
    #[error("two plugins are named {0:?}")]
    Duplicate(String),
}
