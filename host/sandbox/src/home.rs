//! The home of a workspace: what its commands write into their home, and over what the user's home lends them.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};
use rustix::io::Errno;
use toolhost_state::closed::Closed;

/// A home of a workspace. Its files stay with the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Where commands see it: the path of the user's home.
    path: PathBuf,
    /// The directory that has the home and the layers.
    directory: PathBuf,
    /// Where the layers are; `None`: this machine has no layers.
    layers: Option<Layers>,
}

/// Where the layers of a view are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// A directory beside the home, on the same mount, for what overlayfs needs. No other view may use it.
    pub work: PathBuf,
    /// Whether the view writes into the layers of the home. Only one view may, at a time. Others see them, and write into layers of their
    /// own, in `work`.
    pub is_first: bool,
}

/// The directories of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The option of overlayfs for what is beneath.
    pub(crate) lower: PathBuf,
    /// What commands write. The files that they removed are devices with the number 0, as overlayfs marks them.
    pub(crate) upper: PathBuf,
    /// What overlayfs needs for itself. Each mount needs its own: it empties the directory.
    pub(crate) work: PathBuf,
}

/// The directory of the layers of a view, among what overlayfs needs for it.
const UPPER: &str = "upper";

/// The most bytes of a file of the user's home that a new home gets as a copy.
const MOST_COPIED: u64 = 1 << 20;

impl Home {
    /// Opens a home, as [`crate::Places::open_home`] does.
    pub(crate) fn open<'a>(
        directory: &Path,
        layers: Option<Layers>,
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

    /// Returns whether commands have written into layers of this view alone, which nobody else has.
    #[must_use]
    pub fn has_own_files(&self) -> bool {
        let Some(Layers { work, .. }) = &self.layers else {
            return false;
        };
        let layers = fs::read_dir(work.join(UPPER))
            .into_iter()
            .flatten()
            .flatten();
        let mut files = layers.flat_map(|layer| fs::read_dir(layer.path()).into_iter().flatten());
        files.next().is_some()
    }

    /// Returns the layer over a directory that is lent; `None` if this machine has no layers.
    pub(crate) fn layer(&self, lent: &Path) -> Option<Layer> {
        let Layers { work, is_first } = self.layers.as_ref()?;
        let own = work.join(UPPER).join(file_name(lent));
        let (upper, beneath) = match is_first {
            true => (self.own(lent), None),
            false => (own, Some(self.own(lent))),
        };
        Some(Layer {
            lower: lower(beneath.as_deref().into_iter().chain([lent])),
            work: work.join(file_name(lent)),
            upper,
        })
    }

    /// Returns the directory of what commands write into a directory that is lent.
    pub(crate) fn own(&self, lent: &Path) -> PathBuf {
        self.directory.join("layers").join(file_name(lent))
    }

    /// Makes a place in the home for a directory that a view shows there.
    pub(crate) fn make_place(&self, shown: &Path) -> io::Result<()> {
        match shown.strip_prefix(&self.path) {
            Ok(below) if shown.is_dir() => {
                unless_replaced(make_below(&self.files(), below)).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Makes the layer over a directory that is lent. Closed paths are as if commands had removed them.
    pub(crate) fn make_layer(&self, lent: &Path, never: &Closed) -> io::Result<()> {
        let own = self.own(lent);
        make_upper(&own, lent)?;
        match self.layer(lent) {
            Some(layer) => {
                make(&layer.work)?;
                make_upper(&layer.upper, lent)?;
                remove_closed(lent, &own, never)
            }
            None => Ok(()),
        }
    }
}

/// Returns the option of overlayfs for directories, of which the first one is on top. A colon separates them.
pub(crate) fn lower<'a>(directories: impl Iterator<Item = &'a Path>) -> PathBuf {
    let mut option = Vec::new();
    for directory in directories {
        if !option.is_empty() {
            option.push(b':');
        }
        for byte in directory.as_os_str().as_bytes() {
            if matches!(byte, b':' | b'\\') {
                option.push(b'\\');
            }
            option.push(*byte);
        }
    }
    OsString::from_vec(option).into()
}

/// Makes an upper directory, unless it is there. Its mode is that of what is shown.
fn make_upper(upper: &Path, lent: &Path) -> io::Result<()> {
    if upper.is_dir() {
        return Ok(());
    }
    make(upper)?;
    fs::set_permissions(upper, lent.metadata()?.permissions())
}

/// Marks the closed paths of a directory as removed in its layer, also those that do not exist yet.
fn remove_closed(lent: &Path, upper: &Path, never: &Closed) -> io::Result<()> {
    for closed in never.below(lent) {
        let Ok(below) = closed.strip_prefix(lent) else {
            continue;
        };
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            continue;
        };
        // What a command has put in place of a directory hides what is closed in it.
        let Some(parent) = unless_replaced(make_below(upper, parent))? else {
            continue;
        };
        match mknodat(parent, name, FileType::CharacterDevice, Mode::empty(), 0) {
            // A command has made a file of this name, which hides the closed one.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes directories of this user below a directory in which commands write, and returns the last one. Follows no link.
fn make_below(root: &Path, below: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, flags, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL);
        };
        match mkdirat(&at, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}

/// Returns `None` if a command has put something else in place of a directory, or has taken away the rights to one.
fn unless_replaced<T>(made: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG) => Ok(None),
        Err(error) => Err(error.into()),
    }
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

/// Returns the name of a file for a path.
fn file_name(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes().iter();
    let name = bytes.flat_map(|byte| match byte {
        b'/' => b"%2F".to_vec(),
        b'%' => b"%25".to_vec(),
        // overlayfs separates directories with it.
        b':' => b"%3A".to_vec(),
        byte => vec![*byte],
    });
    OsString::from_vec(name.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{Lent, Places};
    use crate::plan::Plan;
    use crate::policy::Policy;

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
            let layers = Layers {
                work: directory.join("work"),
                is_first: true,
            };
            self.places
                .open_home(&directory, Some(layers))
                .unwrap()
                .unwrap()
        }
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
        for _ in 0..2 {
            plan.prepare_home().unwrap();
            for closed in ["credentials.toml", "later"] {
                let mark = upper.join(closed).symlink_metadata().unwrap();
                assert!(mark.file_type().is_char_device() && mark.rdev() == 0);
            }
        }
        // A file of a command stays.
        fs::remove_file(upper.join("later")).unwrap();
        fs::write(upper.join("later"), "own").unwrap();
        plan.prepare_home().unwrap();
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
        plan.prepare_home().unwrap();
        let own = home.own(&user.join(".config/git"));
        let replaced = [home.files().join(".config"), own.join("deep")];
        for replaced in &replaced {
            fs::remove_dir_all(replaced).unwrap();
            symlink(&outside, replaced).unwrap();
        }
        plan.prepare_home().unwrap();
        for replaced in &replaced {
            fs::remove_file(replaced).unwrap();
            fs::write(replaced, "a file").unwrap();
        }
        plan.prepare_home().unwrap();
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    }

    #[test]
    fn each_directory_has_a_layer_of_its_own() {
        let names = ["/a/b", "/a%2Fb", "/a:b", "/a/b/"].map(|path| file_name(Path::new(path)));
        for (number, name) in names.iter().enumerate() {
            assert!(!name.as_bytes().contains(&b'/'));
            assert!(!names[..number].contains(name));
        }
    }

    #[test]
    fn a_colon_in_a_path_separates_nothing() {
        let paths = ["/a:b", "/c\\d"].map(Path::new);
        assert_eq!(lower(paths.into_iter()), Path::new("/a\\:b:/c\\\\d"));
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
