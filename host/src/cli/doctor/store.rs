//! The check of the store, as far as it is quick: `toolhost state check` reads all of it.

use std::path::Path;

use super::super::state::size;
use super::Check;
use toolhost_service::errors;
use toolhost_state::state_dir::StateDir;
use toolhost_store::StoreFile;

const NAME: &str = "store";

/// Checks the beginning of the store; `None` if there is no store. The check of the state directory tells whether that can be used.
pub(super) fn check(path: &Path) -> Option<Check> {
    let directory = StateDir::open(path).ok()?;
    match StoreFile::open(&directory) {
        Ok(None) => None,
        Ok(Some(file)) => Some(Check::ok(
            NAME,
            format!(
                "{}, {}; `toolhost state check` reads all of it",
                file.path().display(),
                size(file.bytes())
            ),
        )),
        Err(error) => Some(Check::failed(
            NAME,
            errors::full_text(&error.into()),
            "look closer with `toolhost state check`",
        )),
    }
}
