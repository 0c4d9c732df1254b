//! Everything that only the whole can show, in one binary so that wasmtime is linked once.

mod guest;
mod harness;

/// The four tools through their component.
mod execute;

/// The process domain on real processes.
mod processes;

/// Hostile guests, each held by its limit.
mod sandbox;

/// The contract: documented, and kept by the embedded tools.
mod contract;

/// The server, over real sockets.
mod http;

/// The command line, as a user runs it.
mod cli;

/// The invariants of ARCHITECTURE.md.
mod tidy;
