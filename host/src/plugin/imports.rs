//! What a component may import, judged by name before the linker looks, whose error would not say what to do.

use super::LoadError;
use crate::capability::{FilesGrant, Grants};

/// The package of the contract.
pub(super) const PACKAGE: &str = "toolhost:plugin/";

/// The version of the contract that this host speaks.
pub(super) const CONTRACT: &str = "0.1";

/// Interfaces of the contract that every plugin may import.
const FREE: [&str; 4] = ["context", "settings", "log", "progress"];

/// Packages of WASI 0.2 that are linked for every plugin, with nothing in them.
const WASI: [&str; 6] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
];

/// Looks at the name of an import before the linker does, whose error would not say what to do.
pub(super) fn check_import(import: &str, grants: &Grants) -> Result<(), LoadError> {
    let Some(interface) = import.strip_prefix(PACKAGE) else {
        let version = import.rsplit_once('@').map_or("", |(_, version)| version);
        let known =
            WASI.iter().any(|package| import.starts_with(package)) && version.starts_with("0.2.");
        return if known {
            Ok(())
        } else {
            Err(LoadError::UnknownImport(import.to_owned()))
        };
    };
    if !is_contract(interface) {
        return Err(LoadError::Version(import.to_owned()));
    }
    let name = interface.split('@').next().unwrap_or_default();
    match name {
        free if FREE.contains(&free) => Ok(()),
        "processes" if grants.processes => Ok(()),
        "processes" => Err(LoadError::NotGranted {
            import: import.to_owned(),
            grant: "processes",
        }),
        "files" if grants.files != FilesGrant::None => Ok(()),
        "files" => Err(LoadError::NotGranted {
            import: import.to_owned(),
            grant: "files",
        }),
        _ => Err(LoadError::UnknownImport(import.to_owned())),
    }
}

/// Returns whether an interface name with a version, such as `tools@0.1.3`, is of the contract that this host speaks.
pub(super) fn is_contract(interface: &str) -> bool {
    let version = interface.split_once('@').map_or("", |(_, version)| version);
    version
        .strip_prefix(CONTRACT)
        .is_some_and(|patch| patch.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_judged_by_name_and_version() {
        let judge = |import: &str, granted: bool| {
            let grants = Grants {
                processes: granted,
                files: if granted {
                    FilesGrant::Read
                } else {
                    FilesGrant::None
                },
                ..Grants::default()
            };
            check_import(import, &grants)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(judge("toolhost:plugin/log@0.1.0", false), "");
        assert_eq!(judge("toolhost:plugin/context@0.1.7", false), "");
        assert_eq!(judge("toolhost:plugin/processes@0.1.0", true), "");
        assert_eq!(judge("wasi:sockets/tcp@0.2.12", false), "");
        insta::assert_snapshot!(judge("toolhost:plugin/processes@0.1.0", false), @"the plugin imports toolhost:plugin/processes@0.1.0, which it was not granted: add `grants = { processes = … }` to its configuration");
        assert_eq!(judge("toolhost:plugin/files@0.1.0", true), "");
        insta::assert_snapshot!(judge("toolhost:plugin/files@0.1.0", false), @"the plugin imports toolhost:plugin/files@0.1.0, which it was not granted: add `grants = { files = … }` to its configuration");
        insta::assert_snapshot!(judge("toolhost:plugin/log@0.2.0", false), @"the plugin names toolhost:plugin/log@0.2.0, but this host speaks version 0.1 of the contract: build it against that");
        for unknown in [
            "toolhost:plugin/magic@0.1.0",
            "wasi:http/types@0.2.0",
            "wasi:cli/environment@0.3.0",
            "env",
            "",
        ] {
            assert!(
                judge(unknown, true).contains("which no Toolhost offers"),
                "{unknown}"
            );
        }
    }
}
