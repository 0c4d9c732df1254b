//! `[store]`: the database that several hosts share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolhost_state::secret::Secret;

use super::Workspaces;
use super::section::Section;
use super::values::Time;

/// How the section is written.
pub(super) const WRITTEN: &str =
    "a store that several hosts share is written as a section [store] with `url`";

/// The shortest lease: heartbeats of several hosts should not be all that a database does.
const SHORTEST: Duration = Duration::from_secs(2);

/// The database that several hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Its address, as PostgreSQL's own programs take it.
    pub url: Secret,
    /// The password, if it is in a file.
    pub password: Option<Secret>,
    /// The file.
    password_file: Option<PathBuf>,
    /// The certificates of the authorities of the database; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// The most connections.
    pub connections: Option<usize>,
    /// How long the lease of a host lasts without a heartbeat.
    pub lease: Option<Duration>,
    /// The name of this host.
    pub name: Option<String>,
    /// The URL at which clients and other hosts reach this host.
    pub address: Option<String>,
}

impl Store {
    /// Returns the file of the password, which commands must not reach.
    pub(super) fn private_path(&self) -> Option<PathBuf> {
        self.password_file.clone()
    }
}

/// Reads the section. Relative paths begin at `base`.
pub(super) fn read(
    mut section: Section<'_, '_>,
    base: &Path,
    workspaces: &Workspaces,
) -> Option<Store> {
    if workspaces.directories.is_some() {
        section.wrong_here(
            "hosts that share a store have no directories in common: leave out `root` of [workspaces], and name agents",
        );
    }
    let url = section.required(
        "url",
        "the address of a database, such as \"postgres://toolhost@db.example.com/toolhost\"",
    );
    let url: Option<String> = url;
    let is_of_postgres = |url: &&String| {
        ["postgres://", "postgresql://", "host=", "service="]
            .iter()
            .any(|start| url.starts_with(start))
    };
    if url.as_ref().is_some_and(|url| !is_of_postgres(&url)) {
        section.wrong(
            "url",
            "it begins with postgres:// or host=, as PostgreSQL's own programs take it",
        );
    }
    let password_file = section
        .expect::<String>("password_file", "the path of a file that has the password")
        .map(|file| base.join(file));
    let password = password_file.as_ref().map(|path| {
        let read = std::fs::read_to_string(path).unwrap_or_else(|error| {
            section.wrong("password_file", format!("{}: {error}", path.display()));
            String::new()
        });
        Secret::new(read.trim_end_matches(['\r', '\n']))
    });
    let ca = section.expect::<String>("ca", "the path of the certificates of authorities, in PEM");
    let connections: Option<u16> = section.expect("connections", "a number of connections");
    if connections == Some(0) {
        section.wrong("connections", "at least 1 is needed");
    }
    let lease = section.expect::<Time>("lease", "a time, such as \"10s\"");
    let lease = lease.map(|Time(lease)| lease);
    if lease.is_some_and(|lease| lease < SHORTEST) {
        section.wrong("lease", "it is at least \"2s\"");
    }
    let name = section.expect("name", "the name of this host");
    let address = section.expect("address", "the URL at which clients reach this host");
    section.finish();
    Some(Store {
        url: Secret::new(url?),
        password,
        password_file,
        ca: ca.map(|ca| base.join(ca)),
        connections: connections.map(usize::from),
        lease,
        name,
        address,
    })
}
