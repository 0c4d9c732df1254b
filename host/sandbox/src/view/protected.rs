//! Protected paths of the workspace: commands can neither change, remove nor replace them.
//!
//! A mount point cannot be renamed or removed. So a protected path, each directory above it, and each link on the way to it is a mount
//! point: the path is read-only, the others show themselves.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::Step;
use crate::grants::links_to;
use crate::places::Places;
use crate::policy::Policy;

/// Returns the steps that make protected paths of the workspace read-only, and that keep what leads to them.
pub(super) fn protected(policy: &Policy, places: &Places) -> Vec<Step> {
    let mut pinned = BTreeSet::new();
    let mut kept = Vec::new();
    for Protected { root, path, real } in protectable(policy, places) {
        let links = links_to(&path).into_iter().map(|(link, _)| link);
        let links: Vec<_> = links.filter(|link| link.starts_with(&root)).collect();
        for end in links.iter().chain(&real) {
            pinned.extend(between(&root, end));
        }
        pinned.extend(links);
        kept.extend(real.map(|real| Step::same(&real, false)));
    }
    let pinned = pinned.iter().map(|path| Step::same(path, true));
    pinned.chain(kept).collect()
}

/// Returns the directories between a root and a path below it. Empty if the path is elsewhere.
pub(super) fn between(root: &Path, path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let above = above.take_while(|above| *above != root && above.starts_with(root));
    above.map(Path::to_path_buf).collect()
}

/// A protected path.
struct Protected {
    /// The directory of the workspace, without links.
    root: PathBuf,
    path: PathBuf,
    /// The path without links, if it exists in the workspace. Commands cannot write elsewhere.
    real: Option<PathBuf>,
}

/// Returns the protected paths of each directory of the workspace.
fn protectable(policy: &Policy, places: &Places) -> impl Iterator<Item = Protected> {
    let roots = places.workspace.iter();
    let roots = roots.filter_map(|root| root.canonicalize().ok());
    roots.flat_map(|root| {
        let paths = policy.protect.iter().filter(|path| is_plain(path));
        let paths = paths.map(|path| root.join(path));
        let paths = paths.map(|path| {
            let real = path.canonicalize().ok();
            let real = real.filter(|real| real.starts_with(&root));
            let root = root.clone();
            Protected { root, path, real }
        });
        paths.collect::<Vec<_>>()
    })
}

/// Returns the protected paths that cannot be protected, because they do not exist in each directory of the workspace.
pub(crate) fn unprotected(policy: &Policy, places: &Places) -> Vec<PathBuf> {
    let there = |path: &PathBuf| {
        let mut roots = places.workspace.iter();
        is_plain(path) && roots.all(|root| root.join(path).exists())
    };
    let missing = policy.protect.iter().filter(|path| !there(path));
    missing.cloned().collect()
}

fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
}
