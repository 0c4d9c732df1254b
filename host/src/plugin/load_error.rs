//! Why a plugin does not load, in words that say what to do.

use std::path::PathBuf;

use super::definition::MAX_PLUGIN_NAME;
use super::imports::{CONTRACT, PACKAGE};
use super::limits::bytes as in_bytes;

/// Why a plugin does not load. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name cannot be part of a tool's name.
    #[error(
        "{0:?} cannot be the name of a plugin: it must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_PLUGIN_NAME} bytes"
    )]
    Name(String),
    /// Its file cannot be read.
    #[error("its component {path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Its file is none.
    #[error("its component {path} is not a file", path = .0.display())]
    NotAFile(PathBuf),
    /// A directory that it was granted cannot be used.
    #[error("grants.files.roots: {0}")]
    FileRoots(String),
    /// The component is too large.
    #[error("the component has {size}, the most is {limit}", size = in_bytes(*.size), limit = in_bytes(*.limit))]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It is a core module.
    #[error(
        "this is a core module, not a component: build it for wasm32-wasip2, or turn it into one with `wasm-tools component new`"
    )]
    CoreModule,
    /// It is no WebAssembly.
    #[error("this is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// It imports a capability that it was not granted.
    #[error(
        "the plugin imports {import}, which it was not granted: add `grants = {{ {grant} = … }}` to its configuration"
    )]
    NotGranted {
        /// The full name of the import.
        import: String,
        /// The name of the grant.
        grant: &'static str,
    },
    /// It speaks another version of the contract.
    #[error(
        "the plugin names {0}, but this host speaks version {CONTRACT} of the contract: build it against that"
    )]
    Version(String),
    /// It imports something unknown.
    #[error(
        "the plugin imports {0}, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2, and nothing else"
    )]
    UnknownImport(String),
    /// It does not export the tools.
    #[error("the component does not export {PACKAGE}tools@{CONTRACT}: it is no plugin")]
    NoTools,
    /// Imports or exports have other types than the contract.
    #[error("the plugin does not fit the contract: {0}")]
    Mismatch(String),
    /// It could not say which tools it offers.
    #[error("the plugin did not list its tools: {0}")]
    ListTools(String),
    /// A tool is not sound.
    #[error("the tool {name:?} of the plugin is not sound: {problem}")]
    Tool {
        /// The name that the plugin gave.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Returns an error with all of its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        // An error that is passed on as it is has the text of its cause.
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}
