//! Oversight of calls: the options of the audit trail and the approval hook.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytesize::ByteSize;
use clap::Args;
use clap::builder::FalseyValueParser;

use super::Common;
pub use toolhost_agent::Oversight;
use toolhost_call::approval::{Approval, ApprovalError, Url};
use toolhost_call::audit::{self, Audit};
use toolhost_call::metrics::Metrics;
use toolhost_sandbox::is_of_system;
use toolhost_state::state_dir::StateDir;

/// The options of the audit trail and the approval hook.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Audit and approval")]
#[group(skip)]
pub struct Options {
    /// Where the audit trail is kept, audit.jsonl [default: the directory `audit` in the state directory]
    #[arg(long, value_name = "DIR", env = "TOOLHOST_AUDIT_DIR")]
    audit_dir: Option<PathBuf>,
    /// Keep no audit trail
    #[arg(long, env = "TOOLHOST_NO_AUDIT", value_parser = FalseyValueParser::new())]
    no_audit: bool,
    /// The size beyond which the file of the audit trail is rotated
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_AUDIT_FILE_SIZE",
        default_value = "64MiB"
    )]
    audit_file_size: ByteSize,
    /// How many rotated files of the audit trail are kept
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_AUDIT_FILES",
        default_value_t = 8,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    audit_files: u32,
    /// The most that one token may add to the audit trail at once, and again in each hour after that; further lines are counted
    /// instead
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_AUDIT_SHARE",
        default_value = "64MiB"
    )]
    audit_share: ByteSize,
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
    /// An http:// or https:// URL that is asked instead of a program. It gets the call by POST, and answers {"approved": true}
    /// or {"approved": false, "reason": "…"}
    #[arg(long, value_name = "URL", env = "TOOLHOST_APPROVAL_URL", value_parser = approval_url)]
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
    #[arg(long, value_name = "TIME", env = "TOOLHOST_APPROVAL_TIMEOUT", default_value = "60s", value_parser = super::time::time)]
    approval_timeout: Duration,
}

fn approval_url(text: &str) -> Result<String, ApprovalError> {
    Url::new(text, &[], None)?;
    Ok(text.to_owned())
}

impl Options {
    /// Opens the audit trail, and sets the approval hook up. A directory that the operator named must work. If the default one
    /// cannot be used, this logs a warning and goes on without a trail.
    pub fn open(&self, common: &Common) -> anyhow::Result<Oversight> {
        let metrics = Metrics::default();
        let approval = self.approval()?;
        if approval.is_missing() {
            tracing::warn!(
                program = self.approval_command.first(),
                "the program of the approval hook does not exist: until it is installed, every call that needs approval is refused"
            );
        }
        if approval.can_be_traced() {
            tracing::warn!(
                "the approval hook runs as the same user as commands: one that was approved can trace it and answer in its \
                 place; ask a URL of another user or machine, or run the hook as another user, as with `sudo -n -u USER`"
            );
        }
        Ok(Oversight {
            audit: self.audit(common, &metrics)?,
            approval,
            metrics,
        })
    }

    /// Returns the paths that neither commands nor tools may reach: also the files that the command of the approval hook names, except for
    /// programs of the system.
    pub fn private_paths(&self) -> Vec<PathBuf> {
        let paths = self.audit_dir.iter().chain(&self.approval_token_file);
        let hook = self.approval_command.iter().map(PathBuf::from);
        let hook = hook.filter(|path| path.components().count() > 1 && path.is_file());
        let hook = hook.filter(|path| !is_of_system(path));
        paths.cloned().chain(hook).collect()
    }

    fn audit(&self, common: &Common, metrics: &Metrics) -> anyhow::Result<Audit> {
        if self.no_audit {
            return Ok(Audit::default());
        }
        let named = self.audit_dir.is_some() || common.state_dir.is_some();
        // If the named state directory cannot be used, fail with its own error rather than with one of the audit trail.
        if let (None, Some(path)) = (&self.audit_dir, &common.state_dir) {
            StateDir::open(path)?;
        }
        let open = || {
            let directory = match &self.audit_dir {
                Some(path) => StateDir::open(path)?,
                None => {
                    let path = common.state_dir();
                    let path = path.context("neither XDG_STATE_HOME nor HOME is set")?;
                    StateDir::open(&path)?.subdirectory("audit")?
                }
            };
            let config = audit::Config {
                max_size: self.audit_file_size.as_u64(),
                keep: self.audit_files,
                share: self.audit_share.as_u64(),
                ..audit::Config::default()
            };
            anyhow::Ok(Audit::open(directory, &config, metrics)?)
        };
        match open() {
            Err(error) if !named => {
                let error = format!("{error:#}");
                tracing::warn!(error, "no audit trail");
                Ok(Audit::default())
            }
            opened => opened.context(
                "the audit trail cannot be kept: name another directory with --audit-dir, or do without with --no-audit",
            ),
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
