//! Edits: finding their places in a file, and showing the difference.
//!
//! Everything here is pure: text comes in and goes out. It serves the plugin with `edit_files` and `apply_patch`, and the agent API of the host.

mod commit;
mod diff;
pub mod encoding;
pub mod matcher;
pub mod patch;
mod path;
mod plan;

pub use commit::{Failure, Files, NotWritten, edit};
pub use diff::{Bounds, diff};
pub use path::clean;
pub use plan::{Content, FileEdits, Kind, MAX_EDITS, Planned, Problem, Source, plan};
