//! The console of a server: its options, its key, and the link that the operator reads.

use std::path::Path;

use clap::Args;
use clap::builder::FalseyValueParser;
use toolhost_call::audit::Audit;
use toolhost_http::Listener;
use toolhost_http::access::Tokens;
use toolhost_http::console::{Console, KEY_BYTES};
use toolhost_state::state_dir::StateDir;

use crate::logging;

/// The file of the key in the state directory.
const KEY: &str = "console.key";

/// The options of the console.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Who may use the server")]
pub struct ConsoleOptions {
    /// Leave out the console, the page at /console/ on which people see and end what runs
    #[arg(long, env = "TOOLHOST_NO_CONSOLE", value_parser = FalseyValueParser::new())]
    no_console: bool,
    /// Print no link that logs in to the console. The link is valid once, for ten minutes, with the rights of a token for everything
    #[arg(long, env = "TOOLHOST_NO_CONSOLE_LINK", value_parser = FalseyValueParser::new())]
    no_console_link: bool,
}

impl ConsoleOptions {
    /// Returns the console; `None` if the operator wants none. With the same state directory, the logins at an earlier server remain
    /// valid.
    pub(super) fn open(
        self,
        state_dir: Option<&Path>,
        audit: Audit,
    ) -> anyhow::Result<Option<Console>> {
        if self.no_console {
            return Ok(None);
        }
        let mut new = [0; KEY_BYTES];
        getrandom::fill(&mut new)
            .map_err(|error| anyhow::anyhow!("the system gives no random bytes: {error}"))?;
        let key = state_dir.and_then(|path| {
            let kept = StateDir::open(path).map_err(std::io::Error::other);
            let kept = kept.and_then(|state| state.key(KEY, new));
            kept.inspect_err(|error| {
                tracing::warn!(%error, "the key of the console cannot be kept: its logins end with this server");
            })
            .ok()
        });
        Ok(Some(Console::new(key.unwrap_or(new), audit)))
    }

    /// Tells the operator where the console is, with a link that logs in if there is a token that may do everything.
    pub(super) fn announce(self, console: &Console, tokens: &Tokens, listeners: &[Listener]) {
        let mut listeners = listeners.iter();
        let Some(listener) = listeners.find(|listener| listener.address().is_some()) else {
            // Browsers open no Unix socket.
            return;
        };
        let Ok(url) = listener.local_url() else {
            return;
        };
        console.listens_at(&url);
        let principal = tokens.of_an_operator().filter(|_| !self.no_console_link);
        let url = match principal {
            Some(principal) => format!("{url}{}", console.link(&principal)),
            None => format!("{url}/console/"),
        };
        logging::notice(format_args!("console: {url}"), &[("url", &url)]);
    }
}
