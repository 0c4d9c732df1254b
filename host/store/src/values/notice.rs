//! Values of notices.

use serde::{Deserialize, Serialize};

/// A stored notice: that a chat wants to be told of something that happens to a process, and what became of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its id, unique in the store.
    pub id: String,
    /// The notice, as JSON that only the host reads.
    pub body: serde_json::Value,
}
