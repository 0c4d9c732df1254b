//! The sources of plugins: their components and options.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use tokio::io::AsyncReadExt;

use toolhost_plugin::{Limits, LoadError, Options};
use toolhost_state::trusted::{self, UntrustedError};

use super::library;

/// The setting of the plugin of scripts whose value is its library.
const LIBRARY: &str = "library";

/// A plugin that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSource {
    /// Its component.
    pub component: Component,
    /// Its name, and how it is loaded.
    pub options: Options,
    /// The directory of its library: content like the component, which changes while the options stay. The plugin finds it in its
    /// setting `library`.
    pub library: Option<PathBuf>,
    /// Whether its tools are offered; if not, it is not loaded either.
    pub enabled: bool,
}

/// The plugins of a configuration.
#[derive(Clone, Debug, Default)]
pub struct PluginSet {
    /// The plugins to load.
    pub sources: Vec<PluginSource>,
    /// Overrides for embedded plugins, by name.
    pub embedded: BTreeMap<String, Embedded>,
    /// Plugins whose configuration is not valid or cannot be looked up, each with the problem. They are listed as failed.
    pub broken: BTreeMap<String, String>,
}

impl PluginSet {
    /// Returns whether the configuration says nothing about plugins.
    pub(in crate::host) fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.embedded.is_empty() && self.broken.is_empty()
    }
}

/// Overrides for a plugin that is part of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Whether its tools are offered.
    pub enabled: bool,
    /// Its limits; `None`: the default ones.
    pub limits: Option<Limits>,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
}

/// The place of the bytes of a component.
#[derive(Clone, PartialEq, Eq)]
pub enum Component {
    /// In memory.
    Bytes(Bytes),
    /// In a file, which is read again whenever the plugin is looked at.
    File(PathBuf),
}

impl std::fmt::Debug for Component {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => formatter.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Self::File(path) => formatter.debug_tuple("File").field(path).finish(),
        }
    }
}

/// The content of a component and of its library at one moment, or the reason why one of them cannot be read.
pub(super) type Content = Result<(Bytes, Option<String>), LoadError>;

/// The mark by which two contents are compared: the hash, or the error of the read.
pub(super) type Mark = Result<blake3::Hash, String>;

/// Returns the mark of a content.
pub(super) fn mark(content: &Content) -> Mark {
    let (bytes, library) = content.as_ref().map_err(ToString::to_string)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes);
    hasher.update(library.as_deref().unwrap_or_default().as_bytes());
    Ok(hasher.finalize())
}

/// Returns the options with which a content is loaded.
pub(super) fn with_library(options: &Options, library: Option<String>) -> Options {
    let mut options = options.clone();
    if let Some(library) = library {
        options
            .settings
            .settings
            .insert(LIBRARY.to_owned(), library);
    }
    options
}

impl PluginSource {
    /// Makes a source of bytes in memory.
    pub fn bytes(component: impl Into<Bytes>, options: Options) -> Self {
        Self {
            component: Component::Bytes(component.into()),
            options,
            library: None,
            enabled: true,
        }
    }

    /// Makes a source of a file.
    pub fn file(path: impl Into<PathBuf>, options: Options) -> Self {
        Self {
            component: Component::File(path.into()),
            options,
            library: None,
            enabled: true,
        }
    }

    /// Returns whether this is the plugin of scripts that is part of the program.
    pub(super) fn is_script(&self) -> bool {
        matches!(&self.component, Component::Bytes(bytes) if bytes == toolhost_artifacts::SCRIPT)
    }

    /// Reads the component, unless it is too large, and the library.
    pub(super) async fn read(&self) -> Content {
        let library = self.library.as_deref().map(library::read).transpose();
        let library = library.map_err(LoadError::Library)?;
        let bytes = match &self.component {
            Component::Bytes(bytes) => bytes.clone(),
            Component::File(path) => read(path.clone(), self.options.limits.component).await?,
        };
        Ok((bytes, library))
    }
}

async fn read(path: PathBuf, limit: usize) -> Result<Bytes, LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: path.clone(),
        source,
    };
    // To open a pipe would block until another process writes into it.
    let metadata = tokio::fs::metadata(&path).await.map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(LoadError::NotAFile(path));
    }
    let trusted = path.clone();
    let opened = tokio::task::spawn_blocking(move || trusted::open(&trusted)).await;
    let opened = opened.map_err(|error| unreadable(error.into()))?;
    let file = opened.map_err(|error| match error {
        UntrustedError::Unreadable { path, error } => LoadError::Unreadable {
            path,
            source: error,
        },
        other => LoadError::Untrusted(other),
    })?;
    let file = tokio::fs::File::from_std(file);
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut file = file.take(most);
    file.read_to_end(&mut bytes).await.map_err(unreadable)?;
    if bytes.len() > limit {
        let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        return Err(LoadError::TooLarge {
            size: size.max(bytes.len()),
            limit,
        });
    }
    Ok(bytes.into())
}
