//! The state of a host: its store, the directory for saved outputs, and the lock that keeps other hosts from using them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_state::state_dir::{StateDir, StateDirError};

use crate::{Durability, LocalStore, Sqlite, Store, StoreError};

/// The name of the directory for saved outputs, within the state directory.
const OUTPUTS: &str = "output";

/// The name of the file with the key that signs links, within the state directory.
const LINK_KEY: &str = "links.key";

/// The open state of a host. Clones are cheap. The lock of the directory is released when the last reference to the store is dropped.
#[derive(Clone, Debug)]
pub struct HostState {
    store: Arc<dyn Store>,
    local: Arc<dyn LocalStore>,
    durability: Durability,
    /// The state directory; `None`: the state ends with the host.
    directory: Option<PathBuf>,
    outputs: Outputs,
    link_key: [u8; 32],
}

/// Where outputs are saved.
#[derive(Clone, Debug)]
pub enum Outputs {
    /// In this directory, which outlives the host.
    Kept(Arc<StateDir>),
    /// In a new directory within this one. The host removes the new directory when it ends.
    Temporary(PathBuf),
}

/// A reason why the state of a host cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum HostStateError {
    /// The state directory cannot be used, or another host uses it.
    #[error(transparent)]
    Directory(#[from] StateDirError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HostState {
    /// Opens the state that a directory keeps, and locks the directory.
    ///
    /// If the disk cannot be written, the host works on a copy of the store in memory. With [`Durability::Power`], it fails instead.
    ///
    /// # Errors
    ///
    /// If another host has the lock, the directory for outputs cannot be made, or the store cannot be used.
    pub fn open(directory: &StateDir, durability: Durability) -> Result<Self, HostStateError> {
        let lock = directory.lock()?;
        let outputs = directory.subdirectory(OUTPUTS)?;
        // A disk that cannot be written lets links end with the host.
        let new = random();
        let link_key = directory.key(LINK_KEY, new).unwrap_or(new);
        let store = Arc::new(open_store(directory, durability)?.holding(lock));
        Ok(Self {
            store: Arc::clone(&store) as Arc<dyn Store>,
            local: store,
            durability,
            directory: Some(directory.path().to_path_buf()),
            outputs: Outputs::Kept(Arc::new(outputs)),
            link_key,
        })
    }

    /// Makes a state that ends with the host. Outputs are saved in a new directory within `outputs`.
    ///
    /// # Errors
    ///
    /// If there is no memory for the store.
    pub fn temporary(outputs: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Ok(Self::on(Arc::new(Sqlite::in_memory()?), outputs))
    }

    /// Makes a state that ends with the host, on this store. Outputs are saved in a new directory within `outputs`.
    pub fn on<S: Store + LocalStore + 'static>(store: Arc<S>, outputs: impl Into<PathBuf>) -> Self {
        Self {
            store: Arc::clone(&store) as Arc<dyn Store>,
            local: store,
            durability: Durability::Host,
            directory: None,
            outputs: Outputs::Temporary(outputs.into()),
            link_key: random(),
        }
    }

    /// Returns the state of a host that shares this store with others, and keeps what belongs to its machine where it did.
    #[must_use]
    pub fn sharing(self, store: Arc<dyn Store>) -> Self {
        Self {
            // Each of the hosts takes the links of the others.
            link_key: store.link_key().unwrap_or(self.link_key),
            store,
            // A call that the store does not take must not run.
            durability: Durability::Power,
            ..self
        }
    }

    /// Returns the store of calls, chats and workspaces.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the store of the processes, temporary files and sessions of this machine.
    pub fn local(&self) -> &Arc<dyn LocalStore> {
        &self.local
    }

    /// Returns which failures the changes of a kept store survive.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the state directory; `None` if the state ends with the host.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the key that signs the links of the host.
    pub fn link_key(&self) -> [u8; 32] {
        self.link_key
    }

    /// Returns where outputs are saved.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }
}

/// Returns a new key.
#[expect(
    clippy::expect_used,
    reason = "a system without random numbers keeps no secret"
)]
fn random() -> [u8; 32] {
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the system has random numbers");
    key
}

/// Opens the store of a directory. If the disk cannot be written, and the durability allows it, opens a copy in memory.
fn open_store(directory: &StateDir, durability: Durability) -> Result<Sqlite, StoreError> {
    let opened = Sqlite::open(directory, durability);
    let Err(
        error @ (StoreError::Full { .. } | StoreError::ReadOnly { .. } | StoreError::Failed { .. }),
    ) = opened
    else {
        return opened;
    };
    if durability == Durability::Power {
        return Err(error);
    }
    let refusal = match error {
        StoreError::Full { .. } => ErrorKind::StorageFull,
        _ => ErrorKind::ReadOnlyFilesystem,
    };
    let Ok(store) = Sqlite::in_memory_of(directory, refusal) else {
        return Err(error);
    };
    tracing::warn!(
        path = %directory.path().display(),
        error = &error as &dyn std::error::Error,
        "the store cannot be written, so calls and processes are forgotten with this host: free some space or make the directory writable, and restart the host"
    );
    Ok(store)
}
