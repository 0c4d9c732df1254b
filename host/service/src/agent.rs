//! A program that serves the processes and files of a workspace over HTTP, without any tool.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::connect::{self, Connecting};
use super::listening::{self, Clients, Doors, NamedTokens};
use super::logging::log_file;
use super::processes::{self, Prepared};
use super::{Common, audit_options, files as options_of_files, keep};
use toolhost_agent::Offer;
use toolhost_call::call::{Ledger, Limits};
use toolhost_http::Listen;
use toolhost_local::Local;
use toolhost_local::files;
use toolhost_local::process::Config;
use toolhost_store::Durability;
use toolhost_workspace::Workspace as _;
use toolhost_workspace::process::Subscriber;

/// The options of a program that serves a workspace.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Options {
    /// Where to listen: an address, of which port 0 is any free one, or unix:/PATH; can be repeated
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7412",
        env = "TOOLHOST_LISTEN",
        value_delimiter = ','
    )]
    listen: Vec<Listen>,
    #[command(flatten)]
    connect: connect::Options,
    #[command(flatten)]
    clients: Clients,
    #[command(flatten)]
    files: options_of_files::Options,
    #[command(flatten)]
    oversight: audit_options::Options,
    #[command(flatten)]
    pub(crate) processes: processes::Options,
    #[command(flatten)]
    keep: keep::Options,
}

impl Options {
    /// Does the work that must come before any thread is started, such as starting the spawner.
    pub fn prepare(&self) -> Prepared {
        self.processes.prepare()
    }
}

/// Serves a workspace until a signal ends the program, to clients with one of these tokens besides those of the options. Neither commands
/// nor clients reach the paths `private`, nor the state directory.
///
/// # Errors
///
/// If the options cannot be used, or an address cannot be listened on.
pub async fn run(
    common: &Common,
    private: Vec<PathBuf>,
    tokens: Box<dyn NamedTokens>,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    common.check_files(options.clients.private_files())?;
    common.check_files(options.oversight.private_paths())?;
    let oversight = options.oversight.open(common)?;
    // The workspace forgets a subscriber that was dropped.
    let trail: Arc<dyn Subscriber> = Arc::new(oversight.audit.clone());
    let start = async || {
        let private = private.into_iter().chain(options.clients.private_files());
        let private = private.chain(options.oversight.private_paths());
        let private = private.chain(log_file());
        let processes =
            options
                .processes
                .config(&common.workspace()?, prepared, private.collect())?;
        let processes = Config {
            closed: processes.closed.with_own(common.private_directories()),
            keep: options.keep.time(),
            ..processes
        };
        let files = files::Config {
            roots: options.files.roots(),
            ..files::Config::new(&processes.workspace)
        };
        let state = common.open_state(Durability::Host)?;
        let workspace = Arc::new(Local::open(processes, files, &state).await?);
        workspace.subscribe(Arc::downgrade(&trail));
        Ok(Offer {
            workspace,
            files: options.files.grant(),
            remembers_starts: state.directory().is_some(),
            ledger: Ledger::open_alone(Limits::default(), &state).await?,
            oversight: oversight.clone(),
        })
    };
    let (clients, listen) = (&options.clients, &options.listen);
    let doors = Doors::default();
    match options.connect.host(clients.token_file())? {
        None => listening::run(common, tokens, listen, clients, &oversight, doors, start).await,
        Some(host) => {
            // An agent that connects has no port of its own.
            let start = async || Ok(Connecting::new(start().await?, host)?);
            listening::run(common, tokens, &[], clients, &oversight, doors, start).await
        }
    }
}
