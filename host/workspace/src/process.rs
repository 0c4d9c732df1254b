//! Values of processes: commands to start, states, output, and errors of operations.

mod all;
mod command;
mod containment;
mod error;
mod event;
mod held;
mod info;
mod input;
mod observation;
mod output;
mod port;
mod shell;
mod status;
mod totals;
mod wait;

pub use all::{AllQuery, InvalidPlace, ListPlace, Listed, Owned};
pub use command::{Command, MAX_COMMAND, MAX_KEY};
pub use containment::{Containment, Kind};
pub use error::Error;
pub use event::{Denials, ProcessEvent, Subject, Subscriber};
pub use held::Held;
pub use info::{Info, Started, Survivor};
pub use input::{INPUT_PATIENCE, Input, KNOWN_INPUTS, MAX_INPUT, MAX_TITLE, Screen, Size, Stdin};
pub use observation::{MAX_LINE, MAX_OBSERVED, Observation, ProcessName, Usage};
pub use output::{Chunk, Saved, Snapshot, WINDOW};
pub use port::{Connecting, Connection, MAX_CONNECTIONS, Port};
pub use shell::Shell;
pub use status::{Cause, ExitStatus, Signal, State};
pub use toolhost_sandbox::{Mode, Narrower, Network};
pub use totals::Totals;
pub use wait::{WaitOptions, Waited, Wake};
