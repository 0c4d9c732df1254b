//! The options of all commands that run a host, and the one way in which they build and start it.

use std::path::PathBuf;

use clap::Args;
use toolhost_call::call::Durability;
use toolhost_core::{Builder, Host, PluginSet, StartError};
use toolhost_local::OpenError;
use toolhost_plugin::Compiler;
use toolhost_service::audit_options::{self, Oversight};
use toolhost_service::processes::{self, Prepared};
use toolhost_service::{THIS_PROGRAM, errors, files};
use toolhost_store::HostState;

use super::{Common, cluster, plugins};
use crate::config::Config;

/// The options of every host.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) plugins: plugins::Options,
    #[command(flatten)]
    files: files::Options,
    #[command(flatten)]
    oversight: audit_options::Options,
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

/// A host that is about to start.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    common: &'a Common,
    options: &'a Options,
    pub(super) config: Config,
    pub(super) oversight: Oversight,
    /// The plugins of the configuration.
    pub(super) plugins: PluginSet,
    /// The files of the host, which neither commands nor tools may reach.
    pub(super) private: Vec<PathBuf>,
}

impl Options {
    /// Does the work that must come before any thread is started.
    pub(super) fn prepare(&self) -> Prepared {
        self.processes.prepare()
    }

    /// Checks the workspace, reads the configuration and opens the audit trail.
    pub(super) fn plan<'a>(&'a self, common: &'a Common) -> anyhow::Result<Plan<'a>> {
        common.check_workspace()?;
        common.check_files(self.oversight.private_paths())?;
        let config = self.plugins.configuration(common)?;
        let oversight = self.oversight.open(common)?;
        let mut private = common.private_paths();
        private.extend(self.oversight.private_paths());
        Ok(Plan {
            private,
            common,
            options: self,
            plugins: config.plugins()?,
            config,
            oversight,
        })
    }
}

/// Starts a host in the workspace, with these plugins and the code cache of the state directory.
///
/// A state directory that the operator named must work. If the default one cannot be used, as in a read-only home, the host is
/// built again without it. So `configure` can be called twice.
pub(super) async fn start(
    common: &Common,
    plugins: PluginSet,
    configure: impl Fn(Builder) -> anyhow::Result<Builder>,
) -> anyhow::Result<Host> {
    let workspace = common.workspace()?;
    let builder = || {
        let builder = Host::builder(&workspace).compiler(Compiler::new(THIS_PROGRAM));
        configure(builder.configured(plugins.clone()))
    };
    let Some(path) = common.state_dir() else {
        tracing::warn!(
            "no state directory, as neither XDG_STATE_HOME nor HOME is set: code is compiled each time"
        );
        return Ok(builder()?.start().await?);
    };
    let kept = |builder: Builder| match common.shared_code() {
        Some(shared) => builder.state_dir(&path).shared_code(shared),
        None => builder.state_dir(&path),
    };
    match kept(builder()?).start().await {
        Err(error) if common.state_dir.is_none() && is_about_state(&error) => {
            let error = errors::full_text(&error.into());
            tracing::warn!(error, "no code cache: code is compiled each time");
            Ok(builder()?.start().await?)
        }
        Err(StartError::Workspace(
            error @ (OpenError::Unusable { .. } | OpenError::NotADirectory(_)),
        )) => {
            let error = errors::full_text(&error.into());
            anyhow::bail!("{error}; name a directory with --workspace")
        }
        started => Ok(started?),
    }
}

impl Plan<'_> {
    /// Starts the host with these plugins. With a durability, its calls and processes outlive the program, if there is a place for
    /// them.
    pub(super) async fn start(
        &self,
        plugins: PluginSet,
        prepared: &Prepared,
        kept: Option<Durability>,
        configure: impl Fn(Builder) -> Builder,
    ) -> anyhow::Result<Host> {
        let Self {
            common, options, ..
        } = self;
        let workspace = common.workspace()?;
        let state = match kept {
            Some(durability) => {
                let state = common.open_state(durability)?;
                match self.config.store() {
                    Some(store) => {
                        let shared = cluster::open(store, state.directory()).await?;
                        state.sharing(shared)
                    }
                    None => state,
                }
            }
            None => HostState::temporary(std::env::temp_dir())?,
        };
        let start = start(common, plugins, |builder| {
            let processes =
                options
                    .processes
                    .config(&workspace, prepared.clone(), self.private.clone())?;
            let builder = builder
                .processes(processes)
                .state(state.clone())
                .durability(kept.unwrap_or_default())
                .files(options.files.grant())
                .file_roots(options.files.roots())
                .audit(self.oversight.audit.clone())
                .metrics(self.oversight.metrics.clone())
                .approval(self.oversight.approval.clone())
                .offer(options.plugins.offer());
            let builder = match options.plugins.guest_memory() {
                Some(bytes) => builder.guest_memory(bytes),
                None => builder,
            };
            Ok(configure(builder))
        });
        start.await
    }

    /// Returns the embedded plugins, as the configuration has them. Plugins from files are left out: they may have to be
    /// compiled, and clients should not wait for that.
    pub(super) fn embedded(&self) -> PluginSet {
        PluginSet {
            embedded: self.plugins.embedded.clone(),
            ..PluginSet::default()
        }
    }
}

/// Returns whether a host can be started without its state directory.
fn is_about_state(error: &StartError) -> bool {
    matches!(error, StartError::StateDir(_) | StartError::Cache(_))
}
