//! The report of the checks, for people and as JSON. Texts of the guest were escaped before.

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::plugin::inspect::cause_lines;
use toolhost_plugin::{Cause, Digest};

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// Passed, with a note for the author.
    Note,
    /// Skipped: the result is unknown.
    Skipped,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    status: Status,
    subject: String,
    text: String,
    /// The cause, if the plugin ran and failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

/// All checks of one plugin, in order.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    sha256: Digest,
    checks: Vec<Check>,
}

impl Report {
    pub(super) fn new(name: &str, sha256: Digest) -> Self {
        Self {
            name: name.to_owned(),
            sha256,
            checks: Vec::new(),
        }
    }

    fn push(&mut self, status: Status, subject: &str, text: String) {
        self.checks.push(Check {
            status,
            subject: subject.to_owned(),
            text,
            cause: None,
        });
    }

    pub(super) fn ok(&mut self, subject: &str, text: String) {
        self.push(Status::Ok, subject, text);
    }

    pub(super) fn note(&mut self, subject: &str, text: String) {
        self.push(Status::Note, subject, text);
    }

    pub(super) fn skipped(&mut self, subject: &str, text: String) {
        self.push(Status::Skipped, subject, text);
    }

    pub(super) fn failed_because(&mut self, subject: &str, text: String) {
        self.push(Status::Failed, subject, text);
    }

    /// As [`Report::failed_because`], with the cause if the plugin ran and failed.
    pub(super) fn failed_with(&mut self, subject: &str, text: String, cause: Option<Cause>) {
        self.checks.push(Check {
            status: Status::Failed,
            subject: subject.to_owned(),
            text,
            cause,
        });
    }

    /// Returns how many checks failed.
    pub(super) fn failed(&self) -> usize {
        self.count(Status::Failed)
    }

    fn count(&self, status: Status) -> usize {
        self.checks
            .iter()
            .filter(|check| check.status == status)
            .count()
    }

    /// Shows a line for each check, and their sum.
    pub(super) fn table(&self) -> String {
        let width = self
            .checks
            .iter()
            .map(|check| check.subject.chars().count())
            .max();
        let width = width.unwrap_or_default();
        let mut text = String::new();
        for Check {
            status,
            subject,
            text: why,
            cause,
        } in &self.checks
        {
            let status = match status {
                Status::Ok => "ok     ",
                Status::Note => "note   ",
                Status::Skipped => "skipped",
                Status::Failed => "FAILED ",
            };
            text.push_str(&format!("{status}  {subject:width$}  {why}\n"));
            for (name, line) in cause.iter().flat_map(cause_lines) {
                text.push_str(&format!("{:7}  {:width$}    {name}: {line}\n", "", ""));
            }
        }
        let (ok, failed) = (self.count(Status::Ok), self.failed());
        text.push_str(&format!("{}: {ok} ok, {failed} failed", self.name));
        match self.count(Status::Skipped) {
            0 => {}
            skipped => text.push_str(&format!(", {skipped} skipped")),
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "ok": self.failed() == 0,
            "name": self.name,
            "sha256": self.sha256,
            "checks": self.checks,
        })
    }
}
