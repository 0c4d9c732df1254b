//! The facts about a process that are known from its start on, and stay known after its end.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Command;
use toolhost_state::id::ChatId;

/// The longest command that is remembered, in bytes: a list of processes must stay small, and a command can have 1 MiB.
const MOST_OF_COMMAND: usize = 2048;

/// The facts about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: String,
    /// The chat that it belongs to; `None` if it was started for no chat.
    pub(super) chat: Option<ChatId>,
    /// As it was started, cut by [`clip`].
    pub(super) command: String,
    pub(super) workdir: PathBuf,
    pub(super) background: bool,
    pub(super) started: SystemTime,
    /// The key of its start, if it had one.
    pub(super) key: Option<String>,
}

impl Record {
    /// Makes the record of a process that is about to start, with the id that its key names, or else a random one.
    pub(super) fn new(chat: Option<&ChatId>, command: &Command, workdir: &Path) -> Self {
        let id = command.id().map(str::to_owned);
        Self {
            id: id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            chat: chat.cloned(),
            command: clip(&command.command),
            workdir: workdir.to_path_buf(),
            background: command.background,
            started: SystemTime::now(),
            key: command.key.clone(),
        }
    }

    /// Returns whether this may be the process of an earlier start of this command, as far as a record tells.
    pub(super) fn is_of(&self, command: &Command) -> bool {
        self.key == command.key
            && self.background == command.background
            && self.command == clip(&command.command)
    }
}

/// Cuts a command at 2 KiB.
fn clip(command: &str) -> String {
    match command.get(..command.floor_char_boundary(MOST_OF_COMMAND)) {
        Some(start) if start.len() < command.len() => format!("{start}…"),
        _ => command.to_owned(),
    }
}
