//! The Landlock rules of commands that have no namespaces.
//!
//! A Landlock rule grants a whole hierarchy, and no rule can take a path out of it. So if a readable directory contains a path of
//! `never`, the directory itself is not granted. Instead, the entries beside that path are granted one by one, as they exist now.
//! A writable directory is always granted as a whole, because commands could not make files in it otherwise: see [`crate::grants::Grants::exposed`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::grants::{Grant, Rights};
use crate::plan::Plan;
use crate::policy::Mode;
use crate::prepare_error::PrepareError;
use crate::reach::is_out_of_reach;
use toolhost_state::closed::Closed;

/// Returns the rules of a plan.
///
/// # Errors
///
/// If a directory that contains a closed path cannot be read, although this user may read it.
pub(crate) fn of(plan: &Plan<'_>) -> Result<Vec<Grant>, PrepareError> {
    let mut rules = Rules::default();
    let grants = &plan.grants;
    let never = &grants.never;
    for Grant { path, rights } in &grants.granted {
        let has_closed = never.below(path).next().is_some();
        match rights {
            Rights::Read | Rights::Lent if has_closed => rules.split(path, never)?,
            Rights::Lent => rules.push(path.clone(), Rights::Read),
            rights => rules.push(path.clone(), *rights),
        }
    }
    if let Some(home) = &plan.places.home {
        let rights = match plan.policy.mode {
            Mode::Workspace => Rights::Write,
            Mode::ReadOnly | Mode::Off => Rights::Read,
        };
        let lent = grants.granted.iter();
        // Variables lead to the home for all others.
        let is_elsewhere = |grant: &&Grant| !grant.path.starts_with(home.path());
        let lent = lent
            .filter(|grant| grant.rights == Rights::Lent)
            .filter(is_elsewhere);
        let own = lent.map(|grant| home.own(&grant.path));
        for path in own.chain([home.files()]) {
            rules.push(path, rights);
        }
    }
    Ok(rules.0)
}

#[derive(Default)]
struct Rules(Vec<Grant>);

impl Rules {
    /// Adds rules for the entries of a directory, except those in `never`.
    fn split(&mut self, directory: &Path, never: &Closed) -> Result<(), PrepareError> {
        // The right to list also covers everything below, so it would show the names in a hidden directory.
        if never.below(directory).all(|path| !path.is_dir()) {
            self.push(directory.to_path_buf(), Rights::List);
        }
        let entries =
            match fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                Ok(entries) => entries,
                // A directory that is gone, or closed to this user, needs no rules.
                Err(error) if is_out_of_reach(&error) => return Ok(()),
                Err(error) => return Err(PrepareError::unread(directory, error)),
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
                self.split(&path, never)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, path: PathBuf, rights: Rights) {
        self.0.push(Grant { path, rights });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::grants::Grants;
    use crate::places::Places;
    use crate::policy::Policy;

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
        let rules = of(&Plan::new(policy, places)).unwrap().into_iter();
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
        let all = Grants::new(&Policy::default(), &places);
        assert_eq!(
            all.granted,
            [Grant {
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
        // A link that no command can make leads there, and one to the workspace.
        symlink(root.join("b/data"), root.join("outer")).unwrap();
        symlink(root.join("b"), root.join("work")).unwrap();
        let places = Places {
            workspace: vec![root.join("b")],
            ..Places::default()
        };
        for path in ["b/data", "outer", "work/data", "outer/open"] {
            let mut policy = Policy {
                read: vec![root.join(path)],
                ..Policy::default()
            };
            let expected = named(&[("b", Rights::Write)]);
            assert_eq!(rules(&policy, &places, &root), expected, "{path}");
            // Other commands of the workspace write there.
            policy.mode = Mode::ReadOnly;
            let expected = named(&[("b", Rights::Read)]);
            assert_eq!(rules(&policy, &places, &root), expected, "{path}");
        }
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
        let grants = Grants::new(&Policy::default(), &places);
        let exposed: Vec<_> = grants.exposed().collect();
        assert_eq!(exposed, [(&*root.join("a/secret"), &*root.join("a"))]);
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
        assert_eq!(Grants::new(&policy, &places).exposed().count(), 0);
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
        let all = Grants::new(&Policy::default(), &places);
        assert_eq!(all.granted, []);
        assert_eq!(all.refused, [root.join("a"), root.join("a/secret")]);
    }
}
