//! The contract of plugins: the package `toolhost:plugin` in WIT.

use std::path::Path;

use crate::embedded::{self, File, WriteError};

/// The files of the contract.
pub static CONTRACT: &[File] = embedded::CONTRACT;

/// Writes the contract into a folder, which is made if it is missing. Replaces files of the same names, and leaves others alone.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_contract(folder: &Path) -> Result<(), WriteError> {
    embedded::write_all(folder, CONTRACT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_is_written_as_it_is_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/wit");
        write_contract(&below).unwrap();
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let mut count = 0;
        for entry in std::fs::read_dir(original).unwrap().flatten() {
            let written = std::fs::read(below.join(entry.file_name())).unwrap();
            assert_eq!(written, std::fs::read(entry.path()).unwrap());
            count += 1;
        }
        assert_eq!(count, CONTRACT.len());
    }
}
