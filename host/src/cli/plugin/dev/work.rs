//! The work after each change of a plugin: it is built, loaded, and its cases are run.

use std::time::Instant;

use tokio::sync::watch;

use super::super::build::How;
use super::super::cases::Runner;
use super::super::component;
use super::super::folder::Folder;
use super::super::sources::Sources;
use crate::cli::{print, remote};
use toolhost_author::{BuildError, Cases, ProgramError};
use toolhost_core::{Host, PluginSet};
use toolhost_service::follow::Follower;
use toolhost_service::logging;
use toolhost_service::processes::Prepared;

/// The work on one plugin.
#[derive(Debug)]
pub(super) struct Work {
    folder: Folder,
    install: bool,
    /// Whether the component goes into `build/debug`: another server has that of `plugin build`.
    apart: bool,
    runner: Runner,
    prepared: Prepared,
}

/// Where the plugin is loaded.
pub(super) enum Target {
    /// The server of this program.
    Host(Host, PluginSet),
    /// A server that has the component in its configuration.
    Server(remote::Server),
}

impl Work {
    pub(super) fn new(
        folder: Folder,
        install: bool,
        apart: bool,
        runner: Runner,
        prepared: Prepared,
    ) -> Self {
        Self {
            folder,
            install,
            apart,
            runner,
            prepared,
        }
    }

    /// Does the work now, and again after each change. Ends only if changes cannot be seen.
    pub(super) async fn run(mut self, target: Target) -> anyhow::Result<()> {
        let (changes, mut changed) = watch::channel(0);
        let folder = std::path::absolute(&self.folder.path)?;
        let language = self.folder.manifest.language;
        let _follower = Follower::start(Sources {
            folder,
            language,
            changes,
        })?;
        // The first reading of the sources counts as a change.
        changed.changed().await?;
        loop {
            changed.mark_unchanged();
            let built = tokio::select! {
                biased;
                another = changed.changed() => {
                    another?;
                    changed.mark_changed();
                    None
                }
                built = self.build() => built,
            };
            if built.is_some()
                && let Err(error) = self.use_it(&target).await
            {
                logging::failure(format_args!("{error:#}"));
            }
            if !changed.has_changed()? {
                print(match built {
                    Some(()) => "waiting for changes; end with Ctrl-C",
                    None => "no new component; waiting for changes, end with Ctrl-C",
                })?;
                changed.changed().await?;
            }
        }
    }

    /// Builds the component for debugging. Prints why, if that fails.
    async fn build(&mut self) -> Option<()> {
        let started = Instant::now();
        match Folder::open(&self.folder.path) {
            Ok(folder) if folder.manifest.name == self.folder.manifest.name => self.folder = folder,
            Ok(folder) => logging::failure(format_args!(
                "the plugin is now named {}: start `toolhost plugin dev` again",
                folder.manifest.name
            )),
            Err(error) => {
                logging::failure(format_args!("{error:#}"));
                return None;
            }
        }
        let built = How::for_debugging(self.install, self.apart);
        let built = built.of(&self.folder).run().await;
        match built {
            Ok(component) => {
                let seconds = started.elapsed().as_secs_f32();
                _ = print(&format!(
                    "built   {} in {seconds:.1} s",
                    component.display()
                ));
                Some(())
            }
            // The program has said why.
            Err(BuildError::Program(ProgramError::Failed { .. })) => None,
            Err(error) => {
                logging::failure(format_args!("{error:#}"));
                None
            }
        }
    }

    /// Loads the component and runs the cases.
    async fn use_it(&self, target: &Target) -> anyhow::Result<()> {
        let name = &self.folder.manifest.name;
        match target {
            Target::Server(server) => server.reload(name).await?,
            Target::Host(host, plugins) => {
                host.apply(plugins.clone()).await;
                let plugins = host.plugins();
                let mut plugins = plugins.iter().filter(|plugin| plugin.name == *name);
                // The host has logged why a plugin does not load.
                if let Some(plugin) = plugins.find(|plugin| plugin.error.is_none()) {
                    print(&format!("serves  {}", plugin.tools.join(", ")))?;
                }
            }
        }
        let path = match self.apart {
            true => self.folder.debug_component(),
            false => self.folder.component(),
        };
        let bytes = component(&path)?;
        let cases = Cases::read(&self.folder.path)?;
        let summary = self.runner.run(&bytes, &cases, &self.prepared).await?;
        print(&summary.brief())
    }
}
