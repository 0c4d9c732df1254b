//! The description of a capability that takes a grant.

use std::fmt;

use wasmtime::component::Linker;

use super::CAPABILITIES;
use super::State;
use crate::grants::{GrantValue, Grants, InvalidGrant};

/// A capability that takes a grant.
pub struct Capability {
    /// The name of the capability, which is the key of its grant.
    pub(super) name: &'static str,
    /// The interfaces that need the capability, without versions.
    pub(super) imports: &'static [&'static str],
    /// The world of the contract that has this capability and no other, if the contract has the interface.
    pub(super) world: Option<&'static str>,
    /// The line of the configuration with the least that lets a plugin load.
    pub(super) line: &'static str,
    /// The permissions that the capability gives a plugin, in sentences without the last full stop.
    pub(super) meaning: &'static str,
    /// The values on the command line; the last one grants most.
    pub(super) options: &'static [&'static str],
    /// Reads a value as an operator wrote it. Returns the granted value, if there is one, and the problems of the value.
    pub(super) read: fn(GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>),
    /// Returns the least value with which a plugin loads.
    pub(super) least: fn() -> GrantValue,
    pub(super) link: fn(&mut Linker<State>) -> wasmtime::Result<()>,
}

impl Capability {
    /// Returns the capability that has this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CAPABILITIES.iter().find(|known| known.name() == name)
    }

    /// Returns the capability without which a component that imports this interface does not load. The interface has no version.
    pub(crate) fn of_import(interface: &str) -> Option<&'static Self> {
        let mut known = CAPABILITIES.iter();
        known.find(|known| known.imports.contains(&interface))
    }

    /// Returns the name of the capability, which is the key of its grant.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the world of the contract that has this capability and no other, if the contract has the interface.
    pub(crate) fn world(&self) -> Option<&'static str> {
        self.world
    }

    /// Returns the line of the configuration with the least that lets a plugin load.
    pub fn line(&self) -> &'static str {
        self.line
    }

    /// Returns the permissions that the capability gives a plugin, in sentences without the last full stop.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Returns the values of a grant on the command line, such as `files=read`. Capitals are placeholders. The last value
    /// grants most.
    pub fn options(&self) -> &'static [&'static str] {
        self.options
    }

    /// Reads a value as an operator wrote it. Returns the granted value, if there is one, and the problems of the value.
    pub(crate) fn read(&self, value: GrantValue) -> (Option<GrantValue>, Vec<InvalidGrant>) {
        (self.read)(value)
    }

    /// Returns the least value with which a plugin loads.
    pub(crate) fn least(&self) -> GrantValue {
        (self.least)()
    }
}

impl Grants {
    /// Grants a capability with this value. The value replaces an earlier one, but a list is added to an earlier list. A value
    /// that stands for nothing, such as `"none"`, takes the grant away.
    ///
    /// # Errors
    ///
    /// If the capability does not accept the value. The texts of a list that the capability does accept are granted all the
    /// same.
    pub fn grant(
        &mut self,
        capability: &Capability,
        value: GrantValue,
    ) -> Result<(), Vec<InvalidGrant>> {
        let (value, problems) = capability.read(value);
        match (self.granted.get_mut(capability.name()), value) {
            (Some(GrantValue::List(all)), Some(GrantValue::List(more))) => all.extend(more),
            (_, Some(value)) => _ = self.granted.insert(capability.name(), value),
            (_, None) => _ = self.granted.remove(capability.name()),
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems),
        }
    }

    /// Grants the least value with which a plugin that imports this capability loads, unless the capability has a grant
    /// already.
    pub fn grant_least(&mut self, capability: &Capability) {
        let least = || capability.least();
        self.granted.entry(capability.name()).or_insert_with(least);
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

/// Returns the line of the configuration that grants all of these.
pub(crate) fn grants_line(needs: &[&Capability]) -> String {
    let lines: Vec<_> = needs.iter().map(|need| need.line()).collect();
    format!("grants = {{ {} }}", lines.join(", "))
}
