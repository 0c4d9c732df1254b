//! Events of processes, as whoever runs them tells of them.

use super::{Event, Events};
use crate::process::{Observer, Process, State};
use toolhost_state::id::CallId;

/// The longest command in an event, in bytes: a list of processes has more of it.
const MOST_OF_COMMAND: usize = 512;

impl Observer for Events {
    fn started(&self, process: &Process) {
        let (command, workdir) = (clip(process.command()), process.workdir().to_path_buf());
        let background = process.background();
        self.tell(process, |subject| Event::ProcessStarted {
            process: subject,
            command,
            workdir,
            background,
        });
    }

    fn output(&self, process: &Process, offset: u64, length: u64) {
        let Some(chat) = process.chat() else {
            return;
        };
        // Mostly this is all: it takes a lock, and no memory.
        if length == 0 || self.change(|hub| hub.extend(chat, process.id(), offset, length)) {
            return;
        }
        self.tell(process, |subject| Event::Output {
            process: subject,
            offset,
            length,
        });
    }

    fn changed(&self, process: &Process, state: &State, total: u64) {
        let state = state.clone();
        self.tell(process, |subject| Event::Process {
            process: subject,
            state,
            total,
        });
    }
}

impl Events {
    /// Publishes an event about a process, unless it is of no chat.
    fn tell(&self, process: &Process, event: impl FnOnce(std::sync::Arc<super::Subject>) -> Event) {
        let Some(chat) = process.chat() else {
            return;
        };
        let call = || process.key().and_then(CallId::of_start_key);
        self.change(|hub| hub.publish_of(chat, process.id(), call, event, &self.shared));
    }
}

/// Cuts a command between two characters.
fn clip(command: &str) -> String {
    match command.get(..command.floor_char_boundary(MOST_OF_COMMAND)) {
        Some(start) if start.len() < command.len() => format!("{start}…"),
        _ => command.to_owned(),
    }
}
