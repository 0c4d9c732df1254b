//! Making the folder of a plugin from a template.
//!
//! A template is a folder of files. `{{key}}` stands for a value. A line with `{{#flag}}` alone begins lines that are left out unless
//! the flag is set, and `{{/flag}}` ends them. Files below a folder `with-flag` are written without that folder if the flag is
//! set. A name that ends in `.in` loses this ending, which keeps tools from taking the template for a package.

mod names;
mod render;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::bindings::{BindingsError, write_bindings};
use crate::embedded::{self, File, WriteError};
use crate::{Language, write_contract};

/// A plugin to make.
#[derive(Clone, Debug)]
pub struct Template {
    /// The name of the plugin and of its tool.
    pub name: String,
    /// Its language.
    pub language: Language,
    /// The capabilities of which it gets an example.
    pub with: BTreeSet<String>,
}

/// A reason why no folder is made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// There is something already.
    #[error(
        "{} is not empty; name a new folder, or an empty one, with --dir", .0.display()
    )]
    NotEmpty(PathBuf),
    /// The template has no example of this capability.
    #[error(
        "the template in {language} has no example of {capability}; it has {}",
        if .known.is_empty() { "none".to_owned() } else { .known.join(" and ") }
    )]
    NoExample {
        /// The language.
        language: Language,
        /// The capability.
        capability: String,
        /// The capabilities of which it has examples.
        known: Vec<&'static str>,
    },
    /// The template cannot give its tool this name.
    #[error(
        "{name:?} cannot be the name of a plugin in {language}: it is {problem}; choose another, such as {name}_tool"
    )]
    Name {
        /// The name.
        name: String,
        /// The language.
        language: Language,
        /// What else has this name.
        problem: &'static str,
    },
    /// The folder cannot be looked at.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bindings cannot be generated.
    #[error(transparent)]
    Bindings(#[from] BindingsError),
}

impl Language {
    fn template(self) -> &'static [File] {
        match self {
            Self::Rust => embedded::RUST,
            Self::Python => embedded::PYTHON,
            Self::JavaScript => embedded::JAVASCRIPT,
            Self::TypeScript => embedded::TYPESCRIPT,
            Self::Go => embedded::GO,
            Self::C => embedded::C,
        }
    }

    /// Returns the file of the tool.
    fn source(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::Python => "plugin.py",
            Self::JavaScript => "plugin.js",
            Self::TypeScript => "plugin.ts",
            Self::Go => "export_toolhost_plugin_tools/plugin.go",
            Self::C => "plugin.c",
        }
    }

    /// Returns the capabilities of which the template has examples.
    pub fn examples(self) -> Vec<&'static str> {
        let all = ["processes", "files", "http"];
        let has = |capability: &&str| {
            let folder = format!("with-{capability}/");
            let mut files = self.template().iter();
            files.any(|file| file.path.starts_with(&folder))
        };
        all.into_iter().filter(has).collect()
    }
}

impl Template {
    /// Writes the plugin into a folder, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// If the folder is not empty, the template has no example of a capability, or its language has another use for the name: nothing
    /// is written then. Also if a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TemplateError> {
        let known = self.language.examples();
        for capability in &self.with {
            if !known.contains(&capability.as_str()) {
                return Err(TemplateError::NoExample {
                    language: self.language,
                    capability: capability.clone(),
                    known,
                });
            }
        }
        if let Some(problem) = names::problem(&self.name, self.language, &self.with) {
            return Err(TemplateError::Name {
                name: self.name.clone(),
                language: self.language,
                problem,
            });
        }
        check_empty(folder)?;
        let files = embedded::COMMON.iter().chain(self.language.template());
        for file in files {
            let Some(path) = self.path(file.path) else {
                continue;
            };
            let content = String::from_utf8_lossy(file.content);
            let text = render::text(&content, &self.values(), |flag| self.has(flag));
            embedded::write(&folder.join(path), text.as_bytes())?;
        }
        write_contract(&folder.join("wit"))?;
        match self.language {
            Language::Rust => embedded::write_all(&folder.join("sdk"), embedded::RUST_SDK)?,
            Language::Go | Language::C => {
                let grants = self.with.iter().map(String::as_str);
                write_bindings(folder, self.language, grants)?;
            }
            Language::Python => {
                embedded::write_all(&folder.join("toolhost"), embedded::PYTHON_SDK)?;
            }
            Language::JavaScript | Language::TypeScript => {
                embedded::write_all(&folder.join("toolhost"), embedded::JAVASCRIPT_SDK)?;
            }
        }
        Ok(())
    }

    /// Returns the path that a file of the template gets; `None` if it is left out.
    fn path(&self, path: &str) -> Option<PathBuf> {
        let path = match path.strip_prefix("with-") {
            Some(rest) => {
                let (flag, rest) = rest.split_once('/')?;
                self.has(flag).then_some(rest)?
            }
            None => path,
        };
        let plain = path.strip_suffix(".in").unwrap_or(path);
        Some(match plain {
            "gitignore" => ".gitignore".into(),
            plain => plain.into(),
        })
    }

    fn has(&self, flag: &str) -> bool {
        match flag {
            "grants" => !self.with.is_empty(),
            "plain" => !self.with.contains("http"),
            "script" => matches!(self.language, Language::JavaScript | Language::TypeScript),
            // QuickJS is small, and sends no requests.
            "quickjs" => self.has("script") && self.has("plain"),
            "starlingmonkey" => self.has("script") && !self.has("plain"),
            "packaged" => matches!(
                self.language,
                Language::Python | Language::JavaScript | Language::TypeScript
            ),
            flag => self.with.contains(flag) || self.language.name() == flag,
        }
    }

    fn values(&self) -> [(&'static str, String); 5] {
        let native = match self.language {
            Language::Rust => "cargo test, then ",
            Language::Python => "python3 -m unittest, then ",
            Language::JavaScript | Language::TypeScript => "node --test, then ",
            Language::Go | Language::C => "",
        };
        let tests = format!("runs {native}cases.json through the component");
        [
            ("name", self.name.clone()),
            ("crate", self.name.replace('_', "-")),
            ("language", self.language.to_string()),
            ("source", self.language.source().to_owned()),
            ("tests", tests),
        ]
    }
}

fn check_empty(folder: &Path) -> Result<(), TemplateError> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(TemplateError::NotEmpty(folder.to_owned())),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(TemplateError::Unreadable {
            path: folder.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests;
