//! The report of attacks, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::attempt::Attempt;
use super::bench::Attacked;
use super::set::Case;
use toolhost_plugin::shown;

/// A component, how it must end if it is one of the set, and what its attack did.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) case: Option<Case>,
    pub(super) attacked: Attacked,
}

impl Subject {
    /// Returns whether the host stood the attack: everything came back, and a guest of the set ended as it must.
    pub(super) fn is_well(&self) -> bool {
        let Attacked { before, after, .. } = &self.attacked;
        after.is_back_to(before) && self.unexpected().is_none()
    }

    /// Returns the attempt that did not end as it must.
    fn unexpected(&self) -> Option<&Attempt> {
        let case = self.case.as_ref()?;
        let mut attempts = self.attacked.attempts.iter();
        attempts.find(|attempt| !attempt.ended.is_as_expected(case))
    }

    /// Returns what the host did not get back, in words.
    fn lost(&self) -> Option<String> {
        let Attacked { before, after, .. } = &self.attacked;
        (!after.is_back_to(before)).then(|| {
            format!(
                "the host did not get everything back: {} more bytes of memory, {} more descriptors, {} processes",
                after.memory.saturating_sub(before.memory),
                after.descriptors.saturating_sub(before.descriptors),
                after.processes
            )
        })
    }

    fn json(&self) -> Value {
        let Attacked {
            attempts,
            before,
            after,
        } = &self.attacked;
        let attempts = attempts.iter().map(|attempt| {
            json!({ "tool": attempt.called.tool, "what": attempt.called.what, "ended": attempt.ended })
        });
        json!({
            "name": self.name,
            "ok": self.is_well(),
            "expected": self.case,
            "attempts": attempts.collect::<Vec<_>>(),
            "host": { "before": before, "after": after, "came_back": after.is_back_to(before) },
        })
    }

    /// Writes a line for each attempt of a component that is not one of the set.
    fn attempts(&self, text: &mut String) {
        let label = |attempt: &Attempt| match attempt.called.tool.is_empty() {
            true => attempt.called.what.clone(),
            false => format!("{}: {}", attempt.called.tool, attempt.called.what),
        };
        let attempts = &self.attacked.attempts;
        let width = attempts
            .iter()
            .map(|attempt| label(attempt).chars().count());
        let width = width.max().unwrap_or_default();
        for attempt in attempts {
            let (ends, label, line) = (attempt.ended.ends, label(attempt), attempt.ended.line());
            _ = writeln!(text, "{ends:7}  {label:width$}  {line}");
        }
    }

    /// Returns how many attempts ended in each way.
    fn sum(&self) -> String {
        if self.attacked.attempts.is_empty() {
            return "no call was made: it has no tools, or it runs commands and --grant processes=own was not given".into();
        }
        let mut counts = BTreeMap::<String, usize>::new();
        for attempt in &self.attacked.attempts {
            *counts.entry(attempt.ended.ends.to_string()).or_default() += 1;
        }
        let counts = counts.iter().map(|(ends, count)| format!("{count} {ends}"));
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the report as JSON.
pub(super) fn json(subjects: &[Subject]) -> Value {
    json!({
        "ok": subjects.iter().all(Subject::is_well),
        "guests": subjects.iter().map(Subject::json).collect::<Vec<_>>(),
    })
}

/// Returns the report as a table.
pub(super) fn table(subjects: &[Subject]) -> String {
    let mut text = String::new();
    let width = subjects.iter().map(|subject| subject.name.len());
    let width = width.max().unwrap_or_default();
    for subject in subjects {
        let name = &subject.name;
        match &subject.case {
            None => {
                subject.attempts(&mut text);
                _ = writeln!(text, "{name}: {}", subject.sum());
            }
            Some(case) => {
                let limit = case.limit.as_deref().unwrap_or_default();
                let status = if subject.is_well() { "ok" } else { "FAILED" };
                let tries = shown(&case.tries);
                let line = format!(
                    "{status:6}  {name:width$}  {:7} {limit:14} {tries}",
                    case.ends
                );
                _ = writeln!(text, "{}", line.trim_end());
            }
        }
        if let Some(attempt) = subject.unexpected() {
            let (ends, line) = (attempt.ended.ends, attempt.ended.line());
            _ = writeln!(text, "        it ended otherwise: {ends}: {line}");
        }
        if let Some(lost) = subject.lost() {
            _ = writeln!(text, "        {lost}");
        }
    }
    let failed = subjects.iter().filter(|subject| !subject.is_well()).count();
    let count = match subjects.len() {
        1 => "1 component".into(),
        count => format!("{count} components"),
    };
    text += &match failed {
        0 => format!(
            "the host was attacked with {count}, stood it, and has its memory, descriptors and processes back"
        ),
        _ => format!("the host was attacked with {count}, and did not stand {failed} of them"),
    };
    text
}
