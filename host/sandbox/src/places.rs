//! The paths that commands need in addition to those of a policy: the workspace, the system, toolchains and their caches.

mod secrets;
mod system;
mod toolchains;

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// The paths that commands of one workspace can reach. `Places::new` returns the defaults; a [`crate::Policy`] adds and removes paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The workspace directory and its additional roots. In the mode `workspace`, commands may write there.
    pub workspace: Vec<PathBuf>,
    /// Directories for temporary files, which commands may write in every mode: that of `TMPDIR`, and `/dev/shm`.
    pub temporary: Vec<PathBuf>,
    /// Paths that commands may read and execute.
    pub read: Vec<PathBuf>,
    /// The caches of toolchains. Commands may write them in the mode `workspace`, and only read them in the mode `read-only`.
    pub caches: Vec<PathBuf>,
    /// Caches that a program in `PATH` needs and cannot make itself: see [`Places::make_caches`].
    pub needed: Vec<PathBuf>,
    /// The devices that commands may use.
    pub devices: Vec<PathBuf>,
    /// Directories that commands may only list.
    pub list: Vec<PathBuf>,
    /// Paths that commands may never read or write. The only exceptions are paths of `workspace` and `temporary` below such a path.
    pub never: Vec<PathBuf>,
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
        places.needed = toolchains::needed(&environment);
        places
    }

    /// Makes the caches in `needed` that do not exist, with mode 0700. Call this before the sandbox is prepared, because commands may not
    /// write into the home and so cannot make the caches. A cache that cannot be made is skipped.
    pub fn make_caches(&self) {
        for cache in &self.needed {
            _ = DirBuilder::new().recursive(true).mode(0o700).create(cache);
        }
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
        assert!(home.read.contains(&"/home/u/.cargo".into()));
        assert!(home.read.contains(&"/home/u/bin".into()));
        assert!(home.caches.contains(&"/home/u/.cargo/registry".into()));
        assert!(home.caches.contains(&"/home/u/.cache/pip".into()));
        let set = places(&[
            ("HOME", "/home/u"),
            ("CARGO_HOME", "/data/cargo"),
            ("XDG_CACHE_HOME", "/data/cache"),
        ]);
        assert!(set.caches.contains(&"/data/cargo/registry".into()));
        assert!(set.caches.contains(&"/data/cache/pip".into()));
        assert!(!set.read.contains(&"/home/u/.cargo".into()));
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
            for path in places.read.iter().chain(&places.caches) {
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
    fn caches_of_programs_that_are_there_are_made() {
        let root = tempfile::tempdir().unwrap();
        let (home, programs) = (root.path().join("home"), root.path().join("programs"));
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::write(programs.join("npm"), "").unwrap();
        let [home, programs] = [&home, &programs].map(|path| path.to_str().unwrap());
        let places = places(&[("HOME", home), ("PATH", programs)]);
        assert_eq!(places.needed, [Path::new(home).join(".npm")]);
        places.make_caches();
        assert!(Path::new(home).join(".npm").is_dir());
    }

    #[test]
    fn every_cache_that_is_made_can_be_written() {
        let root = tempfile::tempdir().unwrap();
        for program in toolchains::programs() {
            std::fs::write(root.path().join(program), "").unwrap();
        }
        let places = places(&[("HOME", "/home/u"), ("PATH", root.path().to_str().unwrap())]);
        assert!(places.needed.len() >= 23);
        for cache in &places.needed {
            assert!(places.caches.contains(cache), "{}", cache.display());
        }
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
