//! `toolhost agent`: the processes and files of a workspace over HTTP, without any tool.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::listening::{self, Clients};
use super::processes::{self, Prepared};
use super::{Common, files as options_of_files, oversight};
use toolhost_agent::Offer;
use toolhost_http::Listen;
use toolhost_local::Local;
use toolhost_local::files;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost agent --workspace ~/project
  toolhost agent --listen 127.0.0.1:0 --files read";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
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
    clients: Clients,
    #[command(flatten)]
    files: options_of_files::Options,
    #[command(flatten)]
    oversight: oversight::Options,
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let oversight = options.oversight.open(common)?;
    let start = async || {
        let processes = options.processes.kept(common, prepared)?;
        let files = files::Config {
            roots: options.files.roots(),
            hidden: common.state_dir().into_iter().collect(),
            temporaries: common.temporaries()?,
            ..files::Config::new(&processes.workspace)
        };
        let workspace = Arc::new(Local::open(processes, files)?);
        Ok(Offer {
            workspace,
            files: options.files.grant(),
            oversight: oversight.of_agent(),
        })
    };
    listening::run(common, &options.listen, &options.clients, &oversight, start).await
}
