//! Errors of loading a plugin, with texts that say what to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::contract::{CONTRACT, PACKAGE};
use super::limits::bytes as in_bytes;
use super::limits::{MAX_PLUGIN_NAME, MAX_TOOLS};
use super::text::shown;
use super::{Cause, Digest};
use crate::capability::{CAPABILITIES, Capability, grants_line};
use toolhost_state::trusted::UntrustedError;

/// A reason why a plugin does not load. Each text says what to do, in one line. Text that the plugin wrote is escaped and cut in it.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name cannot be part of a tool's name.
    #[error(
        "{0:?} cannot be the name of a plugin: it must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most {MAX_PLUGIN_NAME} bytes"
    )]
    Name(String),
    /// The file of the component cannot be read.
    #[error("its component {path} cannot be read: {source}{advice}", path = path.display(), advice = how_to_build(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The component's path is not that of a file.
    #[error("its component {path} is not a file{advice}", path = .0.display(), advice = how_to_build(.0))]
    NotAFile(PathBuf),
    /// Other users can change the file of the component.
    #[error("its component cannot be used: {0}")]
    Untrusted(UntrustedError),
    /// A directory that the plugin was granted cannot be used.
    #[error("grants.files.roots: {0}")]
    FileRoots(String),
    /// The library of scripts cannot be read.
    #[error("settings.library: {0}")]
    Library(String),
    /// The component is too large.
    #[error("the component has {size}, the most is {limit}", size = in_bytes(*.size), limit = in_bytes(*.limit))]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The component is not the one that the operator pinned.
    #[error(
        "the component is not the one that was pinned: its sha256 is {found}, and the configuration has {pinned}; if you trust this one, put `sha256 = \"{found}\"` into [plugins.{plugin}]"
    )]
    Digest {
        /// The name of the plugin.
        plugin: String,
        /// The digest that the operator pinned.
        pinned: Digest,
        /// The digest of the component.
        found: Digest,
    },
    /// The file is a core module.
    #[error(
        "this is a core module, not a component: in Rust build for the target wasm32-wasip2; in Python use componentize-py, in JavaScript `jco componentize`; in C turn the module into a component with `wasm-tools component new`"
    )]
    CoreModule,
    /// The file is a WIT package: it has interfaces and no code.
    #[error(
        "this is a WIT package, which describes interfaces and has no code: give the component that your build makes"
    )]
    WitPackage,
    /// The file is not a WebAssembly component that the host can read.
    #[error("this is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// The component is a program.
    #[error(
        "the component exports {0}: it is a program, not a plugin; build it against a world of toolhost:plugin, which exports {PACKAGE}tools@{CONTRACT}.0"
    )]
    Program(String),
    /// The component is an HTTP server.
    #[error(
        "the component exports {0}: it answers HTTP requests, and is no plugin; build it against a world of toolhost:plugin, which exports {PACKAGE}tools@{CONTRACT}.0"
    )]
    Server(String),
    /// The component does not export the tools.
    #[error(
        "the component does not export {PACKAGE}tools@{CONTRACT}.0, so it is no plugin: it exports {exports}; in Rust name its tools in `toolhost_sdk::export_tools!`, in other languages build it against a world of toolhost:plugin",
        exports = listed(.0)
    )]
    NoTools(Vec<String>),
    /// The plugin uses a newer version of the contract.
    #[error(
        "the plugin names {0}, and this host speaks version {CONTRACT} of the contract: use a newer Toolhost, or build the plugin against {CONTRACT}"
    )]
    Newer(String),
    /// The plugin uses an older version of the contract.
    #[error(
        "the plugin names {0}, which is older than version {CONTRACT} of the contract, the oldest that this host speaks: build the plugin against {CONTRACT}"
    )]
    Older(String),
    /// The plugin imports capabilities that it was not granted.
    #[error("{}", not_granted(.plugin, .imports))]
    NotGranted {
        /// The name of the plugin.
        plugin: String,
        /// The full name of each import, and the capability that grants it.
        imports: Vec<(String, &'static Capability)>,
    },
    /// The host cannot give a granted directory to the plugin.
    #[error("the directory {directory} cannot be granted: {problem}", directory = .directory.display())]
    Preopen {
        /// The directory, as it was configured.
        directory: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The plugin imports another version of WASI than 0.2.
    #[error(
        "the plugin imports {0}, and this host offers WASI 0.2: build it for that, in Rust with the target wasm32-wasip2"
    )]
    OtherWasi(String),
    /// The plugin imports an unknown interface.
    #[error(
        "the plugin imports {0}, which no Toolhost offers: build it against a world of toolhost:plugin and WASI 0.2 (cli, clocks, filesystem, http, io, random, sockets), and nothing else"
    )]
    UnknownImport(String),
    /// Imports or exports have other types than the contract.
    #[error(
        "the plugin does not fit the contract: {0}; build it against the files of wit/ as they are"
    )]
    Mismatch(String),
    /// Compiling takes too much CPU time.
    #[error(
        "compiling the component takes more than {limit} s of CPU time: if it is as it should be, put `limits = {{ compile_time = \"{more}s\" }}` into [plugins.{plugin}]",
        limit = .limit.as_secs(),
        more = more(*.limit)
    )]
    CompileTime {
        /// The name of the plugin.
        plugin: String,
        /// The limit.
        limit: Duration,
    },
    /// The compiler does not work.
    #[error("the compiler failed: {0}")]
    Compiler(String),
    /// The plugin could not list its tools.
    #[error("the plugin did not list its tools: {0}")]
    ListTools(Box<Cause>),
    /// The plugin lists too many tools.
    #[error("the plugin lists {0} tools, the most is {MAX_TOOLS}: make several plugins of it")]
    TooManyTools(usize),
    /// The text of the listed tools is too long.
    #[error(
        "the plugin lists tools with {size} bytes of text, the most is {limit}: shorten the descriptions and schemas",
        limit = in_bytes(*.limit)
    )]
    TooMuchText {
        /// The size of the text in bytes.
        size: usize,
        /// The limit in bytes, which is that of a reply.
        limit: usize,
    },
    /// Checking the listed tools takes too much CPU time.
    #[error(
        "checking the tools of the plugin takes more than {} s of CPU time: make their schemas simpler",
        .0.as_secs()
    )]
    CheckTime(Duration),
    /// A tool is not sound.
    #[error("the tool \"{name}\" of the plugin is not sound: {problem}", name = shown(.name))]
    Tool {
        /// The name that the plugin gave.
        name: String,
        /// The problem, as a text.
        problem: String,
    },
}

