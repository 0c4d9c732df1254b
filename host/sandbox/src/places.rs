//! The paths that commands need in addition to those of a policy: the workspace, the system, toolchains and their caches.

mod secrets;
mod system;
mod toolchains;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::home::{Home, LayerPlace};

/// The paths that commands of one workspace can reach. `Places::new` returns the defaults; a [`crate::Policy`] adds and removes paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The workspace directory and its additional roots. In the mode `workspace`, commands may write there.
    pub workspace: Vec<PathBuf>,
    /// Directories for temporary files, which commands may write in every mode: that of `TMPDIR`, and `/dev/shm`.
    pub temporary: Vec<PathBuf>,
    /// Paths that commands may read and execute.
    pub read: Vec<PathBuf>,
    /// Paths of toolchains that are lent. In a [`Home`], commands of the mode `workspace` can write there, and what they write stays in the
    /// home. Otherwise they may only read them.
    pub lent: Vec<Lent>,
    /// The devices that commands may use.
    pub devices: Vec<PathBuf>,
    /// Directories that commands may only list.
    pub list: Vec<PathBuf>,
    /// Paths that commands may never read or write. The only exceptions are paths of `workspace` and `temporary` below such a path.
    pub never: Vec<PathBuf>,
    /// The home of the user, in whose place commands can have a [`Home`].
    pub user_home: Option<PathBuf>,
    /// The home of the workspace.
    pub home: Option<Home>,
}

/// A path of a toolchain that is lent to commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lent {
    /// The path.
    pub path: PathBuf,
    /// The variable that names the directory for the toolchain.
    pub variable: Option<&'static str>,
    /// The directories of caches in it. A `.` is the directory itself.
    pub caches: &'static [&'static str],
}

impl Places {
    /// Returns the defaults for commands with these environment variables. The caller adds the state directory, the configuration, token
    /// files and other workspaces to `never`, and the temporary directory to `temporary`.
    pub fn new<'a>(
        workspace: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Self {
        let environment = Environment::new(variables);
        let mut places = Self {
            workspace: vec![workspace.into()],
            read: paths(system::READ),
            temporary: paths(system::TEMPORARY),
            devices: paths(system::DEVICES),
            list: paths(system::LIST),
            never: credentials_of(&environment),
            ..Self::default()
        };
        toolchains::add(&mut places, &environment);
        places.user_home = environment.home().map(Path::to_path_buf);
        places
    }

    /// Opens the home of a workspace in a directory, for commands that see it at the user's home, and makes it if it is new. A new home has
    /// copies of the files that the user's home lends, such as `.gitconfig`. `None` if the user has no home, or `/`.
    ///
    /// # Errors
    ///
    /// If a directory cannot be made.
    pub fn open_home(
        &self,
        directory: &Path,
        layers: Option<LayerPlace>,
    ) -> io::Result<Option<Home>> {
        let lent = self.lent.iter().map(|lent| lent.path.as_path());
        Home::open(directory, layers, self.user_home.as_deref(), lent)
    }

    /// Returns the variables that name the home and the toolchains for commands without namespaces, which see the home of the workspace at
    /// its own path. Caches are in that home, and everything else stays where it is.
    pub fn variables_of_home(&self) -> Vec<(&'static str, PathBuf)> {
        let Some(home) = &self.home else {
            return Vec::new();
        };
        let named = self.lent.iter().filter_map(|lent| {
            let name = lent.variable?;
            let below = lent.path.strip_prefix(home.path());
            match (lent.caches, below) {
                ([], _) => lent.path.exists().then(|| (name, lent.path.clone())),
                (_, Ok(below)) => Some((name, home.files().join(below))),
                (_, Err(_)) => Some((name, home.own(&lent.path))),
            }
        });
        std::iter::once(("HOME", home.files()))
            .chain(named)
            .collect()
    }
}

/// Returns whether a file is one of the programs and libraries of the system, which every command needs and an ordinary user cannot
/// change.
pub fn is_of_system(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    system::PROGRAMS.iter().any(|place| real.starts_with(place))
}

/// Returns the paths of secrets of the system, and of the credentials of a user with these environment variables. They need not exist.
pub fn credentials<'a>(
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> Vec<PathBuf> {
    credentials_of(&Environment::new(variables))
}

fn credentials_of(environment: &Environment) -> Vec<PathBuf> {
    let mut paths = system::never();
    paths.extend(secrets::below_home(environment));
    paths
}

