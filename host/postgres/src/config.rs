//! The configuration of a store in PostgreSQL.

use std::time::Duration;

use rustls::ClientConfig;
use toolhost_state::secret::Secret;
use uuid::Uuid;

/// Where the database is, and how a host uses it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address: `postgres://user@host:5432/database?sslmode=require`, or words as `psql` takes them.
    pub url: Secret,
    /// The password, unless the address has it.
    pub password: Option<Secret>,
    /// The certificates that a TLS connection trusts.
    pub tls: ClientConfig,
    /// The most connections besides the one that listens and the one of the heartbeats; 16 by default.
    pub connections: usize,
    /// How long the lease of a host lasts without a heartbeat; 10 s by default. After that, others take its calls over.
    pub lease: Duration,
    /// The time between two heartbeats; a fifth of the lease by default.
    pub beat: Option<Duration>,
    /// How long an operation waits for the database before it fails; 10 s by default.
    pub patience: Duration,
    /// The state directory of this host, by which its next run is known: that run takes over at once what this one leaves. By default, there
    /// is no next run.
    pub machine: Uuid,
    /// The name of this host, for operators.
    pub name: String,
    /// The URL at which clients reach this host.
    pub address: Option<String>,
}

impl Config {
    /// The statements that make PostgreSQL notice within half a minute that a host is gone, and close its connections. They are not in
    /// the options of a connection, which poolers refuse.
    pub(crate) const SESSION: &str = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
         SET tcp_user_timeout = 25000";

    /// Returns a configuration with the defaults.
    pub fn new(url: impl Into<String>, tls: ClientConfig) -> Self {
        Self {
            url: Secret::new(url),
            password: None,
            tls,
            connections: 16,
            lease: Duration::from_secs(10),
            beat: None,
            patience: Duration::from_secs(10),
            machine: Uuid::now_v7(),
            name: String::new(),
            address: None,
        }
    }

    /// Parses the address, and adds what the driver is to do when a connection is lost.
    pub(crate) fn parsed(&self) -> Result<tokio_postgres::Config, tokio_postgres::Error> {
        let mut parsed: tokio_postgres::Config = self.url.reveal().parse()?;
        if let Some(password) = &self.password {
            parsed.password(password.reveal());
        }
        if parsed.get_application_name().is_none() {
            parsed.application_name("toolhost");
        }
        if parsed.get_connect_timeout().is_none() {
            parsed.connect_timeout(self.patience);
        }
        if parsed.get_tcp_user_timeout().is_none() {
            parsed.tcp_user_timeout(self.patience);
        }
        // The kernel counts this one in seconds.
        parsed.keepalives_idle(self.patience.max(Duration::from_secs(1)));
        parsed.keepalives_interval(Duration::from_secs(1));
        parsed.keepalives_retries(3);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_dead_connection_is_noticed_soon_after_the_patience() {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider);
        let tls = tls.with_safe_default_protocol_versions().unwrap();
        let tls = tls.with_root_certificates(rustls::RootCertStore::empty());
        let config = Config::new("host=db user=toolhost", tls.with_no_client_auth());
        let parsed = config.parsed().unwrap();
        assert_eq!(parsed.get_keepalives_idle(), config.patience);
        assert_eq!(
            parsed.get_keepalives_interval(),
            Some(Duration::from_secs(1))
        );
        assert_eq!(parsed.get_keepalives_retries(), Some(3));
        assert_eq!(parsed.get_tcp_user_timeout(), Some(&config.patience));
    }
}
