//! The layers of homes: one mount for each, which all chats of a workspace share.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use toolhost_sandbox::{LayerMounts, LayerPlace, Plan};

use crate::process::contain::{Directories, LayerNamespaces};
use crate::process::{Spawner, shortage};

/// The layers of all homes that are in use.
#[derive(Debug, Default)]
pub(super) struct AllLayers {
    /// By the home, and whether they are those of the home.
    homes: Mutex<HashMap<(PathBuf, bool), Used>>,
}

/// The layers of a home that is in use.
#[derive(Debug)]
struct Used {
    layers: Arc<HomeLayers>,
    /// By how many sandboxes.
    users: usize,
    /// By which commands of an earlier host. They are gone when the commands have ended.
    kept: Vec<Weak<Directories>>,
    /// The locks on the directory for the mounts, and on the layers of the home if they are written.
    _locks: (File, Option<File>),
}

/// The layers of a home.
#[derive(Debug)]
pub(super) struct HomeLayers {
    all: Weak<AllLayers>,
    home: PathBuf,
    place: LayerPlace,
    mounted: Mutex<Mounted>,
}

/// The mounts over layers.
#[derive(Debug, Default)]
struct Mounted {
    /// The directories that have layers.
    covered: BTreeSet<PathBuf>,
    /// `None`: no layer is mounted yet.
    namespaces: Option<Arc<LayerNamespaces>>,
}

impl AllLayers {
    /// Returns the layers of a home. The caller has to [`HomeLayers::release`] them. `are_taken`: commands of an earlier host may write there.
    pub(super) fn of(
        self: &Arc<Self>,
        home: &Path,
        are_taken: bool,
    ) -> io::Result<Arc<HomeLayers>> {
        let mut homes = self.homes.lock();
        let unused = homes.extract_if(|_, used| !used.is_used());
        unused.for_each(|(_, used)| used.layers.take_away());
        let of = |is_first| (home.to_path_buf(), is_first);
        if let Some(used) = homes.get_mut(&of(true)) {
            return Ok(used.take());
        }
        let lock = match lock_home(home) {
            Ok(lock) => Some(lock).filter(|_| !are_taken),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        let is_first = lock.is_some();
        if !is_first && let Some(used) = homes.get_mut(&of(false)) {
            return Ok(used.take());
        }
        let (work, lock_of_work) = super::homes::make_work(home)?;
        let layers = Arc::new(HomeLayers {
            all: Arc::downgrade(self),
            home: home.to_path_buf(),
            place: LayerPlace { work, is_first },
            mounted: Mutex::default(),
        });
        let used = Used {
            layers: Arc::clone(&layers),
            users: 1,
            kept: Vec::new(),
            _locks: (lock_of_work, lock),
        };
        homes.insert(of(is_first), used);
        Ok(layers)
    }

    /// Has chats share the layers that a command of an earlier host uses. Returns `false` if they cannot: the layers do not hide all that is
    /// closed now, or this host cannot join their namespaces.
    pub(super) fn adopt(
        self: &Arc<Self>,
        kept: &Arc<Directories>,
        plan: &Plan<'_>,
        spawner: &Spawner,
    ) -> bool {
        let (Some(work), Some(namespaces)) = (&kept.layers, &kept.namespaces) else {
            return false;
        };
        let mut homes = self.homes.lock();
        let by = Arc::downgrade(kept);
        if let Some(used) = homes
            .values_mut()
            .find(|used| used.layers.place.work == *work)
        {
            used.kept.push(by);
            return true;
        }
        let place = plan.earlier_layers(work);
        let (Some(place), Some((home, lock))) = (place, super::homes::home_of(work)) else {
            return false;
        };
        let of_home = place.is_first.then(|| lock_home(&home));
        let is_free = !matches!(of_home, Some(Err(_)))
            && !homes.contains_key(&(home.clone(), place.is_first));
        if !is_free
            || spawner
                .mount(&LayerMounts::default(), Some(namespaces))
                .is_err()
        {
            return false;
        }
        let mounted = Mounted {
            namespaces: Some(Arc::clone(namespaces)),
            ..Mounted::default()
        };
        let key = (home.clone(), place.is_first);
        let layers = Arc::new(HomeLayers {
            all: Arc::downgrade(self),
            home,
            place,
            mounted: Mutex::new(mounted),
        });
        let used = Used {
            layers,
            users: 0,
            kept: vec![by],
            _locks: (lock, of_home.and_then(Result::ok)),
        };
        homes.insert(key, used);
        true
    }

    /// Takes all mounts away, and what they needed. All commands must have ended.
    pub(super) fn close(&self) {
        for (_, used) in self.homes.lock().drain() {
            used.layers.take_away();
        }
    }
}

/// Locks the layers of a home for the one host that writes into them.
fn lock_home(home: &Path) -> Result<File, TryLockError> {
    let lock = File::create(home.join("lock")).map_err(TryLockError::Error)?;
    lock.try_lock().map(|()| lock)
}

impl Used {
    fn is_used(&self) -> bool {
        self.users > 0 || self.kept.iter().any(|kept| kept.strong_count() > 0)
    }

    fn take(&mut self) -> Arc<HomeLayers> {
        self.users += 1;
        Arc::clone(&self.layers)
    }
}

impl HomeLayers {
    /// Notes that no command of a sandbox runs any more. The last one takes the mounts away, and what they needed.
    pub(super) fn release(&self) {
        let Some(all) = self.all.upgrade() else {
            return;
        };
        let mut homes = all.homes.lock();
        let key = (self.home.clone(), self.place.is_first);
        let Some(used) = homes.get_mut(&key) else {
            return;
        };
        used.users -= 1;
        if !used.is_used() {
            homes.remove(&key);
            self.take_away();
        }
    }

    fn take_away(&self) {
        self.mounted.lock().namespaces = None;
        super::remove(&self.place.work);
    }

    pub(super) fn namespaces(&self) -> Option<Arc<LayerNamespaces>> {
        self.mounted.lock().namespaces.clone()
    }

    pub(super) fn place(&self) -> LayerPlace {
        self.place.clone()
    }

    /// Mounts the layers of a plan, unless they are. `None`: the plan needs none.
    pub(super) fn mount(
        &self,
        plan: &Plan<'_>,
        spawner: &Spawner,
    ) -> io::Result<Option<Arc<LayerNamespaces>>> {
        let mut mounted = self.mounted.lock();
        let mounts = LayerMounts::of(plan, &mounted.covered)?;
        if !mounts.is_empty() {
            let namespaces = spawner.mount(&mounts, mounted.namespaces.as_deref())?;
            mounted.covered.extend(mounts.lent());
            mounted.namespaces = Some(Arc::new(namespaces));
        }
        Ok(mounted.namespaces.clone())
    }
}

/// Returns why this machine cannot show files in layers, with those that commands write in this directory; `None` if it can. It must have
/// namespaces.
///
/// # Errors
///
/// If the directory cannot be written, or the machine is short of something.
pub fn lack_of_layers(directory: &Path, spawner: &Spawner) -> io::Result<Option<io::Error>> {
    let trial = tempfile::Builder::new()
        .prefix("trial")
        .tempdir_in(directory)?;
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(trial.path().join(name))?;
    }
    let result = spawner.mount(&LayerMounts::trial(trial.path()), None);
    _ = crate::removal::remove(trial.path());
    match result {
        Ok(_) => Ok(None),
        Err(error) if shortage::of_namespaces(&error).is_some() => Err(error),
        Err(error) => Ok(Some(error)),
    }
}