fn paths(texts: &[&str]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

/// Environment variables, which name the directories of toolchains.
struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    fn new<'a>(variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Self {
        let owned = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
        Self {
            variables: variables.into_iter().map(owned).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        let mut variables = self.variables.iter();
        let (_, value) = variables.find(|(other, _)| other == name)?;
        Some(value)
    }

    fn home(&self) -> Option<&Path> {
        self.get("HOME")
            .map(Path::new)
            .filter(|home| home.is_absolute())
    }

    /// Returns the directory for caches of this user.
    fn cache(&self) -> Option<PathBuf> {
        self.directory("XDG_CACHE_HOME")
            .or_else(|| Some(self.home()?.join(".cache")))
    }

    /// Returns the directory that a variable names, unless the directory is the home or contains it.
    fn directory(&self, name: &str) -> Option<PathBuf> {
        self.get(name)
            .and_then(|value| self.accept(Path::new(value)))
    }

    /// Returns the directories of a list such as `PATH`.
    fn directories(&self, name: &str) -> Vec<PathBuf> {
        let value = self.get(name).unwrap_or_default();
        std::env::split_paths(value)
            .filter_map(|path| self.accept(&path))
            .collect()
    }

    /// Returns the path if it is absolute and plain, and is not the root, the home or a directory above the home.
    fn accept(&self, path: &Path) -> Option<PathBuf> {
        let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        let is_absolute = path.is_absolute() && path.components().all(plain);
        let is_root = path.parent().is_none();
        let holds_home = self.home().is_some_and(|home| home.starts_with(path));
        (is_absolute && !is_root && !holds_home).then(|| path.to_path_buf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(variables: &[(&str, &str)]) -> Places {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        Places::new("/work", variables)
    }

    #[test]
    fn toolchains_come_from_the_environment_or_the_home() {
        let home = places(&[
            ("HOME", "/home/u"),
            ("PATH", "/usr/bin:/home/u/bin:relative:/home/u"),
        ]);
        let is_lent = |places: &Places, path: &str| {
            places.lent.iter().any(|lent| lent.path == Path::new(path))
        };
        for path in ["/home/u/.cargo", "/home/u/bin", "/home/u/.cache/pip"] {
            assert!(is_lent(&home, path), "{path}");
        }
        let set = places(&[
            ("HOME", "/home/u"),
            ("CARGO_HOME", "/data/cargo"),
            ("XDG_CACHE_HOME", "/data/cache"),
        ]);
        for path in ["/data/cargo", "/data/cache/pip"] {
            assert!(is_lent(&set, path), "{path}");
        }
        assert!(!is_lent(&set, "/home/u/.cargo"));
    }

    #[test]
    fn no_variable_lets_in_the_home_or_what_is_above() {
        for value in [
            "/",
            "/home",
            "/home/u",
            "/home/u/",
            "/home/u/x/../..",
            "home",
            "",
        ] {
            let places = places(&[
                ("HOME", "/home/u"),
                ("GOROOT", value),
                ("PYTHONPATH", value),
                ("GOPATH", value),
            ]);
            let lent = places.lent.iter().map(|lent| &lent.path);
            for path in places.read.iter().chain(lent) {
                assert!(
                    !Path::new("/home/u").starts_with(path),
                    "{value}: {}",
                    path.display()
                );
                let climbs = path.components().any(|part| part == Component::ParentDir);
                assert!(!climbs && path.is_absolute(), "{value}: {}", path.display());
            }
        }
    }

    #[test]
    fn without_namespaces_variables_lead_to_the_home() {
        let root = tempfile::tempdir().unwrap();
        let (user, own) = (root.path().join("user"), root.path().join("own"));
        std::fs::create_dir_all(user.join(".rustup")).unwrap();
        let user = user.canonicalize().unwrap();
        let mut places = places(&[
            ("HOME", user.to_str().unwrap()),
            ("GOMODCACHE", "/data/modules"),
        ]);
        assert_eq!(places.variables_of_home(), []);
        places.home = places.open_home(&own, None).unwrap();
        let variables = places.variables_of_home();
        let value = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| value.clone())
        };
        let files = own.join("files");
        assert_eq!(value("HOME"), Some(files.clone()));
        assert_eq!(value("CARGO_HOME"), Some(files.join(".cargo")));
        assert_eq!(value("RUSTUP_HOME"), Some(user.join(".rustup")));
        assert_eq!(value("PYENV_ROOT"), None);
        assert!(value("GOMODCACHE").unwrap().starts_with(own.join("layers")));
    }

    #[test]
    fn credentials_are_never_a_place() {
        let home = places(&[("HOME", "/home/u"), ("CARGO_HOME", "/data/cargo")]);
        for path in [
            "/home/u/.ssh",
            "/home/u/.aws",
            "/home/u/.npmrc",
            "/data/cargo/credentials.toml",
            "/run/docker.sock",
            "/home/u/.config/toolhost",
            "/etc/toolhost",
        ] {
            assert!(home.never.contains(&path.into()), "{path}");
        }
        let without = places(&[]);
        assert!(without.read.iter().all(|path| path.is_absolute()));
    }
}
