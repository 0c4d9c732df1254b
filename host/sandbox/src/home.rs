//! The home of a workspace: what its commands write into their home, and over what the user's home lends them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use toolhost_state::closed::Closed;

use crate::below;

/// A home of a workspace. Its files stay with the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Where commands see it: the path of the user's home.
    path: PathBuf,
    /// The directory that has the home and the layers.
    directory: PathBuf,
    /// Where the layers are; `None`: this machine has no layers.
    layers: Option<LayerPlace>,
}

/// Where the layers of a home are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPlace {
    /// A directory beside the home, on the same mount, for what overlayfs needs. Only one [`crate::LayerMounts`] may use it.
    pub work: PathBuf,
    /// Whether commands write into the layers of the home. Only one mount of a layer may be written at a time. With another one, commands
    /// see the layers, and write into others on top, in `work`.
    pub is_first: bool,
}

impl LayerPlace {
    /// Returns the place of mounts that an earlier host made in this directory. `None` if they show a closed path of what is lent.
    pub(crate) fn of_earlier<'a>(
        work: &Path,
        mut lent: impl Iterator<Item = &'a Path>,
        never: &Closed,
    ) -> Option<Self> {
        let is_marked = |mark: &Path| {
            mark.symlink_metadata()
                .is_ok_and(|found| found.file_type().is_char_device())
        };
        let hides = |lent: &Path| {
            let layer = closed_in(work, lent);
            // It was not lent then, so that nothing is mounted over it.
            !layer.is_dir() || marks(lent, never).all(|(below, _)| is_marked(&layer.join(below)))
        };
        lent.all(hides).then(|| Self {
            is_first: !work.join(UPPER).exists(),
            work: work.to_path_buf(),
        })
    }
}

/// The directories of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The directories beneath, the topmost first.
    pub(crate) lower: Vec<PathBuf>,
    /// The directory in which the files are that commands write.
    pub(crate) upper: PathBuf,
    /// The directory that overlayfs needs for itself. Each mount needs its own: it empties the directory.
    pub(crate) work: PathBuf,
}

/// The directory of layers on top of those of the home, in the directory for overlayfs.
const UPPER: &str = "upper";

/// The directory of the layers that hide closed paths, in the directory for overlayfs. No command writes there.
const CLOSED: &str = "closed";

/// The most bytes of a file of the user's home that a new home gets as a copy.
const MOST_COPIED: u64 = 1 << 20;

