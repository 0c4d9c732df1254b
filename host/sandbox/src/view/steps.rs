//! The steps that make a view from grants.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::protected::{between, protected};
use super::{Shown, Step, TEMPORARY};
use crate::grants::{Grant, Grants, Rights};
use crate::home::Home;
use crate::places::Lent;
use crate::plan::Plan;
use crate::policy::Mode;

/// The new file systems of every view.
const NEW: [(&str, Shown); 3] = [
    ("/proc", Shown::Processes),
    ("/dev/shm", Shown::Memory),
    ("/dev/pts", Shown::Terminals),
];

/// The links in `/dev` of every view.
const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
];

/// Configuration of programs that check its owner.
const CHECKED: [&str; 1] = ["/etc/ssh"];

/// Directories that are there but empty, because their files on this machine are data and sockets of services.
const DIRECTORIES: [&str; 1] = ["/run"];

/// Old names of directories, if this machine has them.
const OLD_NAMES: [&str; 2] = ["/var/run", "/var/lock"];

/// Steps, and what is shown at each path.
#[derive(Default)]
struct Layout {
    steps: Vec<Step>,
    at: HashMap<PathBuf, usize>,
}

/// Returns the steps of a plan, for commands whose temporary directory is `temporary`.
pub(super) fn of(plan: &Plan<'_>, temporary: &Path) -> Vec<Step> {
    let grants = &plan.grants;
    let mut layout = Layout::default();
    let fixed = of_all_views().into_iter();
    let own = own_temporary(grants, temporary);
    let is_moved = own.iter().any(|step| step.shows(temporary));
    let granted = grants.granted.iter();
    let granted = granted.filter(|grant| !(is_moved && grant.path == temporary));
    let writes = plan.policy.mode == Mode::Workspace;
    let home = plan.places.home.as_ref();
    let homes = home.map(|home| {
        let (of, writable) = (home.files(), writes);
        Step::new(home.path(), Shown::Files { of, writable })
    });
    let is_root = rustix::process::getuid().is_root();
    let checked = CHECKED
        .into_iter()
        .filter(|path| !is_root && Path::new(path).is_dir());
    let checked = checked.map(|path| Step::new(path, Shown::Copies { of: path.into() }));
    let lent = home.filter(|_| writes);
    let granted = granted.flat_map(|grant| match (grant.rights, lent) {
        (Rights::Lent, Some(home)) => of_lent(&grant.path, home, plan),
        _ => of_grant(grant),
    });
    let mut shown: Vec<_> = fixed
        .chain(own)
        .chain(homes)
        .chain(checked)
        .chain(granted)
        .chain(linked_sockets(plan))
        .collect();
    let hidden = grants.never.that_exist();
    shown.extend(hidden.map(|path| Step::new(path, Shown::Nothing)));
    // Each step sees what is shown above its path. The order of steps for the same path stays.
    shown.sort_by_key(depth);
    for step in shown {
        layout.add(step);
    }
    layout.add_links(grants);
    let mut pins: Vec<_> = pinned(grants).collect();
    if writes {
        pins.extend(kept(&layout, grants, home));
        pins.extend(protected(plan.policy, plan.places));
    }
    let mut steps = layout.steps;
    steps.extend(pins);
    steps.sort_by_key(depth);
    steps
}

/// Returns the steps that every view has.
pub(super) fn of_all_views() -> Vec<Step> {
    let new = NEW.map(|(path, shown)| Step::new(path, shown));
    let links = LINKS.map(|(path, to)| Step::new(path, Shown::Link { to: to.into() }));
    let directories = DIRECTORIES.map(|path| Step::new(path, Shown::Directory));
    let old = OLD_NAMES.into_iter().filter_map(|path| {
        let to = fs::read_link(path).ok()?;
        Some(Step::new(path, Shown::Link { to }))
    });
    let all = new.into_iter().chain(links).chain(directories);
    let mut all: Vec<_> = all.chain(old).collect();
    all.sort_by_key(depth);
    all
}

fn depth(step: &Step) -> usize {
    step.path.components().count()
}

/// Returns the steps that show the temporary files of the chat. A path that the policy grants as a whole is not replaced.
fn own_temporary(grants: &Grants, temporary: &Path) -> Vec<Step> {
    let is_granted = |path: &Path| {
        let covers = |grant: &Grant| grant.rights != Rights::List && path.starts_with(&grant.path);
        grants.granted.iter().any(covers)
    };
    let own = TEMPORARY.map(Path::new).into_iter();
    let own = own.filter(|path| !is_granted(path));
    own.map(|path| {
        let of = temporary.to_path_buf();
        Step::new(path, Shown::Files { of, writable: true })
    })
    .collect()
}

/// Returns the steps of a grant. That of `/` shows each of its entries.
fn of_grant(grant: &Grant) -> Vec<Step> {
    let writable = match grant.rights {
        Rights::Socket => {
            let of = grant.path.clone();
            return vec![Step::new(&grant.path, Shown::Socket { of })];
        }
        Rights::Write | Rights::Device => true,
        Rights::Read | Rights::Lent => false,
        Rights::List => return Vec::new(),
    };
    if grant.path != Path::new("/") {
        return vec![Step::same(&grant.path, writable)];
    }
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let entries = entries.map(|entry| match fs::read_link(entry.path()) {
        Ok(to) => Step::new(entry.path(), Shown::Link { to }),
        Err(_) => Step::same(&entry.path(), writable),
    });
    entries.collect()
}

