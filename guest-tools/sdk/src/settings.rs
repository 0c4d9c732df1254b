//! Settings and secrets that the operator gave this plugin.

#[cfg(target_family = "wasm")]
use crate::bindings::toolhost::plugin::settings as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::settings as host;

/// Returns the value of a setting; `None` if the operator did not set it.
#[must_use]
pub fn get(key: &str) -> Option<String> {
    host::get(key)
}

/// Returns the value of a secret.
///
/// # Errors
///
/// A sentence that says why there is none: it was not granted, or it could not be read.
pub fn secret(name: &str) -> Result<String, String> {
    host::secret(name)
}
