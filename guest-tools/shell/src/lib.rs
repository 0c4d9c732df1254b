//! The tools `execute`, `process_input`, `process_output`, `process_list` and `process_signal`, as a plugin.
//!
//! The tools decide: what an argument means, when a command goes to the background, how much of its output is shown, and
//! what the model is told. They do nothing by themselves; starting, waiting and signalling are imports. Each tool has a
//! `run` that takes the processes as an argument, so that its tests script them.

mod background;
mod bash;
mod binary;
#[cfg(test)]
mod cases;
mod duration;
mod environment;
mod execute;
mod file_dump;
mod git;
mod keys;
mod kill;
mod notes;
mod notify;
mod ports;
mod process_input;
mod process_list;
mod process_output;
mod process_signal;
mod prompt;
mod report;
mod settle;
mod several;
mod start_error;
mod wait;

use toolhost_sdk::{ToolError, export_tools};

use execute::Execute;
use process_input::ProcessInput;
use process_list::ProcessList;
use process_output::ProcessOutput;
use process_signal::ProcessSignal;

export_tools!(
    Execute,
    ProcessOutput,
    ProcessInput,
    ProcessList,
    ProcessSignal
);

/// An error about the arguments, with the very text that the model reads.
fn invalid(text: impl Into<String>) -> ToolError {
    ToolError::InvalidArguments(text.into())
}

/// Shortens a command for a reply, which has to stay small however long the command is.
fn clip(mut command: String, most: usize) -> String {
    if command.len() > most {
        let room = most.saturating_sub('…'.len_utf8());
        command.truncate(command.floor_char_boundary(room));
        command.push('…');
    }
    command
}