impl Home {
    /// Opens a home, as [`crate::Places::open_home`] does.
    pub(crate) fn open<'a>(
        directory: &Path,
        layers: Option<LayerPlace>,
        user_home: Option<&Path>,
        lent: impl Iterator<Item = &'a Path>,
    ) -> io::Result<Option<Self>> {
        let Some(path) = user_home else {
            return Ok(None);
        };
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if path.parent().is_none() {
            return Ok(None);
        }
        let home = Self {
            path,
            directory: directory.to_path_buf(),
            layers,
        };
        if !home.files().is_dir() {
            let new = directory.join("new");
            make(&new)?;
            for lent in lent {
                let lent = lent.strip_prefix(&home.path);
                // A copy that cannot be made is no reason to run no command.
                _ = lent.map(|below| copy(&home.path.join(below), &new.join(below)));
            }
            match fs::rename(&new, home.files()) {
                // Another chat of the workspace has made it.
                Err(_) if home.files().is_dir() => {}
                renamed => renamed?,
            }
        }
        Ok(Some(home))
    }

    /// Returns the path at which commands in namespaces see the home.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory with the files of the home.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.directory.join("files")
    }

    /// Returns whether commands may have written into layers that are not those of the home.
    #[must_use]
    pub fn has_own_files(&self) -> bool {
        let Some(LayerPlace {
            work,
            is_first: false,
        }) = &self.layers
        else {
            return false;
        };
        let has_files = || -> io::Result<bool> {
            for layer in fs::read_dir(work.join(UPPER))? {
                if fs::read_dir(layer?.path())?.next().is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        // To look takes descriptors, of which there may be none.
        has_files().unwrap_or(true)
    }

    /// Returns the layer over a directory that is lent; `None` if this machine has no layers.
    pub(crate) fn layer(&self, lent: &Path) -> Option<Layer> {
        let LayerPlace { work, is_first } = self.layers.as_ref()?;
        let own = work.join(UPPER).join(name_for(lent));
        let (upper, beneath) = match is_first {
            true => (self.own(lent), None),
            false => (own, Some(self.own(lent))),
        };
        let closed = closed_in(work, lent);
        let lower = beneath.into_iter().chain([closed, lent.to_path_buf()]);
        Some(Layer {
            lower: lower.collect(),
            work: work.join(name_for(lent)),
            upper,
        })
    }

    /// Returns the directory of what commands write into a directory that is lent.
    pub(crate) fn own(&self, lent: &Path) -> PathBuf {
        self.directory.join("layers").join(name_for(lent))
    }

    /// Makes a place in the home for a directory that a view shows there.
    pub(crate) fn make_place(&self, shown: &Path) -> io::Result<()> {
        match shown.strip_prefix(&self.path) {
            Ok(below) if shown.is_dir() => {
                // The view decides what comes of a place that something else takes.
                below::make(&self.files(), below, Mode::RWXU)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes the directory of what commands write into a directory that is lent.
    pub(crate) fn make_own(&self, lent: &Path) -> io::Result<()> {
        make_upper(&self.own(lent), lent)
    }

    /// Makes the layers over a directory that is lent. Closed paths are as if they had been removed. `None` if this machine has no layers.
    pub(crate) fn make_layer(&self, lent: &Path, never: &Closed) -> io::Result<Option<Layer>> {
        let (Some(layer), Some(place)) = (self.layer(lent), &self.layers) else {
            return Ok(None);
        };
        make(&layer.work)?;
        make_upper(&layer.upper, lent)?;
        hide_closed(lent, &closed_in(&place.work, lent), never)?;
        Ok(Some(layer))
    }
}

/// Returns the layer that hides the closed paths of a directory, in the directory for overlayfs.
fn closed_in(work: &Path, lent: &Path) -> PathBuf {
    work.join(CLOSED).join(name_for(lent))
}

/// Makes an upper directory, unless it is there. Its mode is that of what is shown.
fn make_upper(upper: &Path, lent: &Path) -> io::Result<()> {
    if upper.is_dir() {
        return Ok(());
    }
    make(upper)?;
    fs::set_permissions(upper, lent.metadata()?.permissions())
}

/// Marks the closed paths of a directory as removed in a layer above it, also those that do not exist yet. A mark is a device with the number
/// 0, as overlayfs makes it.
///
/// The layer must not be one in which commands write: a directory of theirs in place of a mark would be merged with the closed one, and they
/// could remove the mark of a path that does not exist yet.
fn hide_closed(lent: &Path, layer: &Path, never: &Closed) -> io::Result<()> {
    make(layer)?;
    let mut made = vec![lent];
    for (below, parent) in marks(lent, never) {
        let mark = layer.join(below);
        mark.parent().map(make).transpose()?;
        match mknodat(CWD, &mark, FileType::CharacterDevice, Mode::empty(), 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        made.extend(parent.ancestors().take_while(|above| *above != lent));
    }
    // The modes of these directories are seen, where the layers above have none of the name.
    made.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
    for directory in made {
        if let (Ok(found), Ok(below)) = (directory.metadata(), directory.strip_prefix(lent)) {
            fs::set_permissions(layer.join(below), found.permissions())?;
        }
    }
    Ok(())
}

/// Returns the paths below a directory at which its layer has a mark, each with the closed path's parent.
fn marks<'a>(lent: &'a Path, never: &'a Closed) -> impl Iterator<Item = (&'a Path, &'a Path)> {
    never.below(lent).filter_map(move |closed| {
        let (below, parent) = (closed.strip_prefix(lent).ok()?, closed.parent()?);
        // A closed directory hides what is closed in it, and so does a file in place of a directory.
        let is_hidden =
            never.covers(parent) || parent.symlink_metadata().is_ok_and(|found| !found.is_dir());
        (!is_hidden).then_some((below, parent))
    })
}

/// Copies a file or a link of the user's home. A directory is not copied.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    to.parent().map(make).transpose()?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_file() && found.len() <= MOST_COPIED {
        fs::copy(from, to)?;
        fs::set_permissions(to, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Makes a directory of this user, with those above it.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Returns the name of a directory that belongs to a path: 32 characters of its digest. A path can be longer than a name.
#[must_use]
pub fn name_for(path: &Path) -> String {
    const LENGTH: usize = 32;
    let mut name = blake3::hash(path.as_os_str().as_bytes())
        .to_hex()
        .to_string();
    name.truncate(LENGTH);
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::places::{Lent, Places};
    use crate::plan::Plan;
    use crate::policy::Policy;
    use crate::view::LayerMounts;

    struct Setup {
        directory: tempfile::TempDir,
        places: Places,
    }

    impl Setup {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let user = directory.path().join("user");
            for file in [".cargo/bin/cargo", ".cargo/credentials.toml", ".gitconfig"] {
                let file = user.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "theirs").unwrap();
            }
            symlink("/usr/share", user.join(".profile")).unwrap();
            let lent = [".cargo", ".gitconfig", ".profile", ".none"];
            let lent = lent.map(|name| Lent {
                path: user.join(name),
                ..Lent::default()
            });
            let places = Places {
                lent: lent.into(),
                never: [".cargo/credentials.toml", ".cargo/later"]
                    .map(|path| user.join(path))
                    .into(),
                user_home: Some(user),
                ..Places::default()
            };
            Self { directory, places }
        }

        fn open(&self) -> Home {
            let directory = self.directory.path().join("home");
            let layers = LayerPlace {
                work: directory.join("work"),
                is_first: true,
            };
            self.places
                .open_home(&directory, Some(layers))
                .unwrap()
                .unwrap()
        }
    }

    fn prepare(plan: &Plan<'_>) {
        plan.prepare_home().unwrap();
        LayerMounts::of(plan, &BTreeSet::new()).unwrap();
    }

    #[test]
    fn a_new_home_has_copies_of_the_files_that_are_lent() {
        let setup = Setup::new();
        let files = setup.open().files();
        let read = |name: &str| fs::read_to_string(files.join(name));
        assert_eq!(read(".gitconfig").unwrap(), "theirs");
        assert_eq!(
            fs::read_link(files.join(".profile")).unwrap(),
            Path::new("/usr/share")
        );
        assert!(!files.join(".cargo/credentials.toml").exists());
        // What commands removed stays away.
        fs::remove_file(files.join(".gitconfig")).unwrap();
        assert_eq!(setup.open().files(), files);
        assert!(read(".gitconfig").is_err());
    }

    #[test]
    fn closed_paths_are_removed_in_a_layer() {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let mut setup = Setup::new();
        let home = setup.open();
        setup.places.home = Some(home.clone());
        let policy = Policy::default();
        let plan = Plan::new(&policy, &setup.places);
        let cargo = setup
            .directory
            .path()
            .canonicalize()
            .unwrap()
            .join("user/.cargo");
        let upper = home.own(&cargo);
        let Layer { lower, .. } = home.layer(&cargo).unwrap();
        assert_eq!(lower.last(), Some(&cargo));
        for _ in 0..2 {
            prepare(&plan);
            for closed in ["credentials.toml", "later"] {
                let mark = lower[0].join(closed).symlink_metadata().unwrap();
                assert!(mark.file_type().is_char_device() && mark.rdev() == 0);
            }
        }
        // A file of a command stays.
        fs::write(upper.join("later"), "own").unwrap();
        prepare(&plan);
        assert_eq!(fs::read(upper.join("later")).unwrap(), b"own");
    }

    /// They are made by the host, whom no command may lead elsewhere.
    #[test]
    fn links_of_commands_are_not_followed() {
        let mut setup = Setup::new();
        let user = setup.places.user_home.clone().unwrap();
        let user = user.canonicalize().unwrap();
        fs::create_dir_all(user.join(".config/git/deep")).unwrap();
        setup.places.lent.push(Lent {
            path: user.join(".config/git"),
            ..Lent::default()
        });
        setup
            .places
            .never
            .push(user.join(".config/git/deep/credentials"));
        let outside = setup.directory.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let home = setup.open();
        setup.places.home = Some(home.clone());
        let policy = Policy::default();
        let plan = Plan::new(&policy, &setup.places);
        prepare(&plan);
        let own = home.own(&user.join(".config/git"));
        let replaced = [home.files().join(".config"), own.join("deep")];
        fs::remove_dir_all(&replaced[0]).unwrap();
        for replaced in &replaced {
            symlink(&outside, replaced).unwrap();
        }
        prepare(&plan);
        for replaced in &replaced {
            fs::remove_file(replaced).unwrap();
            fs::write(replaced, "a file").unwrap();
        }
        prepare(&plan);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    }

    #[test]
    fn all_but_the_first_write_into_other_layers() {
        let setup = Setup::new();
        let mut home = setup.open();
        let lent = setup.places.lent[0].path.canonicalize().unwrap();
        let first = home.layer(&lent).unwrap();
        assert_eq!((first.lower.len(), &first.upper), (2, &home.own(&lent)));
        assert!(!home.has_own_files());
        home.layers.as_mut().unwrap().is_first = false;
        // They cannot be looked at.
        assert!(home.has_own_files());
        let made = home.make_layer(&lent, &Closed::default()).unwrap();
        assert_eq!(made, home.layer(&lent));
        assert!(!home.has_own_files());
        let own = home.layer(&lent).unwrap();
        assert_eq!((own.lower.len(), &own.lower[0]), (3, &first.upper));
        fs::write(own.upper.join("file"), "").unwrap();
        assert!(home.has_own_files());
    }

    #[test]
    fn the_root_is_no_home() {
        let directory = tempfile::tempdir().unwrap();
        for user_home in [None, Some("/".into())] {
            let places = Places {
                user_home,
                ..Places::default()
            };
            let home = places.open_home(directory.path(), None);
            assert_eq!(home.unwrap(), None);
        }
    }
}
