//! The files that `toolhost init` makes: shown before, for their owner alone, and never over other files.

use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use toolhost_state::trusted;

/// A file that is about to be made.
#[derive(Debug)]
pub(super) struct Planned {
    path: PathBuf,
    text: String,
    /// The text that is shown in place of a secret.
    instead: Option<&'static str>,
}

impl Planned {
    /// Plans a file whose text is shown.
    pub(super) fn shown(path: &Path, text: String) -> Self {
        let path = path.to_owned();
        Self {
            path,
            text,
            instead: None,
        }
    }

    /// Plans a file with a secret.
    pub(super) fn hidden(path: &Path, secret: String, instead: &'static str) -> Self {
        Self {
            instead: Some(instead),
            ..Self::shown(path, secret + "\n")
        }
    }

    fn write(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)?;
        let written = file.write_all(self.text.as_bytes());
        if written.is_err() {
            _ = std::fs::remove_file(&self.path);
        }
        written
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.path.display())?;
        let lines = self.instead.unwrap_or(&self.text).lines();
        for line in lines {
            let indentation = if line.is_empty() { "" } else { "  " };
            write!(formatter, "\n{indentation}{line}")?;
        }
        Ok(())
    }
}

/// Makes the files, and their directory if it is missing. If one of them cannot be made, removes the others again.
pub(super) fn write(directory: &Path, planned: &[Planned]) -> anyhow::Result<()> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    made.with_context(|| format!("cannot make {}", directory.display()))?;
    // A server would refuse what is in it.
    trusted::check_directory(directory)?;
    for (index, file) in planned.iter().enumerate() {
        if let Err(error) = file.write() {
            for earlier in planned.iter().take(index) {
                _ = std::fs::remove_file(&earlier.path);
            }
            return Err(error).with_context(|| format!("cannot write {}", file.path.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn all_files_are_private_or_none_is_made() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("a/b");
        let plan = |name: &str| Planned::shown(&directory.join(name), "x\n\ny\n".to_owned());
        let secret = Planned::hidden(&directory.join("token"), "t0ken".to_owned(), "a token");
        write(&directory, &[plan("one"), secret]).unwrap();
        for (name, text) in [("one", "x\n\ny\n"), ("token", "t0ken\n")] {
            let path = directory.join(name);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600);
        }
        write(&directory, &[plan("two"), plan("one")]).unwrap_err();
        assert!(!directory.join("two").exists());
    }

    #[test]
    fn nothing_is_made_where_others_write() {
        let directory = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let file = Planned::shown(&directory.path().join("one"), String::new());
        write(directory.path(), &[file]).unwrap_err();
        assert!(!directory.path().join("one").exists());
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Planned::hidden(Path::new("/t"), "t0ken".to_owned(), "a token");
        assert_eq!(secret.to_string(), "/t:\n  a token");
        let shown = Planned::shown(Path::new("/c"), "a\n\nb\n".to_owned());
        assert_eq!(shown.to_string(), "/c:\n  a\n\n  b");
    }
}
