//! `toolhost upgrade`: what this version of the program would change in a state directory.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolhost_store::{SchemaVersion, StoreFile};
use toolhost_workspace::operation;

use super::state::Place;
use super::{Common, exit_code};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost upgrade --check
  toolhost upgrade --check --state-dir /var/lib/toolhost";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Say what a start of this version would change, and change nothing
    #[arg(long, required = true)]
    check: bool,
}

pub(super) fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    debug_assert!(options.check, "clap requires it");
    let place = Place::open(common)?;
    let version = StoreFile::version(place.directory())?;
    let path = place.directory().path();
    let kept = kept_commands(path);
    let path = path.display().to_string();
    let is_usable = version.is_none_or(|version| version.found <= version.known);
    let text = format!(
        "{path}: {}\n{}\nagents: this version has version {} of their operations, and works with agents of the same one",
        store(version),
        commands(kept),
        operation::VERSION
    );
    let object = json!({
        "state_dir": path, "program": env!("CARGO_PKG_VERSION"), "usable": is_usable,
        "store": version.map(|version| json!({ "version": version.found, "known": version.known })),
        "kept_commands": kept, "agent_operations": operation::VERSION,
    });
    common.report(&text, &object)?;
    Ok(exit_code(is_usable))
}

/// Returns how many commands are kept in a state directory: each has a socket there.
fn kept_commands(state: &Path) -> usize {
    let entries = std::fs::read_dir(state.join("kept"));
    let names = entries.into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".socket"))
        .count()
}

/// Says what happens to the store.
fn store(version: Option<SchemaVersion>) -> String {
    let Some(SchemaVersion { found, known }) = version else {
        return "there is no store; the first server makes one".to_owned();
    };
    match found {
        _ if found > known => format!(
            "the store has version {found}, and this program knows versions up to {known}: it refuses the store. Use the later program, or \
             restore a backup"
        ),
        _ if found < known => format!(
            "the store has version {found}. The first start of a server copies it to store.db.version-{found}, and upgrades it to version \
             {known}. An earlier program cannot read it afterwards: to go back, restore the copy or a backup"
        ),
        _ => format!(
            "the store has version {found}, as this program has it. Nothing in it changes, and programs that know this version read it \
             afterwards"
        ),
    }
}

/// Says what happens to kept commands.
fn commands(kept: usize) -> String {
    match kept {
        0 => "commands: none are kept".to_owned(),
        kept => format!(
            "commands: {kept} are kept. A server takes them over only if their supervisors have the same version, which it learns when it \
             starts; it ends the others"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_consequence() {
        let said = |found, known| store(Some(SchemaVersion { found, known }));
        insta::assert_snapshot!(said(5, 5), @"the store has version 5, as this program has it. Nothing in it changes, and programs that know this version read it afterwards");
        insta::assert_snapshot!(said(3, 5), @"the store has version 3. The first start of a server copies it to store.db.version-3, and upgrades it to version 5. An earlier program cannot read it afterwards: to go back, restore the copy or a backup");
        insta::assert_snapshot!(said(6, 5), @"the store has version 6, and this program knows versions up to 5: it refuses the store. Use the later program, or restore a backup");
        assert!(commands(0).contains("none") && commands(2).contains("2 are kept"));
    }
}
