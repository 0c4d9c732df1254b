//! Guests that only tests load, as bytes. The build script builds them, so they always fit the sources and the contract.

/// The component of the tools that MCP's conformance suite calls.
///
/// It needs no grant.
pub const CONFORMANCE: &[u8] = include_bytes!(env!("CONFORMANCE_COMPONENT"));

/// The component of a tool that calls other tools as its arguments say.
///
/// It needs the grant `calls`.
pub const CALLER: &[u8] = include_bytes!(env!("CALLER_COMPONENT"));

/// The component of tools that its setting `tools` describes.
///
/// It needs no grant.
pub const CATALOGUE: &[u8] = include_bytes!(env!("CATALOGUE_COMPONENT"));

/// The component of the tool `word_count`, the smallest plugin in Rust.
///
/// It needs no grant.
pub const WORD_COUNT: &[u8] = include_bytes!(env!("WORD_COUNT_COMPONENT"));

/// The component of the tool `fetch_title`, a plugin in Rust that sends requests.
///
/// It needs the grant `http`.
pub const FETCH_TITLE: &[u8] = include_bytes!(env!("FETCH_TITLE_COMPONENT"));

/// The component of the tools that plugins in all languages have for one table of tests.
///
/// It needs the grants `processes`, `files` and `http`.
pub const TABLE: &[u8] = include_bytes!(env!("TABLE_COMPONENT"));
