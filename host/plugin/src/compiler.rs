//! The compiler of components, which runs in processes of its own.

use std::path::PathBuf;

/// Compiles components in processes of their own.
///
/// Each has an empty environment, limits for CPU time and memory (2 GiB) and a low priority. It is killed when its CPU time is
/// used up, when it hangs, or when loading the plugin is given up.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub(super) program: PathBuf,
}

impl Compiler {
    /// Names the Toolhost program: within it, `/proc/self/exe`. It must be of the same version as this library.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }
}
