//! Webhooks: notices are sent to chat servers, in the form and with the signature of
//! [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Serialize;
use sha2::Sha256;

use crate::notice_values;
use toolhost_call::client;
use toolhost_call::notice::{Courier, Notice, Undelivered};
use toolhost_state::trusted::{UntrustedError, read_private};
use toolhost_state::unix_time;

/// The longest time for one delivery.
const PATIENCE: Duration = Duration::from_secs(15);

/// The beginning of a secret that is written in base64.
const WRITTEN: &str = "whsec_";

/// The shortest key, in bytes.
const MIN_KEY: usize = 16;

/// A webhook, as an operator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The URL, `http` or `https`.
    pub url: String,
    /// The file of the secret: `whsec_` and base64, or any other text, of at least 16 bytes. It is read for each delivery.
    pub secret_file: PathBuf,
    /// The names of the tokens whose notices are sent there; `None`: of all tokens that no other webhook names.
    pub tokens: Option<BTreeSet<String>>,
}

/// Why a webhook cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL cannot be used.
    #[error("{0}")]
    Url(String),
    /// The file of the secret cannot be read, or others can.
    #[error(transparent)]
    File(#[from] UntrustedError),
    /// The secret cannot be used.
    #[error("{0}")]
    Secret(&'static str),
}

/// The webhooks of a server.
#[derive(Debug)]
pub struct Webhooks(Vec<Receiver>);

#[derive(Debug)]
struct Receiver {
    webhook: Webhook,
    url: reqwest::Url,
    client: reqwest::Client,
}

/// The body of a delivery.
#[derive(Serialize)]
struct Body {
    /// `process.exited`, `process.matched` or `process.lost`.
    r#type: String,
    /// When it happened, as RFC 3339 has it.
    timestamp: String,
    data: Data,
}

#[derive(Serialize)]
struct Data {
    chat: String,
    #[serde(flatten)]
    notice: notice_values::Notice,
}

impl Webhook {
    /// Checks that the URL and the secret can be used.
    ///
    /// # Errors
    ///
    /// See [`WebhookError`].
    pub fn check(&self) -> Result<(), WebhookError> {
        self.connect().map(drop)
    }

    /// Returns the URL and a client for it, if the secret can be used as well.
    fn connect(&self) -> Result<(reqwest::Url, reqwest::Client), WebhookError> {
        let connected = client::of_url(&self.url).map_err(WebhookError::Url)?;
        self.key()?;
        Ok(connected)
    }

    /// Returns the key of the signatures.
    fn key(&self) -> Result<Vec<u8>, WebhookError> {
        let text = read_private(&self.secret_file)?;
        let text = text.trim();
        let key = match text.strip_prefix(WRITTEN) {
            Some(written) => BASE64.decode(written).map_err(|_| {
                WebhookError::Secret("what follows whsec_ in the secret is no base64")
            })?,
            None => text.as_bytes().to_vec(),
        };
        match key.len() < MIN_KEY {
            true => Err(WebhookError::Secret(
                "the secret has less than 16 bytes: make one with `openssl rand -base64 24`",
            )),
            false => Ok(key),
        }
    }
}

impl Webhooks {
    /// Makes the webhooks.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used: its place, and why.
    pub fn new(webhooks: Vec<Webhook>) -> Result<Self, (usize, WebhookError)> {
        let receiver = |(place, webhook): (usize, Webhook)| {
            let (url, client) = webhook.connect().map_err(|error| (place, error))?;
            Ok(Receiver {
                webhook,
                url,
                client,
            })
        };
        let receivers = webhooks.into_iter().enumerate().map(receiver);
        receivers.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the webhook of a token: the one that names it, or else the one that names none.
    fn of(&self, principal: &str) -> Option<&Receiver> {
        let names = |receiver: &&Receiver| {
            let tokens = receiver.webhook.tokens.as_ref();
            tokens.is_some_and(|tokens| tokens.contains(principal))
        };
        let of_all = || self.0.iter().find(|one| one.webhook.tokens.is_none());
        self.0.iter().find(names).or_else(of_all)
    }
}

impl Courier for Webhooks {
    fn serves(&self, principal: &str) -> bool {
        self.of(principal).is_some()
    }

    fn deliver<'a>(&'a self, notice: &'a Notice) -> BoxFuture<'a, Result<(), Undelivered>> {
        Box::pin(async move {
            let Some(receiver) = self.of(&notice.principal) else {
                let principal = &notice.principal;
                let reason = format!("there is no webhook for the token {principal:?} any more");
                return Err(Undelivered::ForGood(reason));
            };
            receiver.deliver(notice).await
        })
    }
}

impl Receiver {
    async fn deliver(&self, notice: &Notice) -> Result<(), Undelivered> {
        let now = |reason: String| Undelivered::ForNow {
            reason,
            after: None,
        };
        let webhook = self.webhook.clone();
        let key = tokio::task::spawn_blocking(move || webhook.key()).await;
        let key = key.map_err(|error| now(error.to_string()))?;
        let key = key.map_err(|error| now(format!("the secret cannot be used: {error}")))?;
        let body = body(notice).map_err(|error| Undelivered::ForGood(error.to_string()))?;
        let seconds = unix_time::now_ms() / 1000;
        let request = self
            .client
            .post(self.url.clone())
            .timeout(PATIENCE)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &notice.id)
            .header("webhook-timestamp", seconds.to_string())
            .header(
                "webhook-signature",
                signature(&key, &notice.id, seconds, &body),
            )
            .body(body);
        let answer = request.send().await;
        let answer = answer.map_err(|error| now(client::cause(&error).to_string()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => {
                let reason = "the receiver answered 410: it wants no more".to_owned();
                Err(Undelivered::ForGood(reason))
            }
            status => Err(Undelivered::ForNow {
                reason: format!("the receiver answered with status {status}"),
                after: retry_after(&answer),
            }),
        }
    }
}

/// Returns how long a receiver asks to wait.
fn retry_after(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

fn body(notice: &Notice) -> Result<String, serde_json::Error> {
    let told = notice.told.as_ref();
    let at = unix_time::from_ms(told.map_or(0, |told| told.at_ms));
    let event = told.map_or("", |told| told.event());
    serde_json::to_string(&Body {
        r#type: format!("process.{event}"),
        timestamp: humantime::format_rfc3339_millis(at).to_string(),
        data: Data {
            chat: notice.chat.to_string(),
            notice: notice.into(),
        },
    })
}

/// Returns the value of the header `webhook-signature`.
fn signature(key: &[u8], id: &str, seconds: u64, body: &str) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries.
    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        let key = BASE64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", r#"{"test": 2432232314}"#);
        assert_eq!(
            signature(&key, id, 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_is_text_or_base64_and_not_short() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        let key = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, private).unwrap();
            let webhook = Webhook {
                url: "http://localhost".into(),
                secret_file: path.clone(),
                tokens: None,
            };
            webhook.key().map_err(|error| error.to_string())
        };
        assert_eq!(key("0123456789abcdef\n").unwrap(), b"0123456789abcdef");
        assert_eq!(
            key("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").unwrap(),
            b"0123456789abcdef"
        );
        assert!(key("short").unwrap_err().contains("less than 16 bytes"));
        assert!(key("whsec_??").unwrap_err().contains("no base64"));
    }
}
