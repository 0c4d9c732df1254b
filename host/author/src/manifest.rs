//! `plugin.toml`: the facts about a plugin in its folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

/// The language that a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with the SDK.
    Rust,
    /// Python, with the package `toolhost`.
    Python,
    /// JavaScript, with the package `toolhost`.
    JavaScript,
    /// TypeScript, with the package `toolhost`.
    TypeScript,
    /// Go, with generated bindings.
    Go,
    /// C, with generated bindings.
    C,
}

/// Facts about a plugin, as its folder states them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name of the plugin, as configurations write it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its purpose, in a sentence.
    pub description: String,
    /// Its license, as an SPDX expression.
    #[serde(default)]
    pub license: Option<String>,
    /// Where its sources are: a URL.
    #[serde(default)]
    pub source: Option<String>,
    /// The language that it is written in.
    pub language: Language,
    /// The capabilities that it asks for, each with the reason that an operator reads.
    #[serde(default)]
    pub grants: BTreeMap<String, String>,
}

/// A folder without a usable `plugin.toml`.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error(
        "cannot read {}: {source}; a folder of a plugin has this file, which `toolhost plugin new` writes",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("{} is not valid: {}", path.display(), text.trim_end())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The problem, with its line.
        text: String,
    },
}

impl Manifest {
    /// The name of the file.
    pub const FILE: &'static str = "plugin.toml";

    /// Reads the file in this folder.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub fn read(folder: &Path) -> Result<Self, ManifestError> {
        let path = folder.join(Self::FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(ManifestError::Unreadable { path, source }),
        };
        let invalid = |text: String| ManifestError::Invalid {
            path: path.clone(),
            text,
        };
        let manifest: Self = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if manifest.name.is_empty() || !manifest.name.chars().all(plain) {
            return Err(invalid(format!(
                "the name {:?} is not one of a plugin: write a-z, 0-9 and _",
                manifest.name
            )));
        }
        Ok(manifest)
    }

    /// Returns the path of the component in the folder of the plugin.
    pub fn component(&self, folder: &Path) -> PathBuf {
        folder.join("build").join(format!("{}.wasm", self.name))
    }

    /// Returns the path of the component that is built for debugging beside that one.
    pub fn debug_component(&self, folder: &Path) -> PathBuf {
        let below = folder.join("build/debug");
        below.join(format!("{}.wasm", self.name))
    }
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 6] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Go,
        Self::C,
    ];

    /// Returns the name of the language, as `plugin.toml` writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Go => "go",
            Self::C => "c",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.name() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("the languages are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plugin.toml"), text).unwrap();
        let read = Manifest::read(folder.path()).map_err(|error| error.to_string());
        read.map_err(|text| text.replace(folder.path().to_str().unwrap(), "DIR"))
    }

    const GOOD: &str = "name = 'a_b'\nversion = '0.1.0'\ndescription = 'Counts.'\nlanguage = 'javascript'\n[grants]\nfiles = 'reads'\n";

    #[test]
    fn a_folder_says_what_its_plugin_is() {
        let manifest = read(GOOD).unwrap();
        assert_eq!(manifest.language, Language::JavaScript);
        assert_eq!(manifest.grants["files"], "reads");
        assert_eq!(
            manifest.component(Path::new("x")),
            Path::new("x/build/a_b.wasm")
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = Manifest::read(Path::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/nowhere/plugin.toml") && error.contains("plugin new"),
            "{error}"
        );
        let error = read(&GOOD.replace("version", "versoin")).unwrap_err();
        assert!(
            error.contains("unknown field `versoin`") && error.contains("line 2"),
            "{error}"
        );
        let error = read(&GOOD.replace("a_b", "../b")).unwrap_err();
        assert!(error.contains("not one of a plugin"), "{error}");
    }

    #[test]
    fn languages_have_one_name_each() {
        for language in Language::ALL {
            assert_eq!(language.name().parse(), Ok(language));
            let text = GOOD.replace("javascript", language.name());
            assert_eq!(read(&text).unwrap().language, language);
        }
        assert!("rUst".parse::<Language>().is_err());
    }
}
