//! The directory that a command runs in.

use std::path::{Path, PathBuf};

use super::Error;

/// The longest path that Linux takes, in bytes.
const MAX_PATH: usize = 4095;

/// Resolves the directory to run in against the workspace directory, without a look at the disk.
///
/// # Errors
///
/// [`Error::Invalid`] if it cannot be a path.
pub(super) fn resolve(workdir: Option<&Path>, workspace: &Path) -> Result<PathBuf, Error> {
    Ok(match workdir {
        Some(path) if path.as_os_str().as_encoded_bytes().contains(&0) => {
            return Err(Error::Invalid("workdir contains a NUL byte".into()));
        }
        Some(path) if path.as_os_str().len() > MAX_PATH => {
            return Err(Error::Invalid(format!(
                "workdir has {} bytes, the most is {MAX_PATH}",
                path.as_os_str().len()
            )));
        }
        Some(path) if !path.as_os_str().is_empty() => {
            // This removes `.`. `..` stays: only the kernel can resolve it rightly where there are links.
            workspace.join(path).components().collect()
        }
        _ => workspace.to_path_buf(),
    })
}

/// Checks a directory in which no shell could be started: a missing directory and a missing shell are the same error of the operating
/// system. Blocks on the disk.
///
/// # Errors
///
/// [`Error::Workdir`] if it does not exist, is not a directory, or cannot be entered; the text names the nearest parent
/// that does exist.
pub(super) fn check(path: &Path) -> Result<(), Error> {
    let problem = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => "is not a directory",
        Ok(_) => match nix::unistd::access(path, nix::unistd::AccessFlags::X_OK) {
            Ok(()) => return Ok(()),
            Err(_) => "is not accessible",
        },
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => "is not accessible",
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => "is not a directory",
        Err(_) => "does not exist",
    };
    let parent = path.ancestors().skip(1).find(|parent| parent.is_dir());
    let hint = parent.map(|parent| {
        format!(
            "; the nearest directory that exists is {}",
            parent.display()
        )
    });
    Err(Error::Workdir {
        path: path.to_path_buf(),
        problem: problem.to_owned(),
        hint: hint.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_the_workdir_against_the_workspace() {
        let workspace = tempfile::tempdir().unwrap();
        std::fs::create_dir(workspace.path().join("sub")).unwrap();
        std::fs::write(workspace.path().join("file"), "").unwrap();
        let resolve = |workdir: Option<&str>| {
            let path = super::resolve(workdir.map(Path::new), workspace.path())?;
            super::check(&path).map(|()| path)
        };
        assert_eq!(resolve(None).unwrap(), workspace.path());
        assert_eq!(resolve(Some("")).unwrap(), workspace.path());
        assert_eq!(
            resolve(Some("./sub")).unwrap(),
            workspace.path().join("sub")
        );
        assert_eq!(resolve(Some("/")).unwrap(), Path::new("/"));
        let missing = resolve(Some("sub/a/b")).unwrap_err().to_string();
        let expected = format!(
            "workdir does not exist: {0}/sub/a/b; the nearest directory that exists is {0}/sub",
            workspace.path().display()
        );
        assert_eq!(missing, expected);
        assert!(
            resolve(Some("file"))
                .unwrap_err()
                .to_string()
                .starts_with("workdir is not a directory: ")
        );
        assert!(
            resolve(Some("file/x"))
                .unwrap_err()
                .to_string()
                .starts_with("workdir is not a directory: ")
        );
        assert!(resolve(Some("a\0")).is_err());
    }
}
