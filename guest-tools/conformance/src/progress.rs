//! A tool that tells how far it has come.

use std::thread::sleep;
use std::time::Duration;

use toolhost_sdk::{Call, Hints, Reply, Tool, ToolError, progress};

use crate::{HARMLESS, Nothing};

/// The time between two steps. The suite wants to hear of each of them, and hosts tell of progress ten times a second or so.
const PAUSE: Duration = Duration::from_millis(150);

/// Reports 0, 50 and 100 of 100.
#[derive(Debug)]
pub(crate) struct ToolWithProgress;

impl Tool for ToolWithProgress {
    const NAME: &'static str = "test_tool_with_progress";
    const DESCRIPTION: &'static str = "Reports progress while it runs, for testing.";
    const HINTS: Hints = HARMLESS;
    type Arguments = Nothing;

    fn call(_call: &Call, _arguments: Nothing) -> Result<Reply, ToolError> {
        progress::report(0.0, Some(100.0), None);
        sleep(PAUSE);
        progress::report(50.0, Some(100.0), None);
        sleep(PAUSE);
        progress::report(100.0, Some(100.0), None);
        Ok(Reply::text("The tool has reported its progress."))
    }
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::testing::{self, surroundings};

    use super::*;

    #[test]
    fn reports_three_steps() {
        testing::call::<ToolWithProgress>("{}").unwrap();
        let steps = surroundings(|now| now.progress.clone());
        let step = |done| (done, Some(100.0), None);
        assert_eq!(steps, [step(0.0), step(50.0), step(100.0)]);
    }
}
