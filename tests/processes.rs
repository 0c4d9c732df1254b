//! The process domain on real processes: ending, draining, capturing, signalling, scopes.

mod chats;
mod finishing;
mod keep;
mod output;
mod signals;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_local::process::{Config, Environment, Extras, Limits, Process, SaveLimits};
use toolhost_workspace::process::{
    Cause, Command, Error, Saved, Signal, State, Stdin, WaitOptions, Wake,
};

use crate::harness::processes::{TestRegistry, chat, finished};
use crate::harness::{PATIENCE, is_alive, until, until_dead};

fn code(state: &State) -> i32 {
    match state {
        State::Exited(status) => status.code.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn assert_lingers(process: &Process) {
    let state = process.state();
    assert!(matches!(state, State::Lingering(_)), "{state:?}");
}
