//! The checks that a server makes of its machine while it runs. They are those of `toolhost doctor` that start no command.

use std::path::Path;

use toolhost_local::process::Spawner;
use toolhost_sandbox::Policy;
use toolhost_server::Check as Served;

use super::{CONFIGURATION, Check, Status, layers, machine, refused};
use crate::cli::config::unreadable;
use crate::config::{Config, ConfigError};

/// Checks the machine, the layers of the sandbox, the space of the state directory, and the configuration that the server began with.
pub(in crate::cli) fn of_server(
    policy: &Policy,
    spawner: Option<&Spawner>,
    state_directory: Option<&Path>,
    config: Option<&Config>,
) -> Vec<Served> {
    let (layers, is_confined) = layers::checks(policy, spawner, state_directory);
    let mut checks = machine::checks(is_confined);
    checks.extend(layers);
    checks.extend(config.and_then(configuration));
    checks.extend(state_directory.map(machine::free_space));
    checks.into_iter().map(Served::from).collect()
}

/// Checks the file of a configuration as it is now; `None` if there is no file. Other checks tell whether its plugins were loaded.
fn configuration(began_with: &Config) -> Option<Check> {
    let path = began_with.path()?;
    let found = match began_with.reread() {
        Ok(now) => unreadable(&now).map(|problems| (now, problems)),
        Err(error) => Err(error),
    };
    Some(match found {
        Err(ConfigError::Invalid { problems, .. }) => refused(path, &problems),
        Err(error) => Check::failed(
            CONFIGURATION,
            error.to_string(),
            "the server goes on with what it has read before",
        ),
        Ok((_, problems)) if !problems.is_empty() => refused(path, &problems),
        Ok((now, _)) => match now.changed_settings(began_with).as_slice() {
            [] => Check::ok(CONFIGURATION, path.display().to_string()),
            changed => Check::warning(
                CONFIGURATION,
                format!(
                    "{}: changed since the start: {}",
                    path.display(),
                    changed.join(", ")
                ),
                "these settings take effect at the next start",
            ),
        },
    })
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
