//! The provider of workspaces that are directories below one root.
//!
//! A directory is filled under another name, which begins with `+` as that of no workspace does, and then renamed. So a workspace
//! that is there is complete, and a removed one is gone at once. What a killed host leaves under such names is removed at the next start.

mod clone;
mod copy;
mod open_error;
mod quota;
mod root;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{DirectorySpec, Opened, Provider, ProviderError, Spec, Watched};

use crate::Local;
pub use open_error::OpenDirectoriesError;
use quota::Quotas;
use root::Root;

/// The directories of a host: where they are, and what they can begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoriesConfig {
    /// The directory in which the workspaces are. It is made if it is missing. Nothing else may be in it.
    pub root: PathBuf,
    /// The directories whose files a workspace can begin with, by their names.
    pub templates: BTreeMap<String, PathBuf>,
}

impl DirectoriesConfig {
    /// Checks the root as far as that changes nothing: one that is missing would be made.
    ///
    /// # Errors
    ///
    /// If the root cannot be used.
    pub fn check(&self) -> Result<(), OpenDirectoriesError> {
        match self.root.try_exists() {
            Ok(false) => Ok(()),
            _ => root::check(&self.root),
        }
    }
}

/// Workspaces that are directories below one root, beside another workspace of this machine.
#[derive(Debug)]
pub struct Directories {
    root: Root,
    templates: BTreeMap<String, PathBuf>,
    beside: Arc<Local>,
    quotas: Arc<Quotas>,
}

/// The root of workspaces, locked by this host.
#[derive(Debug)]
pub struct ClaimedDirectories {
    root: Root,
    templates: BTreeMap<String, PathBuf>,
}

impl ClaimedDirectories {
    /// Opens the root, locks it, and removes what an earlier host left unfinished.
    ///
    /// # Errors
    ///
    /// If the root cannot be used, or another host uses it.
    pub fn claim(config: DirectoriesConfig) -> Result<Self, OpenDirectoriesError> {
        Ok(Self {
            root: Root::open(&config.root)?,
            templates: config.templates,
        })
    }

    /// Returns the root without links. Commands and files of other workspaces must not reach it.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Offers the workspaces. They share the registry of processes with `beside`.
    ///
    /// # Errors
    ///
    /// If a further root of files would let one workspace reach another, or a template has a closed path.
    pub fn offer(self, beside: Arc<Local>) -> Result<Directories, OpenDirectoriesError> {
        let Self { root, templates } = self;
        let overlaps =
            |path: &&Path| path.starts_with(root.path()) || root.path().starts_with(path);
        if let Some(further) = beside.further_roots().find(overlaps) {
            return Err(OpenDirectoriesError::Reachable {
                root: root.path().to_path_buf(),
                further: further.to_path_buf(),
            });
        }
        for (name, template) in &templates {
            if let Some(closed) = beside.closed().overlap(template) {
                return Err(OpenDirectoriesError::Template {
                    name: name.clone(),
                    closed: closed.to_path_buf(),
                });
            }
        }
        beside.processes().keep_homes_in(root.path());
        let is_filtered = beside.processes().filters_calls();
        Ok(Directories {
            quotas: Arc::new(Quotas::new(root.path(), is_filtered)),
            root,
            templates,
            beside,
        })
    }
}

impl Directories {
    /// Returns the directory of a workspace.
    fn directory(&self, name: &WorkspaceName) -> PathBuf {
        self.root.path().join(name.to_file_name())
    }

    /// Makes the directory of a workspace, complete or not at all.
    async fn make_at(
        &self,
        path: &Path,
        spec: &DirectorySpec,
        watched: Watched<'_>,
    ) -> Result<(), ProviderError> {
        let new = self
            .root
            .make_unfinished()
            .map_err(|error| failed(&error))?;
        let filled = self.fill(&new, self.root.home(path), spec, watched).await;
        let made =
            filled.and_then(|()| std::fs::rename(&new, path).map_err(|error| failed(&error)));
        match &made {
            Ok(()) => tracing::info!(path = %path.display(), "a workspace was made"),
            Err(_) => self.root.remove_later(new),
        }
        made
    }

