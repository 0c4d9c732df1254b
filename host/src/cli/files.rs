//! Which files tools may use: the options that all share who offer some.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::capability::FilesGrant;
use crate::host::Builder;

/// Which directories can be reached.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub(super) struct Roots {
    /// A further directory whose files may be used, by absolute paths; can be repeated, or several joined by `:`
    #[arg(
        long,
        value_name = "DIR",
        env = "TOOLHOST_FILES_ROOT",
        value_delimiter = ':'
    )]
    pub(super) files_root: Vec<PathBuf>,
}

/// What the file tools may do.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// What the file tools may do in the workspace
    #[arg(
        long,
        value_name = "GRANT",
        env = "TOOLHOST_FILES",
        value_enum,
        default_value_t = Files::Write
    )]
    files: Files,
    #[command(flatten)]
    roots: Roots,
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
    pub(super) fn configure(&self, builder: Builder) -> Builder {
        let grant = match self.files {
            Files::None => FilesGrant::None,
            Files::Read => FilesGrant::Read,
            Files::Write => FilesGrant::Write,
        };
        let roots = self.roots.files_root.iter().cloned();
        builder.files(grant).file_roots(roots)
    }
}
