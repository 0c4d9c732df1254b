//! From a thrown value to what its author reads.

use serde::Deserialize;

use crate::hint;
use crate::place::Place;
use crate::report::Failure;
use crate::strip::Stripped;

/// What the prelude knows of a thrown value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Explained {
    name: String,
    message: String,
    kind: Option<String>,
    tool: Option<String>,
    cause: Option<String>,
    errors: Option<Vec<String>>,
    stack: String,
}

impl Explained {
    /// Returns what there is to know of an error for which there was no memory.
    pub(crate) fn out_of_memory() -> Self {
        Self {
            name: "InternalError".to_owned(),
            message: "out of memory".to_owned(),
            ..Self::default()
        }
    }

    /// Returns what it says about the script of this text. The script has this name in its stack.
    pub(crate) fn failure(self, code: &str, stripped: &Stripped, script: &str) -> Failure {
        let place = self
            .stack
            .lines()
            .find_map(|frame| place(frame, script))
            .map(|place| stripped.original(place));
        let error = hint::Error {
            name: &self.name,
            message: &self.message,
            is_native: self
                .stack
                .trim_start()
                .lines()
                .next()
                .is_some_and(|frame| frame.ends_with("(native)")),
            place,
        };
        let (message, place) = error.explained(code);
        let name = match self.name.as_str() {
            "" => "Error",
            // QuickJS's own name of what others call a range error.
            "InternalError" => "RangeError",
            name => name,
        };
        let failure = Failure {
            kind: self.kind,
            tool: self.tool,
            cause: self.cause,
            errors: self.errors,
            ..Failure::new(name, message)
        };
        failure.at(place, code)
    }
}

/// Returns the place that a line of a stack names, if it is in the script: `    at name (script:3:14)`. The line before the script counts
/// as the first one.
fn place(frame: &str, script: &str) -> Option<Place> {
    let frame = frame.trim().strip_prefix("at ")?;
    let place = frame.rsplit_once('(').map_or(frame, |(_, place)| place);
    let mut parts = place.trim_end_matches(')').split(':');
    if parts.next() != Some(script) {
        return None;
    }
    let line: u32 = parts.next()?.parse().ok()?;
    Some(Place {
        line: line.checked_sub(1).filter(|&line| line > 0)?,
        column: parts.next()?.parse().ok()?,
    })
}
