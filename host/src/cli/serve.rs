//! `toolhost serve`.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::listening::{self, Clients};
use super::processes::{self, Prepared};
use super::{Common, files};
use crate::server::Surfaces;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The address to listen on; port 0 takes any free one
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7411",
        env = "TOOLHOST_LISTEN"
    )]
    listen: SocketAddr,
    #[command(flatten)]
    clients: Clients,
    /// Offer the agent API as well, with which the token reaches the processes of all chats, and
    /// the files of the workspace
    #[arg(long, env = "TOOLHOST_AGENT_API", value_parser = FalseyValueParser::new())]
    agent_api: bool,
    #[command(flatten)]
    files: files::Options,
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let start = async || {
        let host = common.start(|builder| {
            let config = options.processes.kept(common, prepared.clone())?;
            Ok(options.files.configure(builder.processes(config)))
        });
        let surfaces = Surfaces::from(host.await?);
        Ok(if options.agent_api {
            surfaces.with_agent()
        } else {
            surfaces
        })
    };
    listening::run(common, options.listen, &options.clients, start).await
}
