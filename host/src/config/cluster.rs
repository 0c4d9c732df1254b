//! `[cluster]`: what the hosts of a store do for each other.

use std::path::{Path, PathBuf};

use super::Store;
use super::section::Section;

/// How the section is written.
pub(super) const WRITTEN: &str =
    "what hosts of a store do for each other is written as a section [cluster] with `forward`";

/// What the hosts of a store do for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Whether a request for a chat of another host is sent on to that host. Otherwise it is refused with the address.
    pub forward: bool,
    /// The certificates of the authorities of the other hosts, or their own; `None`: those of the system.
    pub ca: Option<PathBuf>,
}

/// Reads the section. Relative paths begin at `base`. `store` is the section [store], unless that has mistakes.
pub(super) fn read(
    mut section: Section<'_, '_>,
    base: &Path,
    store: Option<&Store>,
    has_store: bool,
) -> Cluster {
    if !has_store {
        section.wrong_here(
            "there are no other hosts without [store]: name the database that they share there",
        );
    }
    let forward = section.boolean("forward").unwrap_or_default();
    let ca = section.expect::<String>("ca", "the path of the certificates of authorities, in PEM");
    if ca.is_some() && !forward {
        section.wrong(
            "ca",
            "without `forward = true` nothing is sent to other hosts",
        );
    }
    let address = store.map(|store| store.address.as_deref().unwrap_or_default());
    let is_url = |address: &str| {
        let rest = address.strip_prefix("https://");
        let rest = rest.or_else(|| address.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#']))
    };
    if forward && address.is_some_and(|address| !is_url(address)) {
        section.wrong(
            "forward",
            "the other hosts need `address` of [store]: the URL of this host, such as \"https://tools-1.example.com\"",
        );
    }
    section.finish();
    Cluster {
        forward,
        ca: ca.map(|ca| base.join(ca)),
    }
}
