//! Events of processes, which their workspace reports.

use toolhost_state::id::CallId;
use toolhost_workspace::process::{ProcessEvent, Subject as Process, Subscriber};

use super::{Event, Events};

/// The longest command in an event, in bytes: a list of processes has more of it.
const MOST_OF_COMMAND: usize = 512;

impl Subscriber for Events {
    fn event(&self, process: Process<'_>, event: ProcessEvent<'_>) {
        let Some(chat) = process.chat else {
            return;
        };
        // Usually this is enough. It takes a lock, and no memory.
        if let ProcessEvent::Output { offset, length } = event
            && (length == 0 || self.hub.lock().extend(chat, process.id, offset, length))
        {
            return;
        }
        let call = || process.key.and_then(CallId::of_start_key);
        let event = |process| match event {
            ProcessEvent::Started {
                command,
                workdir,
                background,
            } => Event::ProcessStarted {
                process,
                command: clip(command),
                workdir: workdir.to_path_buf(),
                background,
            },
            ProcessEvent::Output { offset, length } => Event::Output {
                process,
                offset,
                length,
            },
            ProcessEvent::Changed { state, total } => Event::Process {
                process,
                state: state.clone(),
                total,
            },
        };
        let mut hub = self.hub.lock();
        hub.publish(chat, |buffer| event(buffer.subject(process.id, call)));
    }
}

/// Cuts a command at 512 bytes, between two characters.
pub fn clip(command: &str) -> String {
    match command.get(..command.floor_char_boundary(MOST_OF_COMMAND)) {
        Some(start) if start.len() < command.len() => format!("{start}…"),
        _ => command.to_owned(),
    }
}
