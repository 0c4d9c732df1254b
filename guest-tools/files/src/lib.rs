//! The tools `read_file`, `write_file`, `edit_files`, `apply_patch`, `search_files`, `find_files` and `share_file`,
//! as a plugin.
//!
//! The tools decide: which lines a page has, what is shown of a file that is no text, where an edit matches, and what the
//! model is told. They resolve no path: that, and all else that safety rests on, is the host's. Each tool has a `run` that takes
//! the files as an argument, so that its tests have them in memory.

mod apply_patch;
#[cfg(test)]
mod cases;
mod edit_files;
mod editing;
mod find_files;
mod read_file;
mod refusal;
mod search;
mod search_files;
mod share_file;
mod time;
mod write_file;

use toolhost_sdk::export_tools;

use apply_patch::ApplyPatch;
use edit_files::EditFiles;
use find_files::FindFiles;
use read_file::ReadFile;
use search_files::SearchFiles;
use share_file::ShareFile;
use write_file::WriteFile;

export_tools!(
    ReadFile,
    WriteFile,
    EditFiles,
    ApplyPatch,
    SearchFiles,
    FindFiles,
    ShareFile
);
