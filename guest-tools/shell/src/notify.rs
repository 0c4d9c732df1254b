//! Notices: the chat is told of what happens to a process after the reply.

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::ToolError;
use toolhost_sdk::processes::{ExpectedOutput, Process, Trigger};

use crate::invalid;
use crate::notes::{self, Notes, Rank};
use crate::report::Report;

/// The event of which the chat is to be told.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Notify {
    /// "exit": the process ends. "output": its output matches pattern.
    on: On,
    /// With "output": a regular expression, such as "ready|error".
    pattern: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum On {
    Exit,
    Output,
}

impl Notify {
    /// Checks it, before anything is done.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        match self.on {
            On::Output if self.pattern().is_none() => Err(invalid(
                "notify with on \"output\" needs a pattern, a regular expression that the output will match",
            )),
            On::Exit if self.pattern().is_some() => Err(invalid(
                "notify with on \"exit\" takes no pattern: write on \"output\", which tells of the end as well",
            )),
            _ => Ok(()),
        }
    }

    fn pattern(&self) -> Option<&str> {
        // Models fill in what they do not need.
        self.pattern
            .as_deref()
            .filter(|pattern| !pattern.is_empty())
    }

    /// Asks for the notice if the process of the report still runs. The output is searched from a cursor on.
    pub(crate) fn ask(
        &self,
        process: &dyn Process,
        since: u64,
        report: &mut Report,
        notes: &mut Notes,
    ) {
        if report.running != Some(true) {
            return;
        }
        if notes::ends_with_call() {
            // Another note says that the process ends.
            return;
        }
        let on = match self.pattern() {
            Some(pattern) => Trigger::Output(ExpectedOutput {
                pattern: pattern.to_owned(),
                since,
            }),
            None => Trigger::Exit,
        };
        match process.notify(&on) {
            Ok(id) => {
                report.notice = Some(id);
                notes.add(Rank::Running, notes::told_of(&on));
            }
            Err(error) => notes.add(Rank::Surprise, notes::not_told(&error)),
        }
    }
}
