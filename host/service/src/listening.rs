//! The common part of `serve` and `agent`: listeners, access, and an orderly shutdown.

mod console;
mod credentials;
mod served;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use axum::http::Uri;
use clap::Args;

use super::processes::elements;
use super::signals::{self, Hangup};
use super::{Common, errors, logging, notify, token};
pub use console::ConsoleOptions;
use credentials::Credentials;
pub use credentials::{Known, NamedTokens, NoTokens};
pub use served::Served;
use toolhost_agent::Oversight;
use toolhost_call::approval::Approval;
use toolhost_http::access::{Access, Tokens};
use toolhost_http::{Listen, Listener, SocketError, Tls};

/// The access to a server: tokens, accepted names and origins, and TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "Who may use the server")]
pub struct Clients {
    /// A file with a bearer token for everything, which others must not be able to read [default: the variable
    /// TOOLHOST_TOKEN, or else the tokens of the configuration, or else a new token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A name besides localhost and the address itself by which clients may reach the server; can be repeated
    #[arg(
        long,
        value_name = "NAME",
        env = "TOOLHOST_ALLOW_HOST",
        value_delimiter = ','
    )]
    allow_host: Vec<String>,
    /// An origin, such as https://chat.example.com, whose web pages may use the server; can be repeated
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "TOOLHOST_ALLOW_ORIGIN",
        value_delimiter = ',',
        value_parser = origin
    )]
    allow_origin: Vec<String>,
    /// A PEM file with the certificate of the server, and those between it and an authority: addresses then speak TLS
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// The PEM file with its private key, which others must not be able to read
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// The mode of Unix sockets. With 600 the user that runs the server needs no token there, unless calls are approved;
    /// with any that lets others connect, all need one
    #[arg(
        long,
        value_name = "MODE",
        env = "TOOLHOST_SOCKET_MODE",
        default_value = "600",
        value_parser = mode
    )]
    socket_mode: Mode,
}

/// The mode of a file, as `chmod` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode(u32);

/// The mode of a socket for one user.
const PRIVATE: Mode = Mode(0o600);

/// Reads a mode.
fn mode(text: &str) -> Result<Mode, &'static str> {
    let mode = u32::from_str_radix(text, 8).ok();
    let mode = mode.filter(|mode| *mode <= 0o777 && mode & 0o600 == 0o600);
    mode.map(Mode).ok_or(
        "write it as chmod takes it, such as 600 or 660; the owner must be able to read and write",
    )
}

/// Reads an origin. An empty origin comes from a variable that is set to an empty text.
///
/// # Errors
///
/// If the text is neither.
pub fn origin(text: &str) -> Result<String, String> {
    if text.is_empty() || is_origin(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text:?} is no origin: write it as https://NAME or http://NAME:PORT, without anything behind it"
    ))
}

/// Returns whether this is an origin as browsers send it: a scheme, a host, perhaps a port, and nothing else.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else {
        return false;
    };
    let Some(authority) = uri.authority() else {
        return false;
    };
    let scheme = uri.scheme_str().unwrap_or_default();
    !authority.as_str().contains('@') && text == format!("{scheme}://{authority}")
}

impl Clients {
    /// Returns the file of the token, if there is one.
    pub fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// Returns the files that commands must not reach.
    pub fn private_files(&self) -> Vec<PathBuf> {
        self.token_file
            .iter()
            .chain(&self.tls_key)
            .cloned()
            .collect()
    }

    fn tls(&self) -> anyhow::Result<Option<Tls>> {
        // clap ensures that both files are given, or none.
        let files = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let tls = files.map(|(certificate, key)| Tls::open(certificate, key));
        Ok(tls.transpose()?)
    }

    async fn listen(
        &self,
        listen: &Listen,
        tls: Option<&Tls>,
        approval: &Approval,
    ) -> anyhow::Result<Listener> {
        let address = match listen {
            Listen::Unix(path) => {
                return Ok(unix(path, self.socket_mode, approval)?);
            }
            Listen::Tcp(address) => *address,
        };
        let listener = Listener::tcp(address, tls.cloned()).await;
        let listener = listener
            .map_err(|error| anyhow::anyhow!(errors::cannot_listen(&listen.to_string(), &error)))?;
        if !address.ip().to_canonical().is_loopback() && tls.is_none() {
            tracing::warn!(
                %listen,
                "tokens and replies are not encrypted on the way: set --tls-cert and --tls-key, or put a TLS proxy in front"
            );
        }
        Ok(listener)
    }
}

/// The ways into `serve` for people on its machine. An agent has none.
#[derive(Debug, Default)]
pub struct Doors {
    /// The socket by which commands of this user find the server. If the server cannot listen there, it logs that and goes on.
    pub local: Option<PathBuf>,
    /// The options of the console, if there is one.
    pub console: Option<ConsoleOptions>,
    /// The name by which people reach the server, if it has one of its own.
    pub public_name: Option<String>,
}

/// Listens at a Unix socket with this mode.
fn unix(path: &Path, mode: Mode, approval: &Approval) -> Result<Listener, SocketError> {
    let listener = Listener::unix(path.to_owned(), mode.0)?;
    // Commands of tools run as the same user. Without tokens, such a command could use the socket to run calls that the approval
    // hook refuses.
    Ok(match approval.is_configured() {
        true => listener.with_tokens_only(),
        false => listener,
    })
}

