//! Links to the console of a server.

use anyhow::{Context as _, bail};
use reqwest::{Method, StatusCode};
use serde::Deserialize;

use super::{Refusal, Server};

/// A link that a server made.
#[derive(Debug, Deserialize)]
struct Made {
    path: String,
    #[serde(default)]
    url: Option<String>,
    token: String,
    expires_at_unix_ms: u64,
}

/// A link that logs in to the console.
#[derive(Debug)]
pub(in crate::cli) struct Link {
    pub(in crate::cli) url: String,
    /// The name of the token whose rights the login has.
    pub(in crate::cli) token: String,
    pub(in crate::cli) expires_at_unix_ms: u64,
}

impl Server {
    /// Has the server make a link that logs in to its console. A server that was named by its address gets a link to that address.
    pub(in crate::cli) async fn console_link(&self) -> anyhow::Result<Link> {
        let url = self.place.url(&["console", "links"]);
        let answer = self.send(Method::POST, url, None).await;
        let answer = answer.map_err(|error| match Refusal::within(&error) {
            Some(refusal) if refusal.status == StatusCode::NOT_FOUND => {
                error.context("the server has no console: it was started with --no-console")
            }
            _ => error,
        })?;
        let made: Made = answer.json().context("the server's answer is no link")?;
        let url = match self.place.socket {
            None => {
                let mut url = self.place.url(&["console", "login"]);
                url.set_query(made.path.split_once('?').map(|(_, code)| code));
                url.to_string()
            }
            Some(_) => match made.url {
                Some(url) => url,
                None => bail!(
                    "the server listens at no address that a browser can open, only at {}: start it with --listen ADDRESS",
                    self.url
                ),
            },
        };
        Ok(Link {
            url,
            token: made.token,
            expires_at_unix_ms: made.expires_at_unix_ms,
        })
    }
}
