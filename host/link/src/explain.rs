//! Errors of agents as sentences that say what to do.

use hyper::StatusCode;
use serde::Deserialize;
use toolhost_call::client;
use toolhost_workspace::operation::{Identity, VERSION};

use crate::transport::SendError;

/// The error of an agent: see its API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiError {
    message: Option<String>,
    detail: Option<String>,
    /// The code of a problem document, which other servers of Toolhost answer with.
    code: Option<String>,
}

/// Returns why a request got no answer.
pub(crate) fn unsent(whereto: &str, error: &reqwest::Error) -> SendError {
    let cause = client::cause(error);
    let text = cause.to_string();
    if text.contains("invalid HTTP version") {
        return SendError::Hopeless(format!(
            "{whereto} speaks no plain HTTP: if the agent has TLS, write https:// in its address"
        ));
    }
    if !error.is_connect() {
        return SendError::Broken(format!("the connection to {whereto} broke: {text}"));
    }
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return SendError::Hopeless(untrusted(whereto, tls));
    }
    let io = cause.downcast_ref::<std::io::Error>();
    SendError::NotSent(match io.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::ConnectionRefused) => format!(
            "nothing listens at {whereto} (connection refused): start the agent there, or correct its address"
        ),
        _ if error.is_timeout() => format!(
            "{whereto} cannot be reached (no connection in time): look whether the machine runs, and whether a firewall is between"
        ),
        _ if text.contains("dns error") || text.contains("lookup address") => format!(
            "the name in {whereto} cannot be resolved ({text}): correct the address of the agent"
        ),
        _ => format!("{whereto} cannot be reached: {text}"),
    })
}

fn untrusted(whereto: &str, error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    use rustls::Error::InvalidCertificate;
    let advice = match error {
        InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "renew the certificate of the agent, or correct the clock of this machine"
        }
        InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            "correct the clock of this machine, or that of the one that made the certificate"
        }
        InvalidCertificate(Bad::UnknownIssuer) => {
            "name the authority that signed the certificate of the agent with `ca`"
        }
        InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "use a name in the address that the certificate of the agent has"
        }
        rustls::Error::AlertReceived(_) => {
            "the agent asks for a certificate that it trusts: name one with `cert` and `key`"
        }
        rustls::Error::InvalidMessage(_) => {
            "the agent speaks no TLS at this port: write http:// in its address"
        }
        _ => "check the certificates of both sides",
    };
    format!("TLS with {whereto} failed ({error}): {advice}")
}

/// The part of an introduction that every version of the operations has.
#[derive(Debug, Deserialize)]
struct Version {
    operations: u32,
    toolhost: String,
}

/// Reads how an agent introduces itself, or returns why this host cannot use it.
pub(crate) fn identity(agent: &str, body: &[u8]) -> Result<Identity, String> {
    let version: Version = serde_json::from_slice(body).map_err(|_| none_of_ours(agent))?;
    if version.operations != VERSION {
        let Version {
            operations,
            toolhost,
        } = version;
        let said = format!("Toolhost {toolhost}, version {operations} of the operations");
        return Err(other_version(agent, &said));
    }
    serde_json::from_slice(body).map_err(|_| none_of_ours(agent))
}

/// Returns that an answer is none of an agent.
pub(crate) fn none_of_ours(agent: &str) -> String {
    refused(agent, StatusCode::OK, b"")
}

fn other_version(agent: &str, said: &str) -> String {
    format!(
        "{agent} has another version ({said}) than this host (Toolhost {}, version {VERSION} of the operations): update the older one",
        env!("CARGO_PKG_VERSION"),
    )
}

/// Returns why an answer is none of an agent that this host can use.
pub(crate) fn refused(agent: &str, status: StatusCode, body: &[u8]) -> String {
    let error: Option<ApiError> = serde_json::from_slice(body).ok();
    let is_ours = error
        .as_ref()
        .is_some_and(|error| error.message.is_some() || error.code.is_some());
    let said = error.unwrap_or_default();
    let said = [said.message, said.detail].into_iter().flatten();
    let said = said.collect::<Vec<_>>().join(" ");
    match status {
        StatusCode::UNAUTHORIZED => format!(
            "{agent} does not accept the token: give this host the token with which the agent was started"
        ),
        StatusCode::UPGRADE_REQUIRED => other_version(agent, &said),
        StatusCode::NOT_FOUND if is_ours => format!(
            "{agent} offers no workspace to hosts: update it, or start `toolhost serve` there with --agent-api"
        ),
        StatusCode::FORBIDDEN if is_ours => format!("{agent} refuses: {said}"),
        _ if is_ours => format!("{agent} answers {status}: {said}"),
        _ => format!("{agent} is none of Toolhost (it answers {status}): correct the address"),
    }
}
