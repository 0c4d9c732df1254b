//! The state of a host: its store, the place for saved outputs, and the lock that keeps other hosts away from both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_state::state_dir::{StateDir, StateDirError};

use crate::{Durability, Sqlite, Store, StoreError};

/// The directory for saved outputs in the state directory.
const OUTPUTS: &str = "output";

/// The open state of a host. Cheap to clone. The lock of the directory is given back with the last reference to the store.
#[derive(Clone, Debug)]
pub struct HostState {
    store: Arc<dyn Store>,
    durability: Durability,
    /// `None`: the state ends with the host.
    directory: Option<PathBuf>,
    outputs: Outputs,
}

/// The place for saved outputs.
#[derive(Clone, Debug)]
pub enum Outputs {
    /// This directory, which outlives the host.
    Kept(Arc<StateDir>),
    /// A directory that is made in this one, and removed with the host.
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
    /// If the disk takes nothing, a store in memory knows the same, unless the durability is [`Durability::Power`].
    ///
    /// # Errors
    ///
    /// If another host has the lock, the directory for outputs cannot be made, or the store cannot be used.
    pub fn open(directory: &StateDir, durability: Durability) -> Result<Self, HostStateError> {
        let lock = directory.lock()?;
        let outputs = directory.subdirectory(OUTPUTS)?;
        let store = open_store(directory, durability)?.holding(lock);
        Ok(Self {
            store: Arc::new(store),
            durability,
            directory: Some(directory.path().to_path_buf()),
            outputs: Outputs::Kept(Arc::new(outputs)),
        })
    }

    /// Makes a state that ends with the host. Outputs are saved in a directory of their own below this one.
    ///
    /// # Errors
    ///
    /// If there is no memory for the store.
    pub fn temporary(outputs: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Ok(Self {
            store: Arc::new(Sqlite::in_memory()?),
            durability: Durability::Host,
            directory: None,
            outputs: Outputs::Temporary(outputs.into()),
        })
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the failures that changes of the store survive, if the state is kept.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the state directory; `None` if the state ends with the host.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the place for saved outputs.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }
}

/// Opens the store of a directory. If its disk takes nothing, and changes need not survive the machine, opens a copy in memory.
fn open_store(directory: &StateDir, durability: Durability) -> Result<Sqlite, StoreError> {
    let opened = Sqlite::open(directory, durability);
    let Err(error @ (StoreError::Full | StoreError::ReadOnly | StoreError::Failed { .. })) = opened
    else {
        return opened;
    };
    if durability == Durability::Power {
        return Err(error);
    }
    let Ok(store) = Sqlite::in_memory_of(Some(directory)) else {
        return Err(error);
    };
    tracing::warn!(
        path = %directory.path().display(),
        error = &error as &dyn std::error::Error,
        "calls and processes are forgotten with this host: make room for their store, and start the host again"
    );
    Ok(store)
}
