//! `toolhost tools`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{Common, print, remote};
use crate::tool::Format;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The dialect of the definitions: json, openai, openai-responses, anthropic or mcp
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = str::parse::<Format>)]
    format: Format,
    /// Ask a running server, such as http://127.0.0.1:7411
    #[arg(long, value_name = "URL", env = "TOOLHOST_SERVER")]
    server: Option<String>,
    /// A file with the token of the server [default: the variable TOOLHOST_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let tools = match &options.server {
        Some(url) => {
            remote::Server::new(url, options.token_file.as_deref())?
                .tools(options.format)
                .await?
        }
        None => options.format.render(common.start().await?.tools()),
    };
    print(&serde_json::to_string_pretty(&tools)?)?;
    Ok(ExitCode::SUCCESS)
}
