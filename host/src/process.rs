//! Shell commands and everything that they start: spawning, capturing, signalling, and the registry by chat.
//!
//! This is the domain. It knows no WIT and no HTTP; chats are the only notion of the outside that it has.
//!
//! A process here is one command with everything that it started. It has finished when its **shell** has exited, not when
//! its output pipe closes: `sleep 5 & echo hi` has finished after a millisecond, and lingers until the `sleep` is gone.
//!
//! Containment in this version is the process group. What leaves its group (`setsid`, `timeout`, a shell with job
//! control) is not reached by signals; SECURITY.md says so.

mod capture;
mod command;
mod environment;
mod error;
mod group;
mod lifecycle;
mod registry;
mod running;
mod status;
mod survivors;
mod wait;

pub use capture::{Capture, Chunk, WINDOW};
pub use command::{Command, MAX_COMMAND};
pub use environment::Environment;
pub use error::Error;
pub use registry::{Limits, Registry};
pub use running::{Info, Process, Snapshot};
pub use status::{Cause, ExitStatus, Signal, State};
pub use survivors::Survivor;
pub use wait::{WaitOptions, Waited, Wake};
