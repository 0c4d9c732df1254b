//! The files that tools may use: the options that all commands share which offer tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use toolhost_workspace::files::FilesGrant;

/// What may be done with files, and with which.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Files")]
#[group(skip)]
pub struct Options {
    /// What may be done with the files of the workspace, by tools and over the agent API
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
    /// Nothing: they are not offered
    None,
    /// Read files and list directories; a tool that writes says that it may not
    Read,
    /// Read and write
    Write,
}

impl Options {
    /// Returns the further directories. A variable that is set to nothing names none.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots = self.files_root.clone();
        roots.retain(|root| !root.as_os_str().is_empty());
        roots
    }

    /// Returns what may be done with the files.
    pub fn grant(&self) -> FilesGrant {
        match self.files {
            Files::None => FilesGrant::None,
            Files::Read => FilesGrant::Read,
            Files::Write => FilesGrant::Write,
        }
    }
}
