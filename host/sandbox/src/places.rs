//! The places that commands need besides what a policy names: the system, the workspace, toolchains and their caches.

mod secrets;
mod system;
mod toolchains;

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// The directories and files of one workspace. `Places::new` gives the defaults; [`crate::Policy`] adds and takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The workspace directory and its further roots. In the mode `workspace`, commands may write here.
    pub workspace: Vec<PathBuf>,
    /// Directories for temporary files, which commands may write in every mode: that of `TMPDIR`, and `/dev/shm`.
    pub temporary: Vec<PathBuf>,
    /// What commands may read and execute.
    pub read: Vec<PathBuf>,
    /// The caches of toolchains, which commands may write in the mode `workspace` and read otherwise.
    pub caches: Vec<PathBuf>,
    /// Caches without which a program in `PATH` fails, and which it could not make: see [`Places::make_caches`].
    pub needed: Vec<PathBuf>,
    /// The devices that commands may use.
    pub devices: Vec<PathBuf>,
    /// The directories in which commands may list names, and nothing else.
    pub list: Vec<PathBuf>,
    /// What commands may never read or write. A place below such a path is only let in as a part of `workspace`, or as
    /// `temporary`.
    pub never: Vec<PathBuf>,
}

impl Places {
    /// Returns the defaults for commands with these variables. Add the state directory, the configuration, files of tokens and
    /// other workspaces to `never`, and `temporary`.
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
            never: system::never(),
            ..Self::default()
        };
        toolchains::add(&mut places, &environment);
        places.needed = toolchains::needed(&environment);
        places.never.extend(secrets::below_home(&environment));
        places
    }

    /// Makes the caches in `needed` that do not exist, for this user only. Call it before the sandbox is prepared: commands may
    /// not make them, because they may not write into the home. A cache that cannot be made is left out.
    pub fn make_caches(&self) {
        for cache in &self.needed {
            _ = DirBuilder::new().recursive(true).mode(0o700).create(cache);
        }
    }
}

fn paths(texts: &[&str]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

/// The variables that say where things are.
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

    /// Returns the directory that a variable names, if it is a place of its own: not the home or a directory above.
    fn directory(&self, name: &str) -> Option<PathBuf> {
        self.get(name)
            .and_then(|value| self.place(Path::new(value)))
    }

    /// Returns the directories of a list such as `PATH`.
    fn directories(&self, name: &str) -> Vec<PathBuf> {
        let value = self.get(name).unwrap_or_default();
        std::env::split_paths(value)
            .filter_map(|path| self.place(&path))
            .collect()
    }

    fn place(&self, path: &Path) -> Option<PathBuf> {
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
