//! Lines for the operator's log. They never reach the caller or the model.

#[cfg(target_family = "wasm")]
use crate::bindings::toolhost::plugin::log as host;
use crate::bindings::toolhost::plugin::log::Level;
#[cfg(not(target_family = "wasm"))]
use crate::testing::log as host;

/// Writes a line for whoever is looking into the plugin itself.
pub fn debug(message: &str) {
    host::log(Level::Debug, message);
}

/// Writes a line about a notable event of normal work.
pub fn info(message: &str) {
    host::log(Level::Info, message);
}

/// Writes a line about something wrong that the call survives.
pub fn warn(message: &str) {
    host::log(Level::Warn, message);
}

/// Writes a line about something wrong that makes the call fail.
pub fn error(message: &str) {
    host::log(Level::Error, message);
}
