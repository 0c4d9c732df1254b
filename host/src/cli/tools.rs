//! `toolhost tools`.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use super::{Common, plugins, print, remote};
use crate::cli::host;
use toolhost_call::call::Actor;
use toolhost_call::tool::Format;
use toolhost_core::Builder;
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost tools
  toolhost tools --format openai
  toolhost tools --tool-mode search
  toolhost tools --server http://127.0.0.1:7411 --token-file token";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The dialect of the definitions: json, openai, openai-responses, anthropic, gemini, bedrock or mcp
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = str::parse::<Format>)]
    format: Format,
    /// Describe arguments for the strict mode of OpenAI's formats: all are required, and optional ones may be null
    #[arg(long)]
    strict: bool,
    /// The chat of a server whose tools are listed, with those that were found in it [default: a new chat]
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    plugins: plugins::Options,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    if options.strict && !options.format.has_strict_mode() {
        bail!(
            "the format {} has no strict mode; use --strict with --format openai or openai-responses",
            options.format
        );
    }
    let tools = match options.remote.server(common)? {
        Some(server) => {
            server
                .tools(options.format, options.strict, options.chat.as_ref())
                .await?
        }
        None if options.chat.is_some() => {
            bail!("--chat names a chat of a running server: name the server with --server")
        }
        None => {
            let config = options.plugins.configuration(common)?;
            let offer = options.plugins.offer();
            let offered = |builder: Builder| Ok(builder.offer(offer.clone()));
            let host = host::start(common, config.plugins()?, offered).await?;
            options.plugins.require(&host)?;
            let tools = host.offered(&Actor::new("cli"), options.format);
            match options.strict {
                true => options.format.render_strict(&tools),
                false => options.format.render(&tools),
            }
        }
    };
    print(&serde_json::to_string_pretty(&tools)?)?;
    Ok(ExitCode::SUCCESS)
}
