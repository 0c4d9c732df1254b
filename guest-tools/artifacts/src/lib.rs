//! The embedded plugins as bytes. The build script builds them, so they always fit the sources and the contract beside them.

/// The component of the tools `execute`, `process_output`, `process_input`, `process_list` and `process_signal`.
///
/// It needs the grant `processes`.
pub const SHELL: &[u8] = include_bytes!(env!("SHELL_COMPONENT"));

/// The component of the tools `read_file`, `write_file`, `edit_files`, `apply_patch`, `search_files`, `find_files` and
/// `share_file`.
///
/// It needs the grant `files`.
pub const FILES: &[u8] = include_bytes!(env!("FILES_COMPONENT"));

/// The component of the tool `find_tools`.
///
/// It needs the grant `calls`.
pub const FIND: &[u8] = include_bytes!(env!("FIND_COMPONENT"));

/// The component of the tool `run_script`.
///
/// It needs the grant `calls`.
pub const SCRIPT: &[u8] = include_bytes!(env!("SCRIPT_COMPONENT"));
