//! Building a plugin with the toolchain of its language, into `build/NAME.wasm`.

mod c;
mod go;
mod mistake;
mod python;
mod rust;
mod script;
mod shrink;
mod world;

use std::io;
use std::path::{Path, PathBuf};

use crate::bindings::BindingsError;
use crate::embedded::{self, WriteError};
use crate::program::{Program, ProgramError, find};
use crate::{Language, Manifest};
pub use shrink::without_names;

/// A plugin that is to be built.
#[derive(Debug)]
pub struct Build<'a> {
    /// The folder of the plugin.
    pub folder: &'a Path,
    /// The manifest of the plugin.
    pub manifest: &'a Manifest,
    /// Whether the component keeps the names and lines that traps show, and is built fast rather than small.
    pub debug: bool,
    /// Whether missing tools are installed.
    pub install: bool,
    /// Whether the component goes into `build/debug`, so that the one that [`Manifest::component`] names stays as it is.
    pub apart: bool,
}

/// A tool that is missing, and the commands that install it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The tool, as a noun.
    pub what: String,
    /// The commands, each as its words, which run in the folder of the plugin one after the other.
    pub commands: Vec<Vec<String>>,
}

/// A reason why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A tool is missing.
    #[error(
        "{} is missing; to install it, run `{}`, or build with --install",
        .0.what,
        .0.line()
    )]
    Missing(Missing),
    /// A tool is missing that this program does not install.
    #[error("{what} is missing; {how}")]
    NotInstalled {
        /// The tool, as a noun.
        what: String,
        /// How to install it.
        how: String,
    },
    /// The manifest of the language makes no component.
    #[error("{0}")]
    Manifest(String),
    /// A program of the toolchain failed.
    #[error(transparent)]
    Program(ProgramError),
    /// The bindings or the component cannot be made.
    #[error(transparent)]
    Bindings(#[from] BindingsError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation that was attempted, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl From<ProgramError> for BuildError {
    fn from(error: ProgramError) -> Self {
        let how = |name: &str| match name {
            "cargo" | "rustc" | "rustup" => Some("install Rust from https://rustup.rs"),
            "python3" => Some("install Python 3.10 or newer from https://www.python.org"),
            "node" | "npm" => Some("install Node.js from https://nodejs.org"),
            _ => None,
        };
        match error {
            ProgramError::Missing(what) => match how(&what) {
                Some(how) => Self::NotInstalled {
                    how: how.to_owned(),
                    what,
                },
                None => Self::Program(ProgramError::Missing(what)),
            },
            other => Self::Program(other),
        }
    }
}

impl Missing {
    fn new<const N: usize>(what: &str, commands: [&[&str]; N]) -> Self {
        let words = |command: &[&str]| command.iter().map(|word| (*word).to_owned()).collect();
        Self {
            what: what.to_owned(),
            commands: commands.into_iter().map(words).collect(),
        }
    }

    /// Returns the commands as one line for a shell.
    pub fn line(&self) -> String {
        let lines: Vec<_> = self.commands.iter().map(|words| words.join(" ")).collect();
        lines.join(" && ")
    }
}

impl Build<'_> {
    /// Builds the component, and returns its path. All that the toolchain prints goes to standard error.
    ///
    /// # Errors
    ///
    /// If a tool is missing or fails: the former component stays.
    pub async fn run(&self) -> Result<PathBuf, BuildError> {
        let made = match self.manifest.language {
            Language::Rust => rust::build(self).await?,
            Language::Python => python::build(self).await?,
            Language::JavaScript | Language::TypeScript => script::build(self).await?,
            Language::C => c::build(self).await?,
            Language::Go => go::build(self).await?,
        };
        let component = match self.apart {
            true => self.manifest.debug_component(self.folder),
            false => self.manifest.component(self.folder),
        };
        let file = |action, path: &Path, source| BuildError::File {
            action,
            path: path.to_owned(),
            source,
        };
        let below = component.parent().unwrap_or(self.folder);
        std::fs::create_dir_all(below).map_err(|error| file("make", below, error))?;
        let bytes = std::fs::read(&made).map_err(|error| file("read", &made, error))?;
        let bytes = match (self.debug, self.manifest.language) {
            (true, _) => bytes,
            (false, Language::Rust) => {
                shrink::optimized(self, shrink::without_names(&bytes)).await?
            }
            (false, _) => shrink::without_names(&bytes),
        };
        // A program that reads the component meanwhile must find a whole one.
        let partial = component.with_extension("wasm.partial");
        embedded::write(&partial, &bytes)?;
        std::fs::rename(&partial, &component)
            .map_err(|error| file("replace", &component, error))?;
        Ok(component)
    }

    /// Runs the tests that the language has for this plugin. Returns whether they passed; `None` if the language has none.
    ///
    /// # Errors
    ///
    /// If the tests cannot be run.
    pub async fn test(&self) -> Result<Option<bool>, BuildError> {
        let program = match self.manifest.language {
            Language::Rust => rust::tests(self),
            Language::Python => python::tests(self),
            Language::JavaScript | Language::TypeScript => script::tests(self).await?,
            Language::C | Language::Go => return Ok(None),
        };
        match program.run().await {
            Ok(()) => Ok(Some(true)),
            Err(ProgramError::Failed { .. }) => Ok(Some(false)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the folder for the results of a build.
    fn made(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Returns the names of the capabilities that the plugin asks for.
    fn grants(&self) -> impl Iterator<Item = &str> {
        self.manifest.grants.keys().map(String::as_str)
    }

    /// Returns a program of the toolchain, which runs in the folder of the plugin.
    fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Program {
        Program::new(program, self.folder)
    }

    /// Finds a program in `.toolhost/venv` of the folder, or in PATH.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let folder = std::path::absolute(self.folder.join(".toolhost/venv/bin"));
        find(name, folder.ok().as_slice())
    }

    /// Installs a missing tool if that is wanted. Returns an error that names the command if it is not.
    async fn provide(&self, missing: Missing) -> Result<(), BuildError> {
        if !self.install {
            return Err(BuildError::Missing(missing));
        }
        for command in &missing.commands {
            if let [program, arguments @ ..] = command.as_slice() {
                self.program(program).args(arguments).run().await?;
            }
        }
        Ok(())
    }

    /// Returns the command of the environment of Python in the folder, with a package from PyPI.
    fn from_pypi(what: &str, package: &str) -> Missing {
        Missing::new(
            what,
            [
                &["python3", "-m", "venv", ".toolhost/venv"],
                &[".toolhost/venv/bin/pip", "install", package],
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_one_command() {
        let missing = Build::from_pypi("componentize-py", "componentize-py==0.25.1");
        assert_eq!(
            BuildError::Missing(missing).to_string(),
            "componentize-py is missing; to install it, run `python3 -m venv .toolhost/venv && \
             .toolhost/venv/bin/pip install componentize-py==0.25.1`, or build with --install"
        );
    }
}
