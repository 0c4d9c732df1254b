//! Reading a file key by key, so that one mistake does not hide the next.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::problems::{below, unknown};

/// A problem whose line is not known yet.
#[derive(Debug)]
pub(super) struct Found {
    /// The path of the key, or of the section that it belongs to.
    pub(super) key: String,
    /// The part of the path that may be shown.
    pub(super) shown: String,
    pub(super) text: String,
}

/// A table of the file. Each known key is taken out once; the keys that are left in the end are unknown.
pub(super) struct Section<'t, 'f> {
    path: String,
    left: BTreeMap<String, Value<'t>>,
    known: Vec<&'static str>,
    given: Vec<&'static str>,
    found: &'f RefCell<Vec<Found>>,
}

/// A value of the file.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

impl<'t, 'f> Section<'t, 'f> {
    pub(super) fn new(
        path: impl Into<String>,
        table: DeTable<'t>,
        found: &'f RefCell<Vec<Found>>,
    ) -> Self {
        Self {
            path: path.into(),
            left: table
                .into_iter()
                .map(|(key, value)| (key.into_inner().into_owned(), value))
                .collect(),
            known: Vec::new(),
            given: Vec::new(),
            found,
        }
    }

    /// Adds a problem of one key.
    pub(super) fn wrong(&self, key: &str, text: impl Into<String>) {
        self.push(below(&self.path, key), text);
    }

    /// Adds a problem of one key whose name must not be shown.
    pub(super) fn wrong_unnamed(&self, key: &str, text: impl Into<String>) {
        let problem = Found {
            key: below(&self.path, key),
            shown: self.path.clone(),
            text: text.into(),
        };
        self.found.borrow_mut().push(problem);
    }

    /// Adds a problem of the table itself.
    pub(super) fn wrong_here(&self, text: impl Into<String>) {
        self.push(self.path.clone(), text);
    }

    fn push(&self, key: String, text: impl Into<String>) {
        let shown = key.clone();
        let text = text.into();
        self.found.borrow_mut().push(Found { key, shown, text });
    }

    /// Takes a value out, if it is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        // A section may look for a key in two places.
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let value = self.left.remove(key)?;
        self.given.push(key);
        Some(value)
    }

    /// Takes a value of a type whose own errors describe the expected value.
    pub(super) fn read<T: Deserialize<'t>>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        let read = T::deserialize(ValueDeserializer::from(value));
        read.inspect_err(|error| self.wrong(key, error.message()))
            .ok()
    }

    /// Takes a value that should be `this`, such as "a text". The error does not repeat the value in the file: it may be a
    /// secret.
    pub(super) fn expect<T: Deserialize<'t>>(
        &mut self,
        key: &'static str,
        this: &str,
    ) -> Option<T> {
        let value = self.take(key)?;
        let read = T::deserialize(ValueDeserializer::from(value));
        read.inspect_err(|_| self.wrong(key, format!("it must be {this}")))
            .ok()
    }

    /// Takes a value that must be there.
    pub(super) fn required<T: Deserialize<'t>>(
        &mut self,
        key: &'static str,
        this: &str,
    ) -> Option<T> {
        if !self.left.contains_key(key) {
            self.wrong_here(format!("{key} is missing; it is {this}"));
        }
        self.expect(key, this)
    }

    /// Takes a text.
    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        self.expect(key, "a text in quotes")
    }

    /// Takes a list of texts.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        self.expect(key, "a list of texts, such as [\"a\", \"b\"]")
    }

    /// Takes a boolean.
    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        self.expect(key, "true or false")
    }

    /// Takes a table below this one.
    pub(super) fn section(&mut self, key: &'static str) -> Option<Section<'t, 'f>> {
        self.section_of(key, "it must be a table, such as { key = \"value\" }")
    }

    /// Takes a table below this one, or says how it is written.
    pub(super) fn section_of(&mut self, key: &'static str, written: &str) -> Option<Self> {
        let value = self.take(key)?;
        self.table(key, value, written)
    }

    /// Returns the table in a value, or adds a problem if the value is no table.
    pub(super) fn table(&self, key: &str, value: Value<'t>, otherwise: &str) -> Option<Self> {
        match value.into_inner() {
            DeValue::Table(table) => Some(Self::new(below(&self.path, key), table, self.found)),
            _ => {
                self.wrong(key, otherwise);
                None
            }
        }
    }

    /// Returns whether the file has a known key, with any value.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.given.contains(&key)
    }

    /// Returns the known keys: those that were asked for.
    pub(super) fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// Takes all entries that are left, under any name.
    pub(super) fn rest(&mut self) -> BTreeMap<String, Value<'t>> {
        std::mem::take(&mut self.left)
    }

    /// Adds a problem for each unknown key.
    pub(super) fn finish(&self) {
        for key in self.left.keys() {
            self.wrong(key, unknown(key, "key", &self.known));
        }
    }
}
