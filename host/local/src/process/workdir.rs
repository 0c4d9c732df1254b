//! The directory that a command runs in.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

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
/// `root` is the root of what commands see, unless that is the one of this machine: the text must not tell what else is there.
///
/// # Errors
///
/// [`Error::Workdir`] if it does not exist, is not a directory, or cannot be entered; the text names the nearest parent
/// that does exist.
pub(super) fn check(path: &Path, root: Option<&OwnedFd>) -> Result<(), Error> {
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match root {
            Some(root) => openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT),
            None => openat(CWD, path, flags, Mode::empty()),
        }
    };
    // The kernel looks up a name in a directory only for those who may enter it.
    let problem = match open(&path.join(".")) {
        Ok(_) => return Ok(()),
        Err(Errno::ACCESS) => "is not accessible",
        Err(Errno::NOTDIR) => "is not a directory",
        Err(_) => "does not exist",
    };
    let mut above = path.ancestors().skip(1);
    let parent = above.find(|above| open(above).is_ok());
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
            super::check(&path, None).map(|()| path)
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

    /// A caller that names a directory must not learn what else is on this machine.
    #[test]
    fn what_commands_do_not_see_does_not_exist() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        let seen = root.join("seen");
        for directory in ["seen/own", "other/there"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for (link, to) in [("one", "other/there"), ("two", "other/nowhere")] {
            std::os::unix::fs::symlink(root.join(to), seen.join(link)).unwrap();
        }
        let view = std::fs::File::open(&seen).unwrap().into();
        let said = |path: &str| {
            let checked = super::check(Path::new(path), Some(&view));
            checked.unwrap_err().to_string()
        };
        let there = root.join("other/there");
        let hint = "; the nearest directory that exists is /";
        for path in ["/one", "/two", there.to_str().unwrap()] {
            assert_eq!(said(path), format!("workdir does not exist: {path}{hint}"));
        }
        super::check(Path::new("/own"), Some(&view)).unwrap();
    }
}
