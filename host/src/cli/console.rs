//! `toolhost console`.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Common, remote};
use toolhost_plugin::shown;
use toolhost_service::stderr;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost console
  toolhost console --server http://127.0.0.1:7411 --token-file token";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = options.remote.required(common)?;
    let link = server.console_link().await?;
    let (url, ends) = (&link.url, link.expires_at_unix_ms);
    let object = json!({ "url": url, "token": link.token, "expires_at_unix_ms": ends });
    common.report(&shown(url), &object)?;
    if !common.json && std::io::stderr().is_terminal() {
        stderr::line(format_args!(
            "toolhost: the link logs in one browser, once, within ten minutes, with the rights of the token {}",
            shown(&link.token)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