/// Returns what to do if a path is the folder of a plugin, or a component there that was not built; nothing for other paths. The text
/// follows an error.
pub fn how_to_build(path: &Path) -> String {
    let is_plugin = |folder: &&Path| folder.join("plugin.toml").is_file();
    if Some(path).filter(is_plugin).is_some() {
        let built = path.join("build/NAME.wasm");
        return format!("; name the component of the plugin: {}", built.display());
    }
    let folder = path.ancestors().skip(1).take(3).find(is_plugin);
    match folder.filter(|_| !path.exists()) {
        Some(folder) => format!(
            "; build it with `toolhost plugin build {}`",
            folder.display()
        ),
        None => String::new(),
    }
}

impl LoadError {
    /// Returns the cause, if the guest ran and failed.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::ListTools(cause) => Some(cause),
            _ => None,
        }
    }

    /// Makes the error of a component that cannot be read; `text` is the message of the reader that failed.
    pub(super) fn malformed(text: &str) -> Self {
        let text = shown(text);
        Self::NotAComponent(format!(
            "it is broken or was cut off ({text}); build or download it again"
        ))
    }
}

/// Suggests a time for compiling, in seconds.
fn more(limit: Duration) -> u64 {
    limit.as_secs().max(1) * 3
}

/// Lists names that a guest gave.
fn listed(names: &[String]) -> String {
    const MOST: usize = 5;
    let mut text: Vec<_> = names.iter().take(MOST).map(|name| shown(name)).collect();
    match names.len().checked_sub(MOST) {
        _ if names.is_empty() => text.push("nothing".into()),
        Some(more @ 1..) => text.push(format!("{more} more")),
        _ => {}
    }
    text.join(", ")
}

fn not_granted(plugin: &str, imports: &[(String, &'static Capability)]) -> String {
    let needed = |known: &&Capability| imports.iter().any(|(_, need)| need == known);
    let grants: Vec<_> = CAPABILITIES.iter().filter(needed).collect();
    let names: Vec<_> = imports.iter().map(|(import, _)| import.clone()).collect();
    let meanings: Vec<_> = grants.iter().map(|grant| grant.meaning()).collect();
    format!(
        "the plugin imports {}, which it was not granted: to grant it, put `{}` into [plugins.{plugin}]. {}",
        listed(&names),
        grants_line(&grants),
        meanings.join(". ")
    )
}
