//! The files that tools may use: the options that all commands share which offer tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use toolhost_workspace::files::FilesGrant;

/// The access to files that tools have, and the directories that it covers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Files")]
#[group(skip)]
pub struct Options {
    /// The access of tools, and of the agent API, to the files of the workspace
    #[arg(
        long,
        value_name = "GRANT",
        env = "TOOLHOST_FILES",
        value_enum,
        default_value_t = Files::Write
    )]
    files: Files,
    /// A further directory whose files may be used, by absolute paths; can be repeated, or several joined by `:`
    #[arg(
        long,
        value_name = "DIR",
        env = "TOOLHOST_FILES_ROOT",
        value_delimiter = ':'
    )]
    files_root: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Files {
    /// No access: the tools for files are not offered
    None,
    /// Read files and list directories; a tool that writes says that it may not
    Read,
    /// Read and write
    Write,
}

impl Options {
    /// Returns the further directories. A variable that is set to an empty text names none.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots = self.files_root.clone();
        roots.retain(|root| !root.as_os_str().is_empty());
        roots
    }

    /// Returns the access to the files.
    pub fn grant(&self) -> FilesGrant {
        match self.files {
            Files::None => FilesGrant::None,
            Files::Read => FilesGrant::Read,
            Files::Write => FilesGrant::Write,
        }
    }
}
