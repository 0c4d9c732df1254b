//! `toolhost token`.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;

use super::literal::{list, quoted};
use super::{Common, print};
use crate::config::{InvalidTokenName, check_token_name};
use toolhost_http::access::{Scope, Token};
use toolhost_service::stderr;
use toolhost_service::token::{generate, hexadecimal};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspacePattern;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost token support > support.token
  toolhost token monitor --scope read
  toolhost token deploy --json
  toolhost token boss --scope call --scope admin
  toolhost token support --chats support- --tool execute --tool process_output";

/// A token for the configuration.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The name of the token: letters, digits, `-` and `_`
    #[arg(value_parser = name)]
    name: String,
    /// A scope of the token; can be repeated: call (tools, and all that read has), read (lists, states and output), agent (the agent API),
    /// connect (an agent that connects), admin (plugins, audit trail and the console, without call and read)
    #[arg(long, value_name = "SCOPE", default_value = "call", value_parser = str::parse::<Scope>)]
    scope: Vec<Scope>,
    /// The prefix of the ids of its chats [default: all chats]
    #[arg(long, value_name = "PREFIX", value_parser = str::parse::<ChatId>)]
    chats: Option<ChatId>,
    /// A tool that it may see and call; can be repeated [default: all tools]
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,
    /// A workspace that it reaches, or the beginning of names and `*`; can be repeated [default: with --chats those of its chats, else
    /// all]
    #[arg(long, value_name = "PATTERN", value_parser = str::parse::<WorkspacePattern>)]
    workspaces: Vec<WorkspacePattern>,
}

/// Makes a token with the scope `call` for these tools, or all if there are none. Returns it with its section of the configuration.
pub(super) fn made(name: &str, tool: Vec<String>) -> anyhow::Result<(String, String)> {
    let options = Options {
        name: name.to_owned(),
        scope: vec![Scope::Call],
        chats: None,
        tool,
        workspaces: Vec::new(),
    };
    let text = generate()?;
    let token = Token::new(&text).context("the new token cannot be used")?;
    let section = section(&options, &token);
    Ok((text, section))
}

fn name(text: &str) -> Result<String, InvalidTokenName> {
    check_token_name(text)?;
    Ok(text.to_owned())
}

/// Prints a new token to standard output, and the section of the configuration that makes it valid to standard error; or both as an
/// object.
pub(super) fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let unbounded = [Scope::Agent, Scope::Admin].into_iter();
    let mut unbounded = unbounded.filter(|scope| options.scope.contains(scope));
    if let Some(scope) = unbounded.next()
        && (options.chats.is_some() || !options.tool.is_empty() || !options.workspaces.is_empty())
    {
        bail!(
            "with the scope {}, all chats and all tools can be reached: leave out --chats, --tool and --workspaces",
            scope.name()
        );
    }
    let text = generate()?;
    let token = Token::new(&text).context("the new token cannot be used")?;
    let section = section(options, &token);
    if common.json {
        let sha256 = hexadecimal(token.sha256());
        let object = json!({ "name": options.name, "token": text, "sha256": sha256, "configuration": section });
        print(&object.to_string())?;
    } else {
        print(&text)?;
        stderr::line(format_args!(
            "# Add this to toolhost.toml; the token itself is on standard output and nowhere else.\n{section}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the section of the configuration that makes a token valid.
fn section(options: &Options, token: &Token) -> String {
    let scopes = list(options.scope.iter().map(|scope| scope.name()));
    let mut section = format!(
        "[tokens.{}]\nsha256 = \"{}\"\nscopes = {scopes}",
        options.name,
        hexadecimal(token.sha256()),
    );
    if let Some(chats) = &options.chats {
        section.push_str(&format!("\nchats = {}", quoted(chats.as_str())));
    }
    if !options.tool.is_empty() {
        let tools = list(options.tool.iter().map(String::as_str));
        section.push_str(&format!("\ntools = {tools}"));
    }
    if !options.workspaces.is_empty() {
        let patterns = list(options.workspaces.iter().map(WorkspacePattern::as_str));
        section.push_str(&format!("\nworkspaces = {patterns}"));
    }
    section
}
