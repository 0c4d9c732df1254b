//! The cause of a failure of a guest, for the operator and the author of the plugin. No model reads it.

mod advice;
mod backtrace;
mod evidence;
mod lines;
mod words;

use serde::Serialize;

use super::failure::Failure;
use super::limits::Limits;
use super::text::shown_up_to;
pub(super) use evidence::Evidence;

/// The most bytes of [`Cause::text`].
const MAX_TEXT: usize = 1500;

/// The cause of a failure of a guest: its own words, and where it was. Everything in it is escaped and bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The failure, its reason and its place in one line, with what to do if the host knows that.
    pub text: String,
    /// The last lines of the guest's standard error, at most 32 lines and about 4 KiB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// The functions that the guest was in, the innermost first, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backtrace: Vec<String>,
}

impl Cause {
    /// Finds the cause of a failure of this plugin in the evidence that its guest left.
    pub(super) fn of(
        failure: &Failure,
        plugin: &str,
        limits: &Limits,
        evidence: &Evidence,
    ) -> Self {
        let stderr = evidence.take_stderr();
        let backtrace = evidence.backtrace();
        let mut text = failure.to_string();
        let words = words::of(&stderr);
        let place = backtrace::place(&backtrace);
        match (failure, words, place) {
            // This trap only says that the guest gave up.
            (Failure::Trap(trap), Some(words), _) if trap.contains("unreachable") => {
                text = format!("the tool is broken: {words}");
            }
            (_, Some(words), _) => text = format!("{text}; standard error ends with: {words}"),
            (Failure::Trap(_) | Failure::Limit(_), None, Some(place)) => {
                text = format!("{text}, in {place}");
            }
            _ => {}
        }
        let raise = match failure {
            Failure::Limit(reached) => advice::raise(reached, plugin, limits),
            _ => None,
        };
        let missing = evidence.missing_settings();
        let missing = match (failure, stderr.is_empty()) {
            // A bare trap: the missing setting is all that is known.
            (Failure::Trap(_), true) => advice::missing_settings(&missing, plugin),
            _ => advice::missing_settings(&named_in(&missing, &stderr.join("\n")), plugin),
        };
        for advice in [raise, missing].into_iter().flatten() {
            text = format!("{text}; {advice}");
        }
        Self {
            text: shown_up_to(&text, MAX_TEXT),
            stderr,
            backtrace,
        }
    }

    /// Makes the cause of an error that the guest itself reported, and that can be due to a setting which it was not given.
    pub(super) fn reported(text: String, plugin: &str, evidence: &Evidence) -> Self {
        let missing = named_in(&evidence.missing_settings(), &text);
        let missing = advice::missing_settings(&missing, plugin);
        Self {
            text: match missing {
                Some(missing) => format!("{text}; {missing}"),
                None => text,
            },
            ..Self::default()
        }
    }

    /// Returns the lines of standard error as one text, if they say more than [`Cause::text`] does.
    pub(super) fn more(&self) -> Option<String> {
        let told = |line: &String| self.text.contains(line.trim()) || words::is_around_panic(line);
        (!self.stderr.iter().all(told)).then(|| self.stderr.join(" | "))
    }
}

/// Returns the names that this text mentions. A setting that a plugin can do without is often missing, and no reason.
fn named_in(names: &[String], text: &str) -> Vec<String> {
    let names = names.iter().filter(|name| text.contains(name.as_str()));
    names.cloned().collect()
}

impl std::fmt::Display for Cause {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}
