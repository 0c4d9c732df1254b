//! The directory of kept commands in the state directory: its files, and their names.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::readlinkat;
use nix::unistd::symlinkat;
use toolhost_state::state_dir::StateDir;
use uuid::Uuid;

use super::{Preparation, Spool};
use crate::process::contain::layer_namespaces::LayerNamespaces;
use crate::process::contain::terms::{KEY, Key, Terms};

/// The name of the directory, within the state directory.
const DIRECTORY: &str = "kept";

/// The file with the secret of all commands.
const SECRET: &str = "key";

/// The ends of the names of the files of a command: its socket, its spool, its end, and links to its directories.
const SOCKET: &str = "socket";
const SPOOL: &str = "output";
const END: &str = "end";
const TEMPORARY: &str = "temporary";
const LAYERS: &str = "layers";

/// The directories of a command, which must stay for as long as it runs.
#[derive(Clone, Debug, Default)]
pub(in crate::process) struct Directories {
    /// The temporary directory of its chat.
    pub(in crate::process) temporary: Option<PathBuf>,
    /// The directory for the mounts over the layers of its home.
    pub(in crate::process) layers: Option<PathBuf>,
    /// The namespaces of these mounts, if the command was taken over with them.
    pub(in crate::process) namespaces: Option<Arc<LayerNamespaces>>,
}

/// The directory in which hosts leave what the next one needs to take their commands over. Its owner alone can use it. Everything here
/// blocks on the disk.
#[derive(Debug)]
pub(in crate::process) struct Place {
    directory: StateDir,
    key: Key,
}

impl Place {
    /// Opens the directory, or makes it.
    pub(in crate::process) fn open(state: &Path) -> io::Result<Self> {
        let state = StateDir::open(state).map_err(io::Error::other)?;
        let directory = state.subdirectory(DIRECTORY).map_err(io::Error::other)?;
        Self::within(directory)
    }

    /// Opens the directory; `None` if no host has ever kept a command in this state directory.
    pub(in crate::process) fn existing(state: &Path) -> io::Result<Option<Self>> {
        let state = StateDir::open(state).map_err(io::Error::other)?;
        let directory = state.existing_subdirectory(DIRECTORY);
        let directory = directory.map_err(io::Error::other)?;
        directory.map(Self::within).transpose()
    }

    fn within(directory: StateDir) -> io::Result<Self> {
        let read = || directory.read(SECRET, KEY as u64);
        let key = match read()? {
            Some(key) => key,
            None => {
                let [a, b] = [Uuid::new_v4(), Uuid::new_v4()];
                directory.create(SECRET, &[a.into_bytes(), b.into_bytes()].concat())?;
                read()?.unwrap_or_default()
            }
        };
        let key = key.first_chunk().copied().map(Key).ok_or_else(|| {
            let path = directory.path().join(SECRET);
            io::Error::other(format!("{} is damaged: remove it", path.display()))
        })?;
        Ok(Self { directory, key })
    }

    pub(in crate::process::contain) fn key(&self) -> Key {
        self.key
    }

    /// Makes the files of a command that is about to start, which is kept for this time, and of whose output this number of bytes can be
    /// saved.
    pub(in crate::process) fn prepare(
        &self,
        id: &str,
        time: Duration,
        saved: u64,
    ) -> io::Result<Preparation> {
        let prepare = || {
            let listener = UnixListener::bind(self.socket(id))?;
            listener.set_nonblocking(true)?;
            Ok(Preparation {
                terms: Terms::new(time, saved, self.key),
                listener: listener.into(),
                spool: Spool::new(self.directory.create_file(&name(id, SPOOL))?),
                end: self.directory.create_file(&name(id, END))?.into(),
            })
        };
        prepare()
    }

    /// Notes the directories of a command.
    pub(in crate::process) fn note(&self, id: &str, directories: &Directories) -> io::Result<()> {
        let noted = [
            (TEMPORARY, &directories.temporary),
            (LAYERS, &directories.layers),
        ];
        for (kind, directory) in noted {
            let name = name(id, kind);
            self.directory.remove(&name)?;
            if let Some(directory) = directory {
                symlinkat(directory, &self.directory, name.as_str())?;
            }
        }
        Ok(())
    }

