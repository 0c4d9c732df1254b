//! Facts about the running call.
//!
//! While the host asks for the list of tools there is no call: the texts are then empty, nothing is cancelled and no
//! attribute is known.

use std::time::Duration;

#[cfg(target_family = "wasm")]
use crate::bindings::toolhost::plugin::context as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::context as host;

/// Returns the chat that the call belongs to.
#[must_use]
pub fn chat() -> String {
    host::chat()
}

/// Returns the absolute path of the workspace directory, as a command that runs there sees it.
#[must_use]
pub fn workspace_root() -> String {
    host::workspace_root()
}

/// Returns how much time is left until the host ends this call.
#[must_use]
pub fn remaining() -> Duration {
    Duration::from_millis(host::remaining_ms())
}

/// Returns whether the caller has cancelled the call. Reply soon, with the results so far: the host waits 2 seconds, besides the
/// time in which the processes end that the call started in the foreground.
#[must_use]
pub fn cancelled() -> bool {
    host::cancelled()
}

/// Returns the attribute of the caller that has this name, for example `locale`.
#[must_use]
pub fn attribute(name: &str) -> Option<String> {
    host::attribute(name)
}
