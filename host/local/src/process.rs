//! Shell commands and everything that they start: spawning, capturing, signalling, and the registry by chat.
//!
//! This is the domain. It knows no WIT and no HTTP; chats are the only notion of the outside that it has.
//!
//! A process here is one command with everything that it started. It has finished when its **shell** has exited, not when
//! its output pipe closes: `sleep 5 & echo hi` has finished after a millisecond, and lingers until the `sleep` is gone.
//!
//! `contain` holds a command together: with a supervisor for each, or with a process group where there is no spawner.

mod capture;
mod confinement;
mod contain;
mod counts;
mod drawing;
mod ending;
mod environment;
mod input;
mod keeping;
mod kept_pipe;
mod lifecycle;
mod pipe_reader;
mod reading;
mod record;
mod registry;
mod room;
mod running;
mod saved;
mod screen;
mod search;
mod shell;
mod shortage;
mod subscribers;
mod terminal;
mod typing;
mod wait;
mod workdir;

use toolhost_workspace::process::{
    AllQuery, Cause, Chunk, Command, Containment, Denials, Error, ExitStatus, INPUT_PATIENCE, Info,
    Input, KNOWN_INPUTS, Kind, ListPlace, Listed, MAX_INPUT, MAX_KEY, MAX_OBSERVED, MAX_TITLE,
    Observation, Owned, Port, ProcessEvent, ProcessName, Saved, Screen, Shell, Signal, Size,
    Snapshot, State, Stdin, Subject, Subscriber, Survivor, Totals, Usage, WINDOW, WaitOptions,
    Waited, Wake,
};

pub use capture::Capture;
pub(crate) use confinement::homes_in_root;
pub use confinement::{
    VARIABLES as TEMPORARY_VARIABLES, lack_of_layers, support as sandbox_support,
};
pub use contain::Spawner;
pub use contain::{NO_SPAWNER, SPAWNER, is_ignored, lists_children, run_spawner};
pub use environment::{Environment, Extras, ExtrasError};
pub use registry::{Config, Limits, OpenError, Registry};
pub use room::{Level, Room};
pub use running::Process;
pub use saved::SaveLimits;
pub use shortage::shortage;
pub use terminal::run_confined;
pub use toolhost_sandbox::Policy;
