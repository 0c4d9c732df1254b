//! The mounts over the layers of a home, which the views of all chats of its workspace show.
//!
//! Two mounts with the same upper directory cannot both be written. So each layer is mounted once, over its upper directory, in namespaces
//! in which no command runs. The namespaces of a chat are copies of these, with a root of their own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::thread::UnshareFlags;

use super::EnterError;
use super::bytes::{self, Paths};
use super::enter::failed;
use super::mounts::Mount;
use crate::home::Layer;
use crate::plan::Plan;

/// The version of the encoding.
const VERSION: u8 = 1;

/// Mounts over layers of a home. They are made by [`LayerMounts::make`] in another process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerMounts(Vec<Layer>);

impl LayerMounts {
    /// The namespaces in which the mounts are made, unless they are joined.
    pub const NAMESPACES: UnshareFlags = UnshareFlags::NEWUSER.union(UnshareFlags::NEWNS);

    /// Makes the layers of the home of a plan over what is lent, but not over these directories: they have theirs.
    ///
    /// # Errors
    ///
    /// If a directory cannot be made.
    pub fn of(plan: &Plan<'_>, covered: &BTreeSet<PathBuf>) -> io::Result<Self> {
        let mut layers = Vec::new();
        if let Some(home) = &plan.places.home {
            for lent in plan.lent().filter(|lent| !covered.contains(*lent)) {
                layers.extend(home.make_layer(lent, &plan.grants.never)?);
            }
        }
        Ok(Self(layers))
    }

    /// Makes those of a trial in this directory, to find out whether this machine supports them there. The directory must have the
    /// directories `lower`, `upper` and `work`.
    #[must_use]
    pub fn trial(directory: &Path) -> Self {
        Self(vec![Layer {
            lower: vec![directory.join("lower")],
            upper: directory.join("upper"),
            work: directory.join("work"),
        }])
    }

    /// Returns whether there is nothing to mount.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the directories beneath the layers.
    #[must_use]
    pub fn lent(&self) -> BTreeSet<PathBuf> {
        let lent = self.0.iter().filter_map(|layer| layer.lower.last());
        lent.cloned().collect()
    }

    /// Mounts each layer over its upper directory, in the namespaces of this process, unless it is mounted there. The kernel lets mounts of
    /// the machine come there, and none of these leave.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a mount.
    pub fn make(&self) -> Result<(), EnterError> {
        let layers = self.0.iter().filter(|layer| !is_mounted(&layer.upper));
        let made = layers.map(|layer| {
            let made = Mount::layers(layer);
            let made = made.map_err(failed(|| format!("mount at {}", layer.upper.display())));
            made.map(|mount| (mount, layer))
        });
        // After an error, nothing is mounted.
        let made = made.collect::<Result<Vec<_>, _>>()?;
        for (mount, layer) in made {
            let attached = mount.attach(&layer.upper);
            attached.map_err(failed(|| format!("attach at {}", layer.upper.display())))?;
        }
        Ok(())
    }

    /// Encodes the mounts for [`LayerMounts::decode`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for Layer { lower, upper, work } in &self.0 {
            // An empty path ends the list: no path is empty.
            let end = PathBuf::new();
            let paths = lower.iter().chain([&end, upper, work]);
            paths.for_each(|path| bytes::push(&mut bytes, path));
        }
        bytes
    }

    /// Decodes the bytes that [`LayerMounts::encode`] wrote.
    ///
    /// # Errors
    ///
    /// If the bytes have another version, or end too early.
    pub fn decode(bytes: &[u8]) -> io::Result<Self> {
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return Err(bytes::invalid());
        };
        let mut paths = Paths(rest);
        let mut layers = Vec::new();
        while !paths.is_at_end() {
            layers.push(Layer {
                lower: paths.list()?,
                upper: paths.one()?,
                work: paths.one()?,
            });
        }
        Ok(Self(layers))
    }
}

/// Returns whether something is mounted at a path.
fn is_mounted(path: &Path) -> bool {
    statx(CWD, path, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn mounts_read_back(
            layers in prop::collection::vec((prop::collection::vec("[^\0]{1,20}", 0..4), "[^\0]{1,20}"), 0..5),
        ) {
            let layer = |(lower, upper): (Vec<String>, String)| Layer {
                lower: lower.into_iter().map(PathBuf::from).collect(),
                work: upper.repeat(2).into(),
                upper: upper.into(),
            };
            let mounts = LayerMounts(layers.into_iter().map(layer).collect());
            prop_assert_eq!(LayerMounts::decode(&mounts.encode()).unwrap(), mounts);
        }

        #[test]
        fn any_bytes_are_mounts_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            _ = LayerMounts::decode(&bytes);
        }
    }
}
