//! The checks that a server makes of its machine while it runs. They are those of `toolhost doctor` that start no command.

use std::path::Path;

use toolhost_local::process::Spawner;
use toolhost_sandbox::Policy;
use toolhost_server::Check as Served;

use super::{Check, Status, layers, machine};

/// Checks the machine, the layers of the sandbox, and the space of the state directory.
pub(in crate::cli) fn of_server(
    policy: &Policy,
    spawner: Option<&Spawner>,
    state_directory: Option<&Path>,
) -> Vec<Served> {
    let (layers, is_confined) = layers::checks(policy, spawner);
    let mut checks = machine::checks(is_confined);
    checks.extend(layers);
    checks.extend(state_directory.map(machine::free_space));
    checks.into_iter().map(Served::from).collect()
}

impl From<Check> for Served {
    fn from(check: Check) -> Self {
        let make = match check.status {
            Status::Ok => Self::ok,
            Status::Warning => Self::warning,
            Status::Failed => Self::error,
        };
        let made = make(check.name, check.text);
        match check.advice {
            Some(advice) => made.advice(advice),
            None => made,
        }
    }
}