/// Returns the steps of sockets at paths that are links: the home and `/tmp` have no links of the machine.
fn linked_sockets(plan: &Plan<'_>) -> impl Iterator<Item = Step> {
    plan.policy.sockets.iter().filter_map(|path| {
        let of = path.canonicalize().ok().filter(|of| of != path)?;
        let is_this = |grant: &&Grant| grant.rights == Rights::Socket && grant.path == of;
        plan.grants.granted.iter().find(is_this)?;
        Some(Step::new(path, Shown::Socket { of }))
    })
}

/// Returns the steps of a directory that is lent to commands with a home.
fn of_lent(path: &Path, home: &Home, plan: &Plan<'_>) -> Vec<Step> {
    if !path.is_dir() {
        // A home has a copy.
        let has_copy = path.starts_with(home.path());
        return Vec::from_iter((!has_copy).then(|| Step::same(path, false)));
    }
    if let Some(layer) = home.layer(path) {
        return vec![Step::new(path, Shown::Layer { of: layer.upper })];
    }
    // Without layers, caches are empty at first, and everything else can only be read.
    let is_same = |lent: &&Lent| lent.path.canonicalize().is_ok_and(|real| real == path);
    let lent = plan.places.lent.iter().find(is_same);
    let caches = lent.map_or(&[][..], |lent| lent.caches);
    if caches.is_empty() {
        return vec![Step::same(path, false)];
    }
    let of = home.own(path);
    let own = Step::new(path, Shown::Files { of, writable: true });
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let is_cache = |path: &PathBuf| {
        caches
            .iter()
            .any(|cache| *cache == "." || path.ends_with(cache))
    };
    let others = entries.map(|entry| entry.path());
    let others = others.filter(|path| !is_cache(path) && !plan.grants.never.covers(path));
    let others = others.map(|path| Step::same(&path, false));
    std::iter::once(own).chain(others).collect()
}

impl Layout {
    /// Adds a step, unless an earlier one shows the same.
    fn add(&mut self, step: Step) {
        let above = self.nearest(&step.path);
        let is_needed = match (&step.shown, above.map(|above| &above.shown)) {
            // What is in these file systems belongs to the namespaces.
            (_, Some(Shown::Processes | Shown::Memory | Shown::Terminals | Shown::Link { .. })) => {
                false
            }
            (Shown::Nothing, _) => self.shows_itself(&step.path),
            (Shown::Layer { .. }, Some(Shown::Layer { .. })) => false,
            (Shown::Copies { .. }, _) => self.shows_itself(&step.path),
            (Shown::Socket { .. }, _) => !self.shows_itself(&step.path),
            (
                Shown::Files { writable, .. },
                Some(Shown::Files {
                    writable: above, ..
                }),
            ) => {
                let is_same = self.shows_itself(&step.path);
                !is_same || (*writable && !above)
            }
            _ => true,
        };
        if is_needed {
            self.at.insert(step.path.clone(), self.steps.len());
            self.steps.push(step);
        }
    }

    /// Adds the links on the way to granted paths, where no step shows them.
    fn add_links(&mut self, grants: &Grants) {
        for (path, to) in &grants.links {
            let above = self.nearest(path);
            if above.is_none_or(|above| above.shown == Shown::Directory) {
                let to = to.clone();
                self.steps.push(Step::new(path, Shown::Link { to }));
            }
        }
    }

    /// Returns the step that decides what is at a path.
    fn nearest(&self, path: &Path) -> Option<&Step> {
        let index = path.ancestors().find_map(|above| self.at.get(above))?;
        self.steps.get(*index)
    }

    /// Returns whether a path shows the file that has this path outside.
    fn shows_itself(&self, path: &Path) -> bool {
        let above = self.nearest(path);
        above.is_some_and(|above| above.shows(&above.path))
    }
}

/// Returns the steps that keep commands from renaming a directory of their own above a path that they need: of their home, of a layer, or for
/// temporary files. Without that path, neither they nor later chats would start.
fn kept(layout: &Layout, grants: &Grants, home: Option<&Home>) -> Vec<Step> {
    let granted = grants.granted.iter();
    let written = granted.filter(|grant| grant.rights == Rights::Write);
    let written = written.map(|grant| &*grant.path);
    let written = written.filter(|path| layout.at.contains_key(*path));
    let needed = written.chain(home.map(Home::path));
    let above: BTreeSet<_> = needed.flat_map(|path| path.ancestors().skip(1)).collect();
    let is_own = |path: &Path| {
        layout.nearest(path).is_some_and(|step| {
            let is_own = match &step.shown {
                Shown::Layer { .. } => true,
                Shown::Files { of, writable } => *writable && *of != step.path,
                _ => false,
            };
            is_own && step.path != path
        })
    };
    let own = above.into_iter().filter(|path| is_own(path));
    own.map(|path| Step::new(path, Shown::Itself)).collect()
}

/// Returns the steps that keep commands from renaming a directory above a closed path.
fn pinned(grants: &Grants) -> impl Iterator<Item = Step> {
    let above: BTreeSet<_> = grants
        .exposed()
        .filter(|(path, _)| path.canonicalize().is_ok_and(|real| real == *path))
        .flat_map(|(path, root)| between(root, path))
        // A closed directory is empty, and is to stay so.
        .filter(|above| !grants.never.covers(above))
        .collect();
    above.into_iter().map(|path| Step::same(&path, true))
}
