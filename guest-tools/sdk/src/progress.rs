//! The progress of a call, for the caller. Without a listener, a report has no effect.

#[cfg(target_family = "wasm")]
use crate::bindings::toolhost::plugin::progress as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::progress as host;

/// Reports that `done` out of `total` units of work are done, in a unit of your choice. `done` must not decrease;
/// `message` is for a person to read.
pub fn report(done: f64, total: Option<f64>, message: Option<&str>) {
    host::report(done, total, message);
}
