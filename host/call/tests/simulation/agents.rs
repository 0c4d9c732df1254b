//! Agents: machines on which commands run, each with a counter of effects for each start key.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::database::Key;

/// A process on an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    /// How often a command with this key has started.
    pub(crate) effects: u32,
    pub(crate) ends: Instant,
}

/// All agents. The chat of a call names its agent.
#[derive(Debug)]
pub(crate) struct Agents(Vec<Mutex<HashMap<Key, Process>>>);

impl Agents {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    fn of(&self, (chat, _): &Key) -> &Mutex<HashMap<Key, Process>> {
        let number = chat.as_str().strip_prefix("agent-").unwrap();
        &self.0[number.parse::<usize>().unwrap()]
    }

    /// Starts a command that takes this time. An agent that remembers starts returns the process that a key names, if there is one.
    pub(crate) fn start(&self, key: &Key, takes: Duration, remembers: bool) -> Process {
        let mut processes = self.of(key).lock();
        let known = processes.get(key).copied();
        if let (Some(process), true) = (known, remembers) {
            return process;
        }
        let process = Process {
            effects: known.map_or(0, |process| process.effects) + 1,
            ends: Instant::now() + takes,
        };
        processes.insert(key.clone(), process);
        process
    }

    /// Returns how often a command with this key has started.
    pub(crate) fn effects(&self, key: &Key) -> u32 {
        let processes = self.of(key).lock();
        processes.get(key).map_or(0, |process| process.effects)
    }
}
