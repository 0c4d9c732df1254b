//! Values of processes that the surfaces serialize alike.

use serde::Serialize;
use toolhost_workspace::process::{self, Saved};
use utoipa::ToSchema;

/// How far the full copy of an output goes: `none`, `complete`, `partial` up to a limit, or `failed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SavedStatus {
    /// Nothing is saved.
    None,
    /// Every byte so far is saved.
    Complete,
    /// Only the first bytes are saved.
    Partial {
        /// How many bytes.
        bytes: u64,
    },
    /// Saving failed; only the bytes before the failure are saved.
    Failed {
        /// Why it failed.
        reason: String,
    },
}

impl From<Saved> for SavedStatus {
    fn from(saved: Saved) -> Self {
        match saved {
            Saved::None => Self::None,
            Saved::Complete => Self::Complete,
            Saved::Partial(bytes) => Self::Partial { bytes },
            Saved::Failed(reason) => Self::Failed { reason },
        }
    }
}

/// Something that outlives a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Its command line, cut at 256 bytes.
    pub command: String,
}

impl From<process::Survivor> for Survivor {
    fn from(survivor: process::Survivor) -> Self {
        Self {
            pid: survivor.pid,
            command: survivor.command,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copies_say_how_far_they_go() {
        for (saved, expected) in [
            (Saved::None, json!({ "status": "none" })),
            (Saved::Complete, json!({ "status": "complete" })),
            (
                Saved::Partial(7),
                json!({ "status": "partial", "bytes": 7 }),
            ),
            (
                Saved::Failed("disk full".into()),
                json!({ "status": "failed", "reason": "disk full" }),
            ),
        ] {
            assert_eq!(
                serde_json::to_value(SavedStatus::from(saved)).unwrap(),
                expected
            );
        }
    }
}
