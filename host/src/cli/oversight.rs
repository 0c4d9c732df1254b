//! What the operator sees of calls, and may refuse: the audit trail and the approval hook.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::FalseyValueParser;

use super::Common;
use crate::approval::{Approval, Url};
use crate::audit::{self, Audit};
use crate::host::Builder;
use crate::metrics::Metrics;
use crate::state_dir::StateDir;

/// What the operator sees of calls, and may refuse.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// Where the audit trail is kept, audit.jsonl [default: the directory `audit` in the state directory]
    #[arg(long, value_name = "DIR", env = "TOOLHOST_AUDIT_DIR")]
    audit_dir: Option<PathBuf>,
    /// Keep no audit trail
    #[arg(long, env = "TOOLHOST_NO_AUDIT", value_parser = FalseyValueParser::new())]
    no_audit: bool,
    /// A program that is asked before a tool runs that may destroy something; repeated, the rest are its arguments. It gets
    /// the call as JSON on standard input, and approves with exit code 0 or refuses with 1
    #[arg(
        long,
        value_name = "PROGRAM",
        env = "TOOLHOST_APPROVAL_COMMAND",
        allow_hyphen_values = true,
        conflicts_with = "approval_url"
    )]
    approval_command: Vec<String>,
    /// The same, but an http:// URL that gets the call by POST and answers {"approved": true} or {"approved": false, "reason": "…"}
    #[arg(long, value_name = "URL", env = "TOOLHOST_APPROVAL_URL")]
    approval_url: Option<String>,
    /// A file with a bearer token for that URL
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_APPROVAL_TOKEN_FILE",
        requires = "approval_url"
    )]
    approval_token_file: Option<PathBuf>,
    /// How long an answer may take, after which the call is refused
    #[arg(long, value_name = "TIME", env = "TOOLHOST_APPROVAL_TIMEOUT", default_value = "60s", value_parser = humantime::parse_duration)]
    approval_timeout: Duration,
}

/// The trail, the metrics and the hook of one host.
#[derive(Clone, Debug)]
pub(super) struct Oversight {
    audit: Audit,
    metrics: Metrics,
    approval: Approval,
}

impl Options {
    /// Opens what is asked for. A directory that the user named must work; without the default one there is a warning.
    pub(super) fn open(&self, common: &Common) -> anyhow::Result<Oversight> {
        let metrics = Metrics::default();
        Ok(Oversight {
            audit: self.audit(common, &metrics)?,
            approval: self.approval()?,
            metrics,
        })
    }

    fn audit(&self, common: &Common, metrics: &Metrics) -> anyhow::Result<Audit> {
        if self.no_audit {
            return Ok(Audit::default());
        }
        let named = self.audit_dir.is_some() || common.state_dir.is_some();
        let open = || {
            let directory = match &self.audit_dir {
                Some(path) => StateDir::open(path)?,
                None => {
                    let path = common.state_dir();
                    let path = path.context("neither XDG_STATE_HOME nor HOME is set")?;
                    StateDir::open(&path)?.subdirectory("audit")?
                }
            };
            let config = audit::Config::default();
            anyhow::Ok(Audit::open(directory, &config, metrics)?)
        };
        match open() {
            Err(error) if !named => {
                let error = format!("{error:#}");
                tracing::warn!(error, "no audit trail");
                Ok(Audit::default())
            }
            opened => opened.context("the audit trail cannot be kept (--no-audit does without)"),
        }
    }

    fn approval(&self) -> anyhow::Result<Approval> {
        let command = self.approval_command.split_first();
        match (command, &self.approval_url) {
            (Some((program, arguments)), None) => Ok(Approval::command(
                program,
                arguments.to_vec(),
                self.approval_timeout,
            )?),
            (None, Some(url)) => {
                let url = Url::new(url, &[], self.approval_token_file.clone())?;
                Ok(Approval::url(url, self.approval_timeout))
            }
            (None, None) => Ok(Approval::default()),
            (Some(_), Some(_)) => bail!("--approval-command and --approval-url exclude each other"),
        }
    }
}

impl Oversight {
    pub(super) fn configure(&self, builder: Builder) -> Builder {
        builder
            .audit(self.audit.clone())
            .metrics(self.metrics.clone())
            .approval(self.approval.clone())
    }
}