    /// Returns the directories of a command that were noted.
    pub(in crate::process) fn directories(&self, id: &str) -> io::Result<Directories> {
        let read = |kind| match readlinkat(&self.directory, name(id, kind).as_str()) {
            Ok(directory) => Ok(Some(directory.into())),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(io::Error::from(errno)),
        };
        Ok(Directories {
            temporary: read(TEMPORARY)?,
            layers: read(LAYERS)?,
            namespaces: None,
        })
    }

    /// Returns the file that tells the end of a command, which its supervisor wrote; `None` if it was not kept.
    pub(in crate::process::contain) fn end(&self, id: &str) -> io::Result<Option<File>> {
        self.directory.open_file(&name(id, END))
    }

    /// Returns the spool of a command that has no supervisor any more, for reading.
    pub(in crate::process::contain) fn spool(&self, id: &str) -> io::Result<Option<Spool>> {
        let file = self.directory.open_file(&name(id, SPOOL))?;
        Ok(file.map(Spool::new))
    }

    /// Returns the path of a socket. It is short: the path of a socket has at most 107 bytes, and the state directory can be anywhere.
    pub(in crate::process::contain) fn socket(&self, id: &str) -> PathBuf {
        let directory = self.directory.as_fd().as_raw_fd();
        format!("/proc/self/fd/{directory}/{}", name(id, SOCKET)).into()
    }

    /// Removes the files of a command.
    pub(in crate::process) fn remove(&self, id: &str) {
        for kind in [SOCKET, SPOOL, END, TEMPORARY, LAYERS] {
            if let Err(error) = self.directory.remove(&name(id, kind)) {
                tracing::warn!(process = id, %error, "a file of a kept command cannot be removed");
            }
        }
    }

    /// Returns the ids of all commands that have a file.
    pub(in crate::process) fn ids(&self) -> io::Result<Vec<String>> {
        let entries = self.directory.entries()?.into_iter();
        let mut ids: Vec<_> = entries
            .filter_map(|entry| Some(entry.name.split_once('.')?.0.to_owned()))
            .filter(|id| is_id(id))
            .collect();
        ids.sort();
        ids.dedup();
        Ok(ids)
    }
}

fn name(id: &str, kind: &str) -> String {
    format!("{id}.{kind}")
}

/// Returns whether a name may be a part of a file's name. All ids are UUIDs, but those of the store are only read.
pub(in crate::process::contain) fn is_id(id: &str) -> bool {
    Uuid::try_parse(id).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_files_of_commands_and_one_secret() {
        let base = tempfile::tempdir().unwrap();
        // Longer than the path of a socket can be.
        let state = base.path().join("s".repeat(120));
        assert!(Place::existing(&state).unwrap().is_none());
        let place = Place::open(&state).unwrap();
        let id = Uuid::new_v4().to_string();
        let time = Duration::from_secs(5);
        let prepared = place.prepare(&id, time, 10).unwrap();
        assert_eq!(prepared.terms.time(), time);
        place.prepare(&id, time, 10).unwrap_err();
        assert_eq!(place.ids().unwrap(), [id.as_str()]);
        let noted = || {
            let noted = place.directories(&id).unwrap();
            (noted.temporary, noted.layers)
        };
        assert_eq!(noted(), (None, None));
        for layers in [Some(PathBuf::from("/layers")), None] {
            for temporary in ["/a", "/b"].map(|path| Some(PathBuf::from(path))) {
                let directories = Directories {
                    temporary: temporary.clone(),
                    layers: layers.clone(),
                    namespaces: None,
                };
                place.note(&id, &directories).unwrap();
                assert_eq!(noted(), (temporary, layers.clone()));
            }
        }
        let again = Place::existing(&state).unwrap().unwrap();
        assert!(again.key() == place.key() && place.key() != Key::default());
        place.remove(&id);
        assert_eq!(again.ids().unwrap(), [""; 0]);
    }
}
