//! The Landlock rules that follow from a policy and the places.
//!
//! A Landlock rule grants a whole hierarchy, and no rule can take a path out of it. So if a readable directory contains a path of
//! `never`, the directory itself is not granted. Instead, the entries beside that path are granted one by one, as they exist now.
//! A writable directory is always granted as a whole, because commands could not make files in it otherwise. The paths of `never` in
//! it are reported as exposed.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::policy::{Mode, Policy};
use crate::reach::is_out_of_reach;
use toolhost_state::closed::Closed;
use toolhost_state::real_paths::RealPaths;

/// The rights to a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    /// List names.
    List,
    /// Read, execute and list.
    Read,
    /// Read and write as a device.
    Device,
    /// Read, execute, write, make and remove.
    Write,
}

/// A Landlock rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LandlockRule {
    /// The path. It was canonical when the rule was made.
    pub(crate) path: PathBuf,
    pub(crate) rights: Rights,
}

/// The rules for a policy, and the parts of the policy that they do not enforce.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LandlockRules {
    pub(crate) rules: Vec<LandlockRule>,
    /// The rights of `rules` by their paths: thousands of paths are looked up.
    rights: HashMap<PathBuf, Vec<Rights>>,
    /// Existing paths of `never` within a writable directory, each with that directory.
    pub(crate) exposed: Vec<(PathBuf, PathBuf)>,
    /// Paths of the policy or the places that were not granted, because `never` forbids them or because they are unsafe.
    pub(crate) refused: Vec<PathBuf>,
    /// The first directory that could not be read although this user may read it, with the number of the error: rules are missing.
    pub(crate) unread: Option<(PathBuf, i32)>,
    /// The paths of `never`, of the places and the policy.
    pub(crate) never: Closed,
}

impl LandlockRules {
    /// Makes the rules. Paths that do not exist are left out.
    pub(crate) fn new(policy: &Policy, places: &Places) -> Self {
        let real = RealPaths::default();
        let never = Closed::looked_up(places.never.iter().chain(&policy.never), &real);
        let mut rules = Self::default();
        let writes = policy.mode == Mode::Workspace;
        let own = if writes { Rights::Write } else { Rights::Read };
        let maps = process_maps(policy);
        let roots: &[(&[PathBuf], Rights, bool)] = &[
            (&places.workspace, own, true),
            (&places.temporary, Rights::Write, true),
            (&policy.write, own, false),
            (&places.caches, own, false),
            (&policy.read, Rights::Read, false),
            (&places.read, Rights::Read, false),
            (&places.devices, Rights::Device, false),
            (&places.list, Rights::List, false),
            (&maps, Rights::Device, false),
        ];
        for (paths, rights, may_be_below) in roots {
            for path in *paths {
                let rule = (*rights, *may_be_below);
                rules.add(path, rule, &never, &real);
            }
        }
        rules.never = never;
        rules
    }

    /// Adds a path with these rights. The path may be below one of `never` if the second part of `rule` is set.
    fn add(&mut self, path: &Path, rule: (Rights, bool), never: &Closed, real: &RealPaths) {
        let (rights, may_be_below) = rule;
        let Some(real) = real.of(path) else {
            return;
        };
        // A command may have made a link in a writable directory. It must not lead to a new grant.
        let follows_unsafe_link = real != path && self.is_writable(path);
        let is_closed = match may_be_below {
            true => never.has(&real),
            false => never.covers(&real),
        };
        if !path.is_absolute() || follows_unsafe_link || is_closed {
            self.refused.push(path.to_path_buf());
            return;
        }
        let hidden: Vec<_> = never.below(&real).map(Path::to_path_buf).collect();
        if hidden.is_empty() {
            self.push(real, rights);
        } else if rights == Rights::Read {
            self.split(&real, never);
        } else {
            let there = hidden
                .into_iter()
                .filter(|path| path.symlink_metadata().is_ok());
            let exposed = there.map(|path| (path, real.clone()));
            if rights != Rights::List {
                self.exposed.extend(exposed);
            }
            self.push(real, rights);
        }
    }

    /// LandlockRules the entries of a directory, except those in `never`.
    fn split(&mut self, directory: &Path, never: &Closed) {
        // The right to list also covers everything below, so it would show the names in a hidden directory.
        if never.below(directory).all(|path| !path.is_dir()) {
            self.push(directory.to_path_buf(), Rights::List);
        }
        let entries =
            match fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                Ok(entries) => entries,
                Err(error) => return self.note_unread(directory, &error),
            };
        for entry in entries {
            // The kernel checks the target of a link, so the link needs no rule.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let path = entry.path();
            if never.covers(&path) {
                continue;
            }
            if never.below(&path).next().is_none() {
                self.push(path, Rights::Read);
            } else {
                self.split(&path, never);
            }
        }
    }

    /// Notes a directory that cannot be read now. A directory that is gone, or closed to this user, needs no rules.
    fn note_unread(&mut self, directory: &Path, error: &io::Error) {
        if let Some(errno) = error.raw_os_error().filter(|_| !is_out_of_reach(error)) {
            let unread = (directory.to_path_buf(), errno);
            self.unread.get_or_insert(unread);
        }
    }

    fn push(&mut self, path: PathBuf, rights: Rights) {
        let covers = |known: &Rights| match (*known, rights) {
            (known, new) if known == new => true,
            (Rights::Write, Rights::Read | Rights::List) | (Rights::Read, Rights::List) => true,
            _ => false,
        };
        if !self.has(&path, covers) {
            let known = self.rights.entry(path.clone()).or_default();
            known.push(rights);
            self.rules.push(LandlockRule { path, rights });
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.has(path, |known| *known == Rights::Write)
    }

    /// Returns whether a grant of the path, or of a directory above it, has such rights.
    fn has(&self, path: &Path, is_wanted: impl Fn(&Rights) -> bool) -> bool {
        let mut above = path.ancestors();
        above.any(|above| {
            let known = self.rights.get(above);
            known.is_some_and(|known| known.iter().any(&is_wanted))
        })
    }
}