/// Serves the result of `start` until a signal arrives, and then ends everything that it runs. The `named` tokens are valid,
/// and those of the options.
pub async fn run<S: Served>(
    common: &Common,
    named: Box<dyn NamedTokens>,
    listen: &[Listen],
    clients: &Clients,
    oversight: &Oversight,
    doors: Doors,
    start: impl AsyncFnOnce() -> anyhow::Result<S>,
) -> anyhow::Result<ExitCode> {
    // From here on, a signal shuts the server down in order, also while it starts.
    let mut stop = Box::pin(signals::ended(Hangup::Reloads));
    let tls = clients.tls()?;
    let mut listeners = Vec::new();
    for listen in listen {
        let listener = clients.listen(listen, tls.as_ref(), &oversight.approval);
        listeners.push(listener.await?);
    }
    let mut credentials = Credentials::new(
        named,
        clients.token_file.as_deref(),
        tls,
        oversight.audit.clone(),
    );
    let mut known = credentials.read()?;
    if let Some(state_dir) = common.state_dir() {
        token::remove_stale(&state_dir);
    }
    // Dropping this removes the file with a new token, on every way out of this function.
    let mut made = None;
    if known.is_empty() && listeners.iter().any(Listener::needs_token) {
        let port = listeners.iter().find_map(Listener::address);
        let place = port.map_or_else(|| "socket".into(), |address| address.port().to_string());
        let new = made.insert(token::make(common.state_dir(), &place)?);
        known = credentials.add(new.token.clone())?;
    }
    let tokens = Tokens::new(known.clone());
    let following = credentials.follow(known, tokens.clone());
    if let Some(following) = &following {
        signals::on_reload(following.reload());
    }
    let served = tokio::select! {
        biased;
        () = &mut stop => {
            tracing::info!("stopped before it had started");
            return Ok(ExitCode::SUCCESS);
        }
        served = start() => served?,
    };
    // The state directory belongs to this server only now.
    if let Some(path) = &doors.local {
        match unix(path, PRIVATE, &oversight.approval) {
            Ok(listener) => listeners.push(listener),
            Err(error) => {
                let error = error.to_string();
                tracing::warn!(error, "commands need --server to find this server");
            }
        }
    }
    let urls = listeners.iter().map(Listener::url);
    let urls = urls.collect::<Result<Vec<_>, _>>()?;
    let audit = oversight.audit.clone();
    let state_dir = common.state_dir();
    let console = doors.console.as_ref();
    let opened = console.map(|options| options.open(state_dir.as_deref(), audit));
    let access = Access {
        tokens: tokens.clone(),
        console: opened.transpose()?.flatten(),
        hosts: elements(&clients.allow_host)
            .cloned()
            .chain(doors.public_name)
            .collect(),
        origins: elements(&clients.allow_origin).cloned().collect(),
    };
    // Whoever reads that the server listens, or that it is ready, may send SIGHUP at once.
    signals::on_reload(|| {
        notify::reloading();
        tracing::info!("SIGHUP: the files of the configuration are read again");
        notify::ready();
    });
    served.listens(&listeners);
    for url in &urls {
        logging::notice(format_args!("listening on {url}"), &[("url", url)]);
    }
    if let (Some(made), Some(listener)) = (&made, listeners.first()) {
        let url = listener.local_url()?;
        let hint = if S::OFFERS_TOOLS {
            made.hint(&url)
        } else {
            made.agent_hint(&url)
        };
        logging::notice(hint, &[]);
    }
    if let (Some(options), Some(console)) = (console, &access.console) {
        options.announce(console, &tokens, &listeners);
    }
    for problem in served.problems() {
        logging::failure(problem);
    }
    notify::ready();
    let hurried = served.clone();
    let stop = async move {
        stop.await;
        notify::stopping();
        tokio::spawn(async move {
            loop {
                signals::ended(Hangup::Reloads).await;
                hurried.hurry();
            }
        });
    };
    let ended = served.serve(listeners, access, stop).await?;
    tracing::info!(
        processes = ended.len(),
        "stopped, and ended what was still running"
    );
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for good in [
            "https://chat.example.com",
            "http://127.0.0.1:8000",
            "http://[::1]:1",
        ] {
            assert!(is_origin(good), "{good}");
        }
        for bad in [
            "",
            "foo",
            "*",
            "null",
            "https://a/",
            "https://a?b",
            "https://u@a",
            "//a",
        ] {
            assert!(!is_origin(bad), "{bad}");
        }
        assert!(origin("https://a").is_ok() && origin("").is_ok() && origin("b").is_err());
    }

    #[test]
    fn modes_are_octal_and_leave_the_socket_to_its_owner() {
        let mode = |text: &str| super::mode(text).ok();
        assert_eq!(mode("600"), Some(Mode(0o600)));
        assert_eq!(mode("0660"), Some(Mode(0o660)));
        for bad in ["", "000", "066", "1600", "800", "rw"] {
            assert_eq!(mode(bad), None, "{bad}");
        }
    }
}
