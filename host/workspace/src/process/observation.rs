//! Observations of processes: their use and the last line of their output, at one moment.

use std::time::Duration;

use toolhost_state::id::ChatId;

use super::Owned;

/// The most processes of one observation.
pub const MAX_OBSERVED: usize = 4096;

/// The most characters of a last line.
pub const MAX_LINE: usize = 200;

/// The name of a process: its owner and its id.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct ProcessName {
    /// The chat that owns it, if one does.
    pub owner: Option<ChatId>,
    /// Its id.
    pub id: String,
}

/// The use of everything that a process started and that lives.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Usage {
    /// The CPU time that it has used since its start, with that of the processes of it that ended.
    pub cpu: Duration,
    /// The memory that it uses, in bytes. Without a cgroup with accounts of memory, memory that several processes share counts for each.
    pub memory: u64,
    /// How many processes of the system it has.
    pub processes: u64,
}

/// What one process uses and last wrote.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Observation {
    /// The process.
    pub process: ProcessName,
    /// Its use; `None` if it has ended, or if its use is not known.
    pub usage: Option<Usage>,
    /// The last line of its output that is not blank, without escape sequences and control characters, cut at [`MAX_LINE`] characters;
    /// `None` if there is none in memory.
    pub last_line: Option<String>,
}

impl Observation {
    /// Makes the text of a last line harmless and short: without control characters and marks of text direction, cut at [`MAX_LINE`]
    /// characters. Returns `None` if nothing but white space is left.
    pub fn line(text: &str) -> Option<String> {
        let acts = |c: char| {
            c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let shown = text.chars().map(|c| if c == '\t' { ' ' } else { c });
        let shown = shown
            .filter(|c| !acts(*c))
            .skip_while(|c| c.is_whitespace());
        let line: String = shown.take(MAX_LINE).collect();
        let line = line.trim_end();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

impl From<&Owned> for ProcessName {
    fn from(one: &Owned) -> Self {
        Self {
            owner: one.owner.clone(),
            id: one.info.id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_acts_on_nothing() {
        let line = |text: &str| Observation::line(text);
        assert_eq!(
            line("  a\tb \u{202e}c\r\u{1b}[1m\u{9b} ").as_deref(),
            Some("a b c[1m")
        );
        assert_eq!(line(" \u{7f}\n\u{2028} "), None);
        let long = line(&"ä".repeat(5000)).unwrap();
        assert_eq!(long.chars().count(), MAX_LINE);
    }
}
