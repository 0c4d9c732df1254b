//! The capabilities that take a grant, in one table. Loading, the configuration, `plugin inspect` and `plugin check` read it, so
//! that a new capability is a line here beside its own file.

use std::fmt;

use wasmtime::component::Linker;

use crate::capability::{self, About, files, http, processes};
use crate::grants::{GrantValue, Grants, InvalidGrant};
use crate::store::State;

/// A capability that takes a grant.
pub struct Capability {
    about: &'static About,
    link: fn(&mut Linker<State>) -> wasmtime::Result<()>,
}

/// Every capability that takes a grant, in the order in which they are shown.
pub static CAPABILITIES: [Capability; 3] = [
    Capability {
        about: &processes::ABOUT,
        link: processes::add_to_linker,
    },
    Capability {
        about: &files::ABOUT,
        link: files::add_to_linker,
    },
    Capability {
        about: &http::ABOUT,
        link: http::add_to_linker,
    },
];

impl Capability {
    /// Returns the capability that has this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CAPABILITIES.iter().find(|known| known.name() == name)
    }

    /// Returns the capability without which a component that imports this interface does not load. The interface has no version.
    pub(crate) fn of_import(interface: &str) -> Option<&'static Self> {
        let mut known = CAPABILITIES.iter();
        known.find(|known| known.about.imports.contains(&interface))
    }

    /// Returns the name of the capability, which is the key of its grant.
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// Returns the line of the configuration with the least that lets a plugin load.
    pub fn line(&self) -> &'static str {
        self.about.line
    }

    /// Returns the permissions that the capability gives a plugin, in sentences without the last full stop.
    pub fn meaning(&self) -> &'static str {
        self.about.meaning
    }

    /// Returns the values of a grant on the command line, such as `files=read`. Capitals are placeholders. The last value
    /// grants most.
    pub fn options(&self) -> &'static [&'static str] {
        self.about.options
    }

    /// Reads a value as an operator wrote it. Returns the granted value, if there is one, and the problems of the value.
    pub(crate) fn read(&self, value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
        (self.about.read)(value)
    }

    /// Returns the least value with which a plugin loads.
    pub(crate) fn least(&self) -> GrantValue {
        (self.about.least)()
    }
}

impl fmt::Debug for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl PartialEq for Capability {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Capability {}

/// Links the capabilities that every plugin has, and those that this one was granted. WASI has to be linked before, as a part
/// of it is replaced.
pub(crate) fn add_to_linker(linker: &mut Linker<State>, grants: &Grants) -> wasmtime::Result<()> {
    capability::add_free_to_linker(linker)?;
    for known in &CAPABILITIES {
        if grants.get(known.name()).is_some() {
            (known.link)(linker)?;
        }
    }
    capability::add_sockets_to_linker(linker)
}

/// Returns the line of the configuration that grants all of these.
pub(crate) fn grants_line(needs: &[&Capability]) -> String {
    let lines: Vec<_> = needs.iter().map(|need| need.line()).collect();
    format!("grants = {{ {} }}", lines.join(", "))
}
