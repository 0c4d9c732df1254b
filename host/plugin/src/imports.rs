//! The imports that a component may have and the exports that it must have. They are judged by name before anything is compiled
//! and before the linker looks, because the linker's error would not say what to do.

use super::contract::PACKAGE;
use super::text::shown;
use super::{LoadError, Shape};
use crate::capability::{CAPABILITIES, Capability};
use crate::grants::Grants;

const VERSION: (u64, u64) = (0, 1);

/// Interfaces of the contract that every plugin may import.
const FREE: [&str; 4] = ["context", "settings", "log", "progress"];

/// Packages of WASI 0.2 that are linked for every plugin, with nothing in them.
const WASI: [&str; 6] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
];

/// The world of the contract without a capability that takes a grant, and the one with these two.
const PLAIN: &str = "plugin";
const FULL: (&str, [&str; 2]) = ("full-plugin", ["process-plugin", "file-plugin"]);

/// The kind of an import of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Import {
    /// Every plugin may import it.
    Free,
    /// A plugin may import it only with a grant of this capability.
    Granted(&'static Capability),
    Newer,
    Older,
    OtherWasi,
    Unknown,
}

fn import(name: &str) -> Import {
    if let Some(interface) = name.strip_prefix(PACKAGE) {
        return match version(interface) {
            Some(version) if version > VERSION => Import::Newer,
            Some(version) if version < VERSION => Import::Older,
            Some(_) if FREE.contains(&without_version(interface)) => Import::Free,
            Some(_) => granted(name),
            None => Import::Unknown,
        };
    }
    let granted = granted(name);
    let is_wasi = || WASI.iter().any(|package| name.starts_with(package));
    match version(name) {
        _ if granted == Import::Unknown && !is_wasi() => Import::Unknown,
        Some((0, 2)) if granted == Import::Unknown => Import::Free,
        Some((0, 2)) => granted,
        _ => Import::OtherWasi,
    }
}

/// Returns the capability that an import needs.
fn granted(name: &str) -> Import {
    Capability::of_import(without_version(name)).map_or(Import::Unknown, Import::Granted)
}

impl Shape {
    /// Returns the grants without which the component does not load, each once.
    pub fn needs(&self) -> Vec<&'static Capability> {
        let needs = |known: &&Capability| self.granted().any(|(_, need)| need == *known);
        CAPABILITIES.iter().filter(needs).collect()
    }

    /// Returns the imports that need a grant.
    pub fn granted(&self) -> impl Iterator<Item = (&str, &'static Capability)> {
        let granted = |name: &'_ String| match import(name) {
            Import::Granted(grant) => Some(grant),
            _ => None,
        };
        self.imports
            .iter()
            .filter_map(move |name| Some((name.as_str(), granted(name)?)))
    }

    /// Returns the version of the contract in which the component exports its tools, such as `0.1.0`. If it exports several,
    /// returns the version that this host speaks.
    pub fn contract(&self) -> Option<&str> {
        let tools = || self.tools().filter_map(|name| name.split_once('@'));
        let known = tools().find(|(_, version)| parse(version) == Some(VERSION));
        known.or_else(|| tools().next()).map(|(_, version)| version)
    }

    /// Returns the name of the smallest world of the contract that the component fits, or the names of the worlds that it needs
    /// together. `None` if it exports no tools in a version that this host speaks.
    pub fn world(&self) -> Option<String> {
        self.contract()
            .filter(|contract| parse(contract) == Some(VERSION))?;
        let needs = self.needs();
        let worlds: Vec<_> = needs.iter().filter_map(|need| need.world()).collect();
        Some(match worlds.is_empty() {
            true => PLAIN.into(),
            false if worlds == FULL.1 => FULL.0.into(),
            false => worlds.join(" and "),
        })
    }

    /// Returns the exports of the contract's tools, in any version.
    fn tools(&self) -> impl Iterator<Item = &str> {
        let tools = |name: &&str| {
            let interface = name.strip_prefix(PACKAGE);
            interface.is_some_and(|interface| without_version(interface) == "tools")
        };
        self.exports.iter().map(String::as_str).filter(tools)
    }

    /// Judges whether the component is a plugin that may be loaded with these grants.
    pub(super) fn judge(&self, plugin: &str, grants: &Grants) -> Result<(), LoadError> {
        self.judge_exports()?;
        for name in &self.imports {
            match import(name) {
                Import::Free | Import::Granted(_) => {}
                Import::Newer => return Err(LoadError::Newer(shown(name))),
                Import::Older => return Err(LoadError::Older(shown(name))),
                Import::OtherWasi => return Err(LoadError::OtherWasi(shown(name))),
                Import::Unknown => return Err(LoadError::UnknownImport(shown(name))),
            }
        }
        let missing = self
            .granted()
            .filter(|(_, need)| grants.get(need.name()).is_none());
        let missing: Vec<_> = missing
            .map(|(name, grant)| (name.to_owned(), grant))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(LoadError::NotGranted {
            plugin: plugin.to_owned(),
            imports: missing,
        })
    }

    fn judge_exports(&self) -> Result<(), LoadError> {
        let versions: Vec<_> = self.tools().map(|name| (name, version(name))).collect();
        if versions
            .iter()
            .any(|(_, version)| *version == Some(VERSION))
        {
            return Ok(());
        }
        for (name, version) in versions {
            match version {
                Some(version) if version > VERSION => return Err(LoadError::Newer(shown(name))),
                Some(_) => return Err(LoadError::Older(shown(name))),
                None => {}
            }
        }
        let exported = |interface: &str| {
            let mut exports = self.exports.iter();
            exports.find(|name| without_version(name) == interface)
        };
        if let Some(name) = exported("wasi:cli/run") {
            return Err(LoadError::Program(shown(name)));
        }
        if let Some(name) = exported("wasi:http/incoming-handler") {
            return Err(LoadError::Server(shown(name)));
        }
        Err(LoadError::NoTools(self.exports.clone()))
    }
}

fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Returns major and minor version of a name.
fn version(name: &str) -> Option<(u64, u64)> {
    parse(name.split_once('@')?.1)
}

/// Reads a version of three numbers. A draft of a version (`0.1.0-rc.1`) is not that version.
fn parse(version: &str) -> Option<(u64, u64)> {
    let version = semver::Version::parse(version).ok()?;
    let is_plain = version.pre.is_empty() && version.build.is_empty();
    is_plain.then_some((version.major, version.minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_known_by_name_and_version() {
        let known = |name| Capability::named(name).unwrap();
        use Import::{Free, Granted, Newer, Older, OtherWasi, Unknown};
        for (name, expected) in [
            ("toolhost:plugin/log@0.1.0", Free),
            ("toolhost:plugin/context@0.1.7", Free),
            (
                "toolhost:plugin/processes@0.1.0",
                Granted(known("processes")),
            ),
            ("toolhost:plugin/files@0.1.12", Granted(known("files"))),
            ("wasi:sockets/tcp@0.2.12", Free),
            ("wasi:http/types@0.2.0", Granted(known("http"))),
            ("wasi:http/outgoing-handler@0.2.10", Granted(known("http"))),
            ("toolhost:plugin/log@0.2.0", Newer),
            ("toolhost:plugin/magic@1.0.0", Newer),
            ("toolhost:plugin/log@0.0.9", Older),
            ("wasi:cli/environment@0.3.0", OtherWasi),
            ("wasi:http/types@0.3.0", OtherWasi),
            ("wasi:cli/environment", OtherWasi),
            ("toolhost:plugin/log", Unknown),
            ("toolhost:plugin/log@0.1.0-rc.1", Unknown),
            ("toolhost:plugin/magic@0.1.0", Unknown),
            ("wasi:http/incoming-handler@0.2.0", Unknown),
            ("wasi:nn/graph@0.2.0", Unknown),
            ("env", Unknown),
            ("", Unknown),
        ] {
            assert_eq!(import(name), expected, "{name}");
        }
    }

    #[test]
    fn the_known_version_counts_where_there_are_several() {
        let shape = |exports: &[&str]| Shape {
            imports: vec!["toolhost:plugin/files@0.1.0".into()],
            exports: exports.iter().map(|name| (*name).into()).collect(),
            ..Shape::default()
        };
        let both = shape(&["toolhost:plugin/tools@0.2.0", "toolhost:plugin/tools@0.1.3"]);
        assert_eq!(both.contract(), Some("0.1.3"));
        assert_eq!(both.world().as_deref(), Some("file-plugin"));
        both.judge_exports().unwrap();
        let newer = shape(&["toolhost:plugin/tools@0.2.0"]);
        assert_eq!((newer.contract(), newer.world()), (Some("0.2.0"), None));
    }
}
