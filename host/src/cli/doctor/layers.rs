//! The checks of the layers that the sandbox of commands is made of.

use std::path::Path;

use toolhost_local::process::{Spawner, lack_of_layers, sandbox_support};
use toolhost_sandbox::{Layer, Mode, Policy};

use super::Check;

/// Returns a check for each layer, and whether commands are kept from this host's files and processes.
pub(super) fn checks(
    policy: &Policy,
    spawner: Option<&Spawner>,
    state_directory: Option<&Path>,
) -> (Vec<Check>, bool) {
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
    let mut checks: Vec<_> = layers.into_iter().map(check).collect();
    let spawner = spawner.filter(|_| support.namespaces.is_ok());
    checks.extend(spawner.map(|spawner| overlayfs(state_directory, spawner)));
    (checks, is_confined)
}

/// Checks whether commands can write over the toolchains that are lent to them.
fn overlayfs(state_directory: Option<&Path>, spawner: &Spawner) -> Check {
    const NAME: &str = "overlayfs";
    let temporary = std::env::temp_dir();
    let directory = state_directory.filter(|path| path.is_dir());
    let lack = match lack_of_layers(directory.unwrap_or(&temporary), spawner) {
        Ok(None) => {
            let text = "protects toolchains and caches of the user: what commands write there stays in the home of their workspace";
            return Check::ok(NAME, text);
        }
        Ok(Some(lack)) => lack,
        Err(error) => error,
    };
    Check::warning(
        NAME,
        format!(
            "missing ({lack}); caches are empty in a new home, and toolchains can only be read"
        ),
        "it needs Linux 5.11, and a state directory on a file system with extended attributes, such as ext4, XFS, Btrfs or tmpfs",
    )
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
