//! Lines for the operator's log. They never reach the caller or the model.
//!
//! With the feature `log` or `tracing` of this crate, the records of the crate of that name become such lines as well, each with its
//! target. `tracing` also keeps fields and the spans around an event: `my_plugin::cache: load{id=1}: found rows=2`. The level
//! `trace` is left out, since all that a call writes is cut at 64 KiB. The plugin does nothing for it: the first call finds the logger in
//! place. The features make a component larger: `log` by about 3 KB, `tracing` by about 55 KB.

#[cfg(feature = "log")]
pub(crate) mod facade;
#[cfg(feature = "tracing")]
pub(crate) mod subscriber;

#[cfg(target_family = "wasm")]
use crate::bindings::toolhost::plugin::log as host;
use crate::bindings::toolhost::plugin::log::Level;
#[cfg(not(target_family = "wasm"))]
use crate::testing::log as host;

/// Sends the records of the crates `log` and `tracing` to the host, with the features of these names. Repeats change nothing.
pub(crate) fn install() {
    #[cfg(feature = "log")]
    facade::install();
    #[cfg(feature = "tracing")]
    subscriber::install();
}

/// Writes a line for the author of the plugin.
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
