//! `toolhost plugin dev`.

mod calls;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Command, FromArgMatches};
use tokio::sync::mpsc;

use super::folder::Folder;
use super::{Common, cases, cause, engine, workspace};
use crate::cli::serve::Tools;
use crate::cli::{host, remote};
use calls::Calls;
use toolhost_core::PluginSet;
use toolhost_http::Listen;
use toolhost_server::ServerParts;
use toolhost_service::listening::{self, Doors, NoTokens};
use toolhost_service::logging;
use toolhost_service::processes::Prepared;
use toolhost_service::signals::{self, Hangup};
use toolhost_workspace::files::FilesGrant;
use work::{Target, Work};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost plugin dev
  toolhost plugin dev word_count --listen 127.0.0.1:7411 --workspace ~/project";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The folder of the plugin
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Where the server listens: an address, of which port 0 is any free one, or unix:/PATH
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: Listen,
    /// Install what is missing: into the folder of the plugin, or with rustup
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    remote: remote::Remote,
    #[command(flatten)]
    host: host::Options,
}

impl Options {
    /// Does the work that must come before any thread is started.
    pub(super) fn prepare(&self) -> Prepared {
        self.host.prepare()
    }
}

pub(super) async fn run(
    common: &Common,
    mut options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(&options.folder)?;
    let grants = folder.grants()?;
    // The temporary directory lives as long as the server.
    let (common, of_server, _temporary) =
        workspace::or_temporary(common, "toolhost-dev-", grants.clone())?;
    let name = folder.manifest.name.clone();
    let component = folder.debug_component();
    let plugins = &mut options.host.plugins;
    plugins.load_alone(name.clone(), component.clone(), of_server);
    let runner = cases::Runner::new(
        engine(&common)?,
        &folder,
        plugins.given.grants(grants),
        plugins.given.values()?,
    );
    let apart = !options.remote.is_named();
    let work = Work::new(folder, options.install, apart, runner, prepared.clone());
    if let Some(server) = options.remote.server(&common)? {
        tokio::select! {
            ended = work.run(Target::Server(server)) => ended?,
            () = signals::ended(Hangup::Ends) => {}
        }
        return Ok(ExitCode::SUCCESS);
    }
    let plan = options.host.plan(&common)?;
    let chosen = plan.config.plugins()?;
    let chosen = options.host.plugins.chosen(chosen);
    let calls = Calls::follow(&plan.oversight.audit, name);
    let (failures, mut failed) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(failure) = failed.recv().await {
            if let Err(error) = cause::print_places(failure, &component, None).await {
                logging::failure(format_args!("{error:#}"));
            }
        }
    });
    let start = async || {
        let host = plan.start(PluginSet::default(), &prepared, None, |builder| {
            let builder = builder.failures(failures.clone());
            builder.without_shell().files(FilesGrant::None)
        });
        let host = host.await?;
        let target = Target::Host(host.clone(), chosen);
        tokio::spawn(async move {
            if let Err(error) = work.run(target).await {
                tracing::error!("changes are not seen: {error:#}");
            }
        });
        Ok(Tools {
            parts: ServerParts::from(host),
            drain: Duration::ZERO,
            people: Default::default(),
        })
    };
    let listen = std::slice::from_ref(&options.listen);
    let clients = defaults()?;
    let doors = Doors {
        console: Some(defaults()?),
        ..Doors::default()
    };
    let served = listening::run(
        &common,
        Box::new(NoTokens),
        listen,
        &clients,
        &plan.oversight,
        doors,
        start,
    );
    let served = served.await;
    drop(calls);
    served
}

/// Returns options as they are where the command line says nothing.
fn defaults<T: Args + FromArgMatches>() -> anyhow::Result<T> {
    let command = T::augment_args(Command::default()).no_binary_name(true);
    let matches = command.try_get_matches_from(Vec::<String>::new())?;
    Ok(T::from_arg_matches(&matches)?)
}
