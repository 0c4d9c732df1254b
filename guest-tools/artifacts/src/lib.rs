//! The guests as bytes. The build script builds them, so they always fit the sources and the contract beside them.

/// The component of the tools `execute`, `process_output`, `process_list` and `process_signal`.
///
/// It needs the grant `processes`.
pub const SHELL: &[u8] = include_bytes!(env!("SHELL_COMPONENT"));

/// The component of the tools `read_file`, `write_file` and `edit_files`.
///
/// It needs the grant `files`.
pub const FILES: &[u8] = include_bytes!(env!("FILES_COMPONENT"));

/// The component of the tool `run_script`.
///
/// It needs the grant `calls`.
pub const SCRIPT: &[u8] = include_bytes!(env!("SCRIPT_COMPONENT"));

/// The component of the tools that MCP's conformance suite calls. It is for tests: who does not name it does not embed it.
///
/// It needs no grant.
pub const CONFORMANCE: &[u8] = include_bytes!(env!("CONFORMANCE_COMPONENT"));

/// The component of a tool that calls other tools as its arguments say. It is for tests, as [`CONFORMANCE`] is.
///
/// It needs the grant `calls`.
pub const CALLER: &[u8] = include_bytes!(env!("CALLER_COMPONENT"));

/// The component of the tool `word_count`, the smallest plugin in Rust. It is for tests, as [`CONFORMANCE`] is.
///
/// It needs no grant.
pub const WORD_COUNT: &[u8] = include_bytes!(env!("WORD_COUNT_COMPONENT"));

/// The component of the tool `fetch_title`, a plugin in Rust that sends requests. It is for tests, as [`CONFORMANCE`] is.
///
/// It needs the grant `http`.
pub const FETCH_TITLE: &[u8] = include_bytes!(env!("FETCH_TITLE_COMPONENT"));

/// The component of the tools that plugins in all languages have for one table of tests. It is for tests, as [`CONFORMANCE`] is.
///
/// It needs the grants `processes`, `files` and `http`.
pub const TABLE: &[u8] = include_bytes!(env!("TABLE_COMPONENT"));
