//! Shell commands and everything that they start: spawning, capturing, signalling, and the registry by chat.
//!
//! This is the domain. It knows no WIT and no HTTP; chats are the only notion of the outside that it has.
//!
//! A process here is one command with everything that it started. It has finished when its **shell** has exited, not when
//! its output pipe closes: `sleep 5 & echo hi` has finished after a millisecond, and lingers until the `sleep` is gone.
//!
//! What holds a command together is in `contain`: a supervisor for each, or a process group where there is none.

mod capture;
mod changes;
mod command;
mod contain;
mod counts;
mod ending;
mod environment;
mod error;
mod helper;
mod journal;
mod keeping;
mod lifecycle;
mod observer;
pub(crate) mod own_limits;
mod pipe_reader;
mod reading;
mod record;
mod registry;
mod running;
mod saved;
mod search;
mod status;
mod wait;

pub use capture::{Capture, Chunk, WINDOW};
pub use changes::Changes;
pub use command::{Command, MAX_COMMAND, MAX_KEY};
pub use contain::{Containment, Kind, Spawner, Survivor};
pub(crate) use contain::{SPAWNER, is_alive, is_ignored, lists_children, run_spawner};
pub use counts::Totals;
pub use environment::{Environment, Extras, ExtrasError};
pub use error::Error;
pub(crate) use helper::helper;
pub use observer::Observer;
pub use registry::{Config, Limits, OpenError, Records, Registry};
pub use running::{Info, Process, Snapshot};
pub use saved::{SaveLimits, Saved};
pub use status::{Cause, ExitStatus, Signal, State};
pub use wait::{WaitOptions, Waited, Wake};
