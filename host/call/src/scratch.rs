//! Scratch directories: a directory of the workspace for the files of one call, which the host removes at the end of the call.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::unix_time;
use toolhost_workspace::files::{CpuAccount, Error, MAX_ENTRIES, Precondition, Write};
use toolhost_workspace::operation::RemoveFile;
use toolhost_workspace::{Context, Workspace};

/// The directory of all scratch directories, relative to the workspace.
const ALL: &str = ".toolhost/scratch";

/// The file that keeps a scratch directory out of version control.
const IGNORE: &str = ".gitignore";

/// The file that says that links lead into a scratch directory.
const SHARED: &str = ".shared";

/// The days after which a scratch directory is removed that its call left: more than the longest life of a link.
const DAYS: u64 = 8;

/// The most old directories that are removed at once.
const SWEPT: usize = 16;

/// The longest removal that the end of a call waits for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The scratch directory of a call.
#[derive(Debug)]
pub struct Scratch {
    workspace: Arc<dyn Workspace>,
    path: PathBuf,
}

/// The name of a scratch directory: the day on which it was made, in days since 1970, and a digest of its call. So a repeat of the call
/// finds it, and a later call sees how old it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name {
    day: u64,
    call: u64,
}

impl Name {
    fn of(chat: &ChatId, call: &CallId) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [chat.as_str(), call.as_str()] {
            // No id has this byte.
            hasher.update(part.as_bytes()).update(&[0]);
        }
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        Self {
            day: unix_time::now_ms() / 1000 / 86_400,
            call: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (day, call) = text.split_once('-')?;
        let name = Self {
            day: day.parse().ok()?,
            call: u64::from_str_radix(call, 16).ok()?,
        };
        (name.to_string() == text).then_some(name)
    }

    fn path(self) -> String {
        format!("{ALL}/{self}")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{:016x}", self.day, self.call)
    }
}

impl Scratch {
    /// Makes the scratch directory of a call, or finds that of an earlier run of the call. Removes some directories that earlier calls left.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn make(
        workspace: Arc<dyn Workspace>,
        chat: &ChatId,
        call: &CallId,
        work: &Arc<CpuAccount>,
    ) -> Result<Self, Error> {
        let mut name = Name::of(chat, call);
        let today = name.day;
        let there = workspace.read_directory(ALL.into(), None, MAX_ENTRIES, Arc::clone(work));
        let there = match there.await {
            Ok((entries, _)) => entries,
            Err(Error::NotFound) => Vec::new(),
            Err(error) => return Err(error),
        };
        let names = there.iter().filter_map(|entry| Name::parse(&entry.name));
        let (earlier, others): (Vec<_>, Vec<_>) = names.partition(|other| other.call == name.call);
        if let Some(earlier) = earlier.first() {
            name = *earlier;
        }
        let is_old = |other: &Name| other.day + DAYS < today;
        for old in others.into_iter().filter(is_old).take(SWEPT) {
            if let Err(error) = remove(&*workspace, old.path()).await {
                tracing::warn!(directory = %old, %error, "an old scratch directory was not removed");
            }
        }
        let ignore = Write {
            path: format!("{}/{IGNORE}", name.path()),
            data: b"*\n".to_vec(),
            when: Precondition::Any,
        };
        let written = workspace.write_files(vec![ignore], Arc::clone(work)).await;
        let written = written.map_err(|(_, error)| error)?;
        let path = written.first().and_then(|file| file.path.parent());
        let path = path.ok_or(Error::NotFound)?.to_owned();
        Ok(Self { workspace, path })
    }

    /// Returns its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with all that is in it, unless a file of it was shared: see [`keep`].
    pub async fn end(&self) {
        let path = self.path.to_string_lossy();
        let ended = async {
            let shared = format!("{path}/{SHARED}");
            match self.workspace.metadata(shared, Arc::default()).await {
                Ok(_) => Ok(()),
                Err(Error::NotFound) => remove(&*self.workspace, path.to_string()).await,
                Err(error) => Err(error),
            }
        };
        match tokio::time::timeout(PATIENCE, ended).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(directory = %path, %error, "a scratch directory was not removed");
            }
            Err(_) => {
                tracing::warn!(directory = %path, "a scratch directory is still being removed")
            }
        }
    }
}

async fn remove(workspace: &dyn Workspace, path: String) -> Result<(), Error> {
    let remove = RemoveFile {
        path,
        recursive: true,
        when: Precondition::Any,
    };
    match workspace.run(&Context::default(), remove).await {
        // A command, or an earlier run of the call, has removed it.
        Ok(()) | Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Keeps the scratch directory of a shared file beyond the end of its call, as long as a link may lead there. `path` is the absolute path of
/// the file. Nothing is done for a file that is in no scratch directory.
///
/// # Errors
///
/// See [`Error`].
pub async fn keep(
    workspace: &dyn Workspace,
    path: &Path,
    work: &Arc<CpuAccount>,
) -> Result<(), Error> {
    let Some(directory) = directory_of(path) else {
        return Ok(());
    };
    let mark = Write {
        path: directory.join(SHARED).to_string_lossy().into_owned(),
        data: Vec::new(),
        when: Precondition::Any,
    };
    let written = workspace.write_files(vec![mark], Arc::clone(work)).await;
    written.map(|_| ()).map_err(|(_, error)| error)
}

/// Returns the scratch directory that a file is in.
fn directory_of(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|directory| {
        let name = directory.file_name().and_then(|name| name.to_str());
        name.and_then(Name::parse).is_some()
            && directory.parent().is_some_and(|all| all.ends_with(ALL))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_call() {
        let name =
            |chat: &str, call: &str| Name::of(&chat.parse().unwrap(), &call.parse().unwrap());
        assert_eq!(name("a", "1.0").to_string(), name("a", "1.0").to_string());
        assert_ne!(name("a", "b1").call, name("ab", "1").call);
        let text = name("a", "1.0").to_string();
        assert_eq!(Name::parse(&text).unwrap().to_string(), text);
        for other in [
            "",
            "a",
            "1-",
            "+1-0000000000000000",
            "1-0",
            "1-000000000000000G",
            "..",
            "1-FFFFFFFFFFFFFFFF",
        ] {
            assert!(Name::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_directory_of_a_file_is_found() {
        let scratch = "/w/.toolhost/scratch/20786-00000000000000ff";
        for file in ["a", "b/c.png"] {
            let file = format!("{scratch}/{file}");
            assert_eq!(directory_of(Path::new(&file)), Some(Path::new(scratch)));
        }
        for file in [
            scratch,
            "/w/.toolhost/scratch/a/b",
            "/w/20786-00000000000000ff/a",
            "/",
        ] {
            assert_eq!(directory_of(Path::new(file)), None, "{file}");
        }
    }
}