    async fn fill(
        &self,
        path: &Path,
        home: PathBuf,
        spec: &DirectorySpec,
        watched: Watched<'_>,
    ) -> Result<(), ProviderError> {
        if let Some(quota) = spec.quota {
            let (quotas, to) = (Arc::clone(&self.quotas), path.to_path_buf());
            blocking(move || quotas.assign(&to, &home, &quota)).await?;
        }
        if let Some(name) = &spec.template {
            let from = self.template(name)?.clone();
            let to = path.to_path_buf();
            let closed = self.beside.closed().clone();
            blocking(move || copy::copy(&from, &to, &closed)).await?;
        }
        if let Some(git) = &spec.git {
            clone::clone(&self.beside, path, git, watched).await?;
        }
        Ok(())
    }

    fn template(&self, name: &str) -> Result<&PathBuf, ProviderError> {
        self.templates.get(name).ok_or_else(|| {
            let known: Vec<_> = self.templates.keys().map(String::as_str).collect();
            let known = match known.is_empty() {
                true => "the operator names templates in [workspaces.templates]".to_owned(),
                false => format!("the templates are {}", known.join(", ")),
            };
            ProviderError::Invalid(format!("there is no template {name:?}; {known}"))
        })
    }
}

/// Returns the specification of a directory.
fn directory(spec: &Spec) -> Result<&DirectorySpec, ProviderError> {
    match spec {
        Spec::Directory(spec) => Ok(spec),
        Spec::Agent(_) | Spec::Template(_) => Err(ProviderError::Invalid(
            "this workspace is none of a directory".into(),
        )),
    }
}

impl Provider for Directories {
    fn check(&self, _: &WorkspaceName, spec: &Spec) -> Result<(), ProviderError> {
        let spec = directory(spec)?;
        if spec.template.is_some() && spec.git.is_some() {
            let text = "a workspace begins with a template or with a repository: leave one out";
            return Err(ProviderError::Invalid(text.into()));
        }
        if let Some(name) = &spec.template {
            self.template(name)?;
        }
        if let Some(git) = &spec.git {
            clone::check(git)?;
        }
        if spec.idle_seconds == Some(0) {
            let text = "idle_seconds is at least 1; leave it out to keep the workspace";
            return Err(ProviderError::Invalid(text.into()));
        }
        match &spec.quota {
            Some(quota) => self.quotas.check(quota),
            None => Ok(()),
        }
    }

    fn open<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<Opened, ProviderError>> {
        Box::pin(async move {
            let spec = directory(spec)?;
            let path = self.directory(name);
            match is_directory(&path)? {
                true => {}
                false if spec.has_files() => return Err(ProviderError::NotMade),
                false => self.make_at(&path, spec, &|workspace| workspace).await?,
            }
            let (beside, quotas) = (Arc::clone(&self.beside), Arc::clone(&self.quotas));
            let quota = spec.quota;
            let open = move || {
                let gap = quota.map(|quota| quotas.enforce(&path, &quota));
                let gap = gap.transpose()?.flatten();
                Ok((beside.beside(&path).map_err(io::Error::other)?, gap))
            };
            let (opened, gap) = blocking(open).await?;
            Ok(Opened {
                workspace: Arc::new(opened),
                gaps: gap.into_iter().collect(),
                // Its processes end with the host.
                remembers_starts: false,
            })
        })
    }

    fn make<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
        watched: Watched<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let path = self.directory(name);
            self.make_at(&path, directory(spec)?, watched).await
        })
    }

    fn remove<'a>(
        &'a self,
        name: &'a WorkspaceName,
        _spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let path = self.directory(name);
            // The home first: another workspace of this name must not get it.
            for directory in [self.root.home(&path), path] {
                let gone = self.root.take_away(&directory);
                if let Some(gone) = gone.map_err(|error| failed(&error))?
                    && let Err(error) = blocking(move || root::discard(&gone)).await
                {
                    tracing::warn!(workspace = %name, %error, "some files of a removed workspace are left until the next start");
                }
            }
            Ok(())
        })
    }
}

/// Returns whether there is a directory. A link or a file in its place is an error: no command can have made it.
fn is_directory(path: &Path) -> Result<bool, ProviderError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => {
            let path = path.display();
            let text = format!("{path} is no directory: remove it, or remove the workspace");
            Err(ProviderError::Failed(text))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &io::Error) -> ProviderError {
    ProviderError::Failed(format!("the directory of the workspace: {error}"))
}

/// Runs work that waits for the disk, and that quotas bind.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ProviderError> {
    let work = || {
        crate::exemption::give_up();
        work()
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(|error| failed(&error))
}
