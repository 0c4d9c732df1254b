//! The shell that runs commands, and where it is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use toolhost_workspace::process::Shell;

/// The directories that are searched first.
const USUAL: [&str; 2] = ["/bin", "/usr/bin"];

/// The shell of a workspace.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) shell: Shell,
    /// The absolute path of the shell.
    pub(super) path: PathBuf,
}

/// Finds a shell in the usual directories, or else in this search path. Without a wish, that is bash if there is one, and else `sh`.
pub(super) fn find(wish: Option<Shell>, search: &OsStr) -> Option<Found> {
    let wished: &[Shell] = match wish {
        Some(Shell::Bash) => &[Shell::Bash],
        Some(Shell::Sh) => &[Shell::Sh],
        None => &[Shell::Bash, Shell::Sh],
    };
    let found = wished.iter().map(|shell| {
        let directories = std::env::split_paths(search).filter(|directory| directory.is_absolute());
        let mut paths = USUAL.iter().map(PathBuf::from).chain(directories);
        let path = paths.find_map(|directory| {
            let path = directory.join(shell.to_string());
            is_executable(&path).then_some(path)
        });
        Some(Found {
            shell: *shell,
            path: path?,
        })
    });
    found.flatten().next()
}

fn is_executable(path: &Path) -> bool {
    access(path, AccessFlags::X_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_shell_is_a_program_of_its_name_in_an_absolute_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("zsh");
        File::create(&path).unwrap();
        assert!(!is_executable(&path));
        set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        assert!(is_executable(&path));
        assert!(!is_executable(directory.path()));
    }

    #[test]
    fn the_wish_decides() {
        let search = OsStr::new("relative:/usr/local/bin");
        let sh = find(Some(Shell::Sh), search).unwrap();
        assert_eq!(sh.shell, Shell::Sh);
        assert!(sh.path.is_absolute() && sh.path.ends_with("sh"), "{sh:?}");
        let bash = find(Some(Shell::Bash), search);
        let auto = find(None, search).unwrap();
        assert_eq!(auto.path, bash.unwrap_or(sh).path);
    }
}
