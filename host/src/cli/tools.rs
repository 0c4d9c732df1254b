//! `toolhost tools`.

use std::process::ExitCode;

use clap::Args;

use super::{Common, plugins, print, remote};
use crate::tool::Format;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The dialect of the definitions: json, openai, openai-responses, anthropic or mcp
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = str::parse::<Format>)]
    format: Format,
    #[command(flatten)]
    plugins: plugins::Options,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let tools = match options.remote.server()? {
        Some(server) => server.tools(options.format).await?,
        None => {
            let config = options.plugins.configuration(common)?;
            let host = common.start(config.plugins()?, Ok).await?;
            options.format.render(&host.tools())
        }
    };
    print(&serde_json::to_string_pretty(&tools)?)?;
    Ok(ExitCode::SUCCESS)
}
