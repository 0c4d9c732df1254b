//! The database in which a host keeps calls, chats, processes, temporary files, sessions and
//! workspaces.
//!
//! [`Store`] is the trait that hides the database: it takes and returns values of the domain, and no crate above knows SQL.
//! [`Sqlite`] implements it with a file in the state directory. The saved output of processes is not in the database but in files.

mod backlog;
mod error;
mod host_state;
mod shares;
mod sqlite;
mod store;
mod values;

pub use backlog::{Added, Backlog, Change};
pub use error::StoreError;
pub use host_state::{HostState, HostStateError, Outputs};
pub use shares::excess;
pub use sqlite::{
    AtRest, Durability, Recovered, SchemaVersion, Sqlite, StoreFile, UnknownDurability,
};
pub use store::{Answer, LocalStore, Store};
pub use values::call::{
    BYTES_OF_PAGE, Begun, CALLS_OF_PAGE, Call, CallPage, CallQuery, CallState, CallSummary,
    CancelAnswer, Cancellation, EndedCall, Ending, NestedCall, NestedRecord, NewCall,
};
pub use values::chat::{Chat, ChatPage, ChatQuery, ChatsAfter, FoundTools};
pub use values::counts::{Counts, Kept, Limits, SharedCounts, Swept};
pub use values::event::ChatEvent;
pub use values::news::News;
pub use values::notice::Notice;
pub use values::plugin::{Quarantine, Switch};
pub use values::process::{OutputFile, Process, ProcessQuery, ProcessState, Processes};
pub use values::session::Session;
pub use values::workspace::{
    AgentElsewhere, Binding, ConnectedAgent, Home, OtherHost, StoredWorkspace, Workspaces,
};
