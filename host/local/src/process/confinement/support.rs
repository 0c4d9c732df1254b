//! The layers of a sandbox that this machine supports.

use std::io::ErrorKind;
use std::time::Duration;

use toolhost_sandbox::{Policy, PrepareError, Support, View};

use crate::process::{Spawner, shortage};

/// How often the namespaces are tried if the machine is short of something, and the first pause between two tries, which doubles.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the layers that this machine supports for a policy. The spawner tries the namespaces. Blocks for up to 1 s if the machine is
/// short of something. Must be called within a tokio runtime.
///
/// # Errors
///
/// [`PrepareError::Short`] if the machine is still short of it then: whether it supports namespaces is not known.
pub fn support(policy: &Policy, spawner: Option<&Spawner>) -> Result<Support, PrepareError> {
    let mut support = Support::detect();
    if policy.no_namespaces {
        support.namespaces = Err(Support::NO_NAMESPACES.to_owned());
    } else if let Some(spawner) = spawner {
        support.namespaces = try_namespaces(spawner)?;
    }
    Ok(support)
}

/// Tries namespaces with every feature. The inner error says why the kernel forbids them.
fn try_namespaces(spawner: &Spawner) -> Result<Result<(), String>, PrepareError> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let error = match spawner.within(&View::trial(), None) {
            Ok(_) => break,
            Err(error) => error,
        };
        let short = shortage::of_namespaces(&error);
        // A process that was killed may have been short of memory, or the kernel kills for a forbidden call.
        let is_temporary = short.is_some() || error.kind() == ErrorKind::ConnectionAborted;
        if is_temporary && attempt < TRIES {
            std::thread::sleep(pause);
            pause *= 2;
            continue;
        }
        return match short {
            Some(short) if !are_forbidden() => Err(PrepareError::Short(format!(
                "{short}: {error}; free some, or set --sandbox-no-namespaces to run commands without namespaces"
            ))),
            _ => Ok(Err(error.to_string())),
        };
    }
    Ok(Ok(()))
}

/// Returns whether the operator forbade namespaces by a limit of 0.
fn are_forbidden() -> bool {
    ["user", "mnt", "pid", "ipc", "net"].iter().any(|kind| {
        let limit = std::fs::read_to_string(format!("/proc/sys/user/max_{kind}_namespaces"));
        limit.is_ok_and(|limit| limit.trim() == "0")
    })
}
