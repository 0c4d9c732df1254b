//! The database in which a host keeps calls, chats, processes, temporary files and sessions.
//!
//! [`Store`] is the seam: it takes and returns values of the domain, and nothing above it knows SQL. [`Sqlite`] keeps them in a
//! file of the state directory. Saved output of processes stays in files of its own.

mod backlog;
mod error;
mod host_state;
mod sqlite;
mod store;
mod values;

pub use backlog::{Backlog, Change};
pub use error::StoreError;
pub use host_state::{HostState, HostStateError, Outputs};
pub use sqlite::{AtRest, Durability, Recovered, Sqlite, StoreFile, UnknownDurability};
pub use store::{Answer, Store};
pub use values::call::{
    Begun, Call, CallPage, CallQuery, CallState, CallSummary, EndedCall, Fence, Fenced, NewCall,
};
pub use values::chat::{Chat, ChatPage, ChatQuery, ChatsAfter};
pub use values::counts::{Counts, Kept, Limits, Swept};
pub use values::process::{OutputFile, Process, ProcessQuery, ProcessState, Processes};
pub use values::session::Session;