/// Returns the directory of the files in which programs map the users of a namespace: `/proc`, if the policy lets commands make
/// namespaces.
///
/// A rule cannot name the files of future processes, so it must cover all of `/proc`. Root gets no such rule: root may write the system's
/// settings there, and could name a program that the kernel then runs outside of the sandbox.
fn process_maps(policy: &Policy) -> Vec<PathBuf> {
    let allowed = policy.nested && !rustix::process::getuid().is_root();
    allowed.then(|| "/proc".into()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with `a/secret/key`, `a/open/file`, `a/token` and `b`.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for file in ["a/secret/key", "a/open/file", "a/token", "b/file"] {
            let file = tree.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        tree
    }

    fn rules(policy: &Policy, places: &Places, root: &Path) -> Vec<(String, Rights)> {
        let rules = LandlockRules::new(policy, places).rules.into_iter();
        let mut relative: Vec<_> = rules
            .map(|grant| {
                (
                    grant
                        .path
                        .strip_prefix(root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned(),
                    grant.rights,
                )
            })
            .collect();
        relative.sort();
        relative
    }

    fn named(rules: &[(&str, Rights)]) -> Vec<(String, Rights)> {
        rules
            .iter()
            .map(|(path, rights)| ((*path).to_owned(), *rights))
            .collect()
    }

    #[test]
    fn what_is_beside_a_hidden_path_is_granted() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let places = Places {
            read: vec![root.clone()],
            never: vec![root.join("a/secret")],
            ..Places::default()
        };
        let expected = [
            ("a/open", Rights::Read),
            ("a/token", Rights::Read),
            ("b", Rights::Read),
        ];
        assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
    }

    #[test]
    fn names_beside_a_hidden_file_can_be_listed() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let places = Places {
            read: vec![root.join("a")],
            never: vec![root.join("a/token"), root.join("a/later")],
            ..Places::default()
        };
        let expected = [
            ("a", Rights::List),
            ("a/open", Rights::Read),
            ("a/secret", Rights::Read),
        ];
        assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
    }

    #[test]
    fn links_to_hidden_paths_grant_nothing() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        symlink(root.join("a/secret"), root.join("b/link")).unwrap();
        symlink(root.join("a"), root.join("other")).unwrap();
        let places = Places {
            read: vec![
                root.join("b"),
                root.join("b/link"),
                root.join("other/secret"),
            ],
            // The hidden path is named through a link, too.
            never: vec![root.join("other/secret")],
            ..Places::default()
        };
        let all = LandlockRules::new(&Policy::default(), &places);
        assert_eq!(
            all.rules,
            [LandlockRule {
                path: root.join("b"),
                rights: Rights::Read
            }]
        );
        assert_eq!(
            all.refused,
            [root.join("b/link"), root.join("other/secret")]
        );
    }

    #[test]
    fn a_link_that_a_command_can_make_grants_nothing() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        symlink(root.join("a"), root.join("b/data")).unwrap();
        let policy = Policy {
            read: vec![root.join("b/data")],
            ..Policy::default()
        };
        let places = Places {
            workspace: vec![root.join("b")],
            ..Places::default()
        };
        assert_eq!(
            rules(&policy, &places, &root),
            named(&[("b", Rights::Write)])
        );
    }

    #[test]
    fn a_relative_path_grants_nothing() {
        let policy = Policy {
            read: vec!["src".into(), ".".into()],
            write: vec!["..".into()],
            ..Policy::default()
        };
        let all = LandlockRules::new(&policy, &Places::default());
        assert_eq!(all.rules, []);
        assert_eq!(all.refused.len(), 3);
    }

    #[test]
    fn the_mode_decides_what_can_be_written() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let places = Places {
            workspace: vec![root.join("a")],
            temporary: vec![root.join("b")],
            never: vec![root.join("a/secret")],
            ..Places::default()
        };
        let expected = [("a", Rights::Write), ("b", Rights::Write)];
        assert_eq!(rules(&Policy::default(), &places, &root), named(&expected));
        let exposed = LandlockRules::new(&Policy::default(), &places).exposed;
        assert_eq!(exposed, [(root.join("a/secret"), root.join("a"))]);
        let policy = Policy {
            mode: Mode::ReadOnly,
            ..Policy::default()
        };
        let expected = [
            ("a/open", Rights::Read),
            ("a/token", Rights::Read),
            ("b", Rights::Write),
        ];
        assert_eq!(rules(&policy, &places, &root), named(&expected));
        assert!(LandlockRules::new(&policy, &places).exposed.is_empty());
    }

    #[test]
    fn only_a_workspace_may_be_below_a_hidden_path() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let mut places = Places {
            workspace: vec![root.join("a/open")],
            read: vec![root.join("a/secret")],
            never: vec![root.join("a")],
            ..Places::default()
        };
        assert_eq!(
            rules(&Policy::default(), &places, &root),
            named(&[("a/open", Rights::Write)])
        );
        places.workspace = vec![root.join("a")];
        let all = LandlockRules::new(&Policy::default(), &places);
        assert_eq!(all.rules, []);
        assert_eq!(all.refused, [root.join("a"), root.join("a/secret")]);
    }
}
