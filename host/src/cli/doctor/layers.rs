//! The checks of the layers that the sandbox of commands is made of.

use toolhost_local::process::{Spawner, sandbox_support};
use toolhost_sandbox::{Layer, Mode, Policy};

use super::Check;

/// Returns a check for each layer, and whether commands are kept from this host's files and processes.
pub(super) fn checks(policy: &Policy, spawner: Option<&Spawner>) -> (Vec<Check>, bool) {
    const NAME: &str = "sandbox";
    if policy.mode == Mode::Off {
        let off = Check::warning(
            NAME,
            "it is off: commands may do whatever this user may",
            "leave out --sandbox off, or run this host in a container of its own",
        );
        return (vec![off], false);
    }
    let support = match sandbox_support(policy, spawner) {
        Ok(support) => support,
        Err(error) => {
            let advice = "look again when the machine has room: a server does not start now";
            return (vec![Check::failed(NAME, error.to_string(), advice)], true);
        }
    };
    let layers = support.layers();
    let is_confined = support.landlock.is_ok() && support.seccomp.is_ok();
    (layers.into_iter().map(check).collect(), is_confined)
}

fn check(layer: Layer) -> Check {
    let Layer {
        name,
        state,
        protects,
        enable,
    } = layer;
    match state {
        Ok(version) => {
            let separator = if version.is_empty() { "" } else { ", " };
            let text = format!("{version}{separator}protects {protects}");
            match enable {
                "" => Check::ok(name, text),
                enable => Check {
                    advice: Some(format!("more with {enable}")),
                    ..Check::ok(name, text)
                },
            }
        }
        Err(why) => Check::warning(
            name,
            format!("missing ({why}); it would protect {protects}"),
            format!("it needs {enable}"),
        ),
    }
}
