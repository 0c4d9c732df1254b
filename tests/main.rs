//! Everything that only the whole can show, in one binary so that wasmtime is linked once.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, says why it is skipped, and starts programs of its own"
)]

mod guest;
mod harness;

/// The four tools through their component.
mod execute;

/// The file tools through their component, on real files.
mod files;

/// What every workspace does, wherever it is.
mod workspace;

/// Several hosts that share their chats.
mod cluster;

/// The process domain on real processes.
mod processes;

/// Plugins while a host runs.
mod plugins;

/// Output by its bytes and cursors, and records that outlive the host.
mod records;

/// What a host takes of its machine, and what it leaves to commands.
mod resources;

/// Nothing that a command starts outlives its end.
mod containment;

/// Commands in their sandbox, below a real host.
mod sandboxing;

/// Hostile guests, each held by its limit.
mod sandbox;

/// Plugins that load, and each reason why one does not.
mod loading;

/// What plugins get through WASI: requests, variables and directories by grant, and no sockets.
mod outgoing;

/// What a call costs, in instructions.
mod costs;

/// Every limit, with its text and its metric.
mod limits;

/// The audit trail, and what a crash or a full disk leaves of it.
mod audit;

/// Calls that a plugin makes.
mod nested;

/// Scripts that call tools, and only what they may.
mod scripts;

/// More tools than a model should read the definitions of: they are found.
mod many;

/// The hook that is asked before a tool may destroy something.
mod approval;

/// Plugins in other languages than Rust.
mod languages;

/// The documents for authors: their code, and their tables.
mod documents;

/// The contract: documented, and kept by the embedded tools.
mod contract;

/// The server, over real sockets.
mod http;

/// The console: logins, what a cookie may do, the stream of what runs, and the page in a browser.
mod console;

/// The agent API, which is compatible with the reference implementation.
mod agent;

/// The command line, as a user runs it.
mod cli;

/// Log lines, metrics and traces.
mod observability;

/// Programs that use Toolhost: the examples, and the official clients of MCP.
mod clients;

/// The rules of the source tree.
mod tidy;

/// MCP, over pipes and over HTTP.
mod mcp;
