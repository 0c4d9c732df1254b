//! A walk over a schema before the host uses it: resolves its references and computes its size with them.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{
    InvalidSchema, MAX_CHAIN, MAX_DEPTH, MAX_PATTERN, MAX_PATTERNS, MAX_SUBSCHEMAS, place,
};
use crate::text::{hidden_in, invisible_in, shown};

/// Keywords whose value is data: the keys in that value are not keywords.
const DATA: [&str; 5] = ["enum", "const", "default", "examples", "example"];

/// Keywords whose value is an object of names of the author's own, each with a schema.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The anchors and the number of patterns that a walk through a schema found.
pub(super) struct Survey<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    patterns: usize,
}

/// The sizes of a schema and of its parts, including the schemas that they refer to.
struct Sizes<'a> {
    survey: &'a Survey<'a>,
    /// The sizes by the address of the value, which does not move.
    known: HashMap<usize, u64>,
    under_way: HashSet<usize>,
    recursive: bool,
}

impl<'a> Survey<'a> {
    /// Walks over the text of a schema without following references.
    pub(super) fn of(root: &'a Value) -> Result<Self, InvalidSchema> {
        let mut survey = Self {
            root,
            anchors: HashMap::new(),
            patterns: 0,
        };
        survey.schema(root, &mut Vec::new())?;
        Ok(survey)
    }

    /// Follows the references, and returns whether one of them is recursive: it leads back to a schema that contains it.
    pub(super) fn follow(&self) -> Result<bool, InvalidSchema> {
        let mut sizes = Sizes {
            survey: self,
            known: HashMap::new(),
            under_way: HashSet::new(),
            recursive: false,
        };
        sizes.of(self.root, 0, &mut Vec::new())?;
        Ok(sizes.recursive)
    }

    /// Walks over a schema, or a list of schemas.
    fn schema(&mut self, value: &'a Value, path: &mut Vec<&'a str>) -> Result<(), InvalidSchema> {
        if path.len() > MAX_DEPTH {
            return Err(InvalidSchema::TooDeep);
        }
        match value {
            Value::Object(fields) => {
                for (key, inner) in fields {
                    path.push(key);
                    self.keyword(key, inner, value, path)?;
                    path.pop();
                }
            }
            Value::Array(items) => {
                for item in items {
                    path.push("-");
                    self.schema(item, path)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        key: &'a str,
        inner: &'a Value,
        schema: &'a Value,
        path: &mut Vec<&'a str>,
    ) -> Result<(), InvalidSchema> {
        check_seen(key, false, path)?;
        let text = inner.as_str();
        match (key, text) {
            ("$schema" | "$id" | "id", Some(_)) if path.len() > 1 => {
                let keyword = match key {
                    "$schema" => "$schema",
                    _ => "$id",
                };
                return Err(InvalidSchema::Nested {
                    keyword,
                    place: pointer(path),
                });
            }
            ("$anchor" | "$dynamicAnchor", Some(name)) => {
                self.anchors.insert(name, schema);
            }
            ("pattern", Some(pattern)) => self.pattern(pattern)?,
            ("title" | "description" | "$comment", Some(text)) => check_seen(text, true, path)?,
            ("patternProperties", _) => {
                for pattern in inner.as_object().into_iter().flat_map(|named| named.keys()) {
                    self.pattern(pattern)?;
                }
            }
            _ => {}
        }
        if DATA.contains(&key) {
            return check_data(inner, path);
        }
        match inner.as_object() {
            Some(named) if NAMED.contains(&key) => {
                for (name, schema) in named {
                    if key != "patternProperties" {
                        check_seen(name, false, path)?;
                    }
                    path.push(name);
                    self.schema(schema, path)?;
                    path.pop();
                }
                Ok(())
            }
            _ => self.schema(inner, path),
        }
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), InvalidSchema> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS || pattern.len() > MAX_PATTERN {
            return Err(InvalidSchema::Patterns);
        }
        Ok(())
    }

    /// Returns the schema that a reference refers to.
    fn resolve(&self, target: &str, path: &[&str]) -> Result<&'a Value, InvalidSchema> {
        let Some(fragment) = target.strip_prefix('#') else {
            return Err(InvalidSchema::Remote {
                target: shown(target),
                place: pointer(path),
            });
        };
        let found = match fragment {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => {
                let decoded = percent_decode_str(pointer).decode_utf8_lossy();
                self.root.pointer(&decoded)
            }
            anchor => self.anchors.get(anchor).copied(),
        };
        found.ok_or_else(|| InvalidSchema::Missing {
            target: shown(target),
            place: pointer(path),
        })
    }
}

impl<'a> Sizes<'a> {
    /// Counts the schemas that a schema consists of, including those that it refers to. A schema that refers to itself counts
    /// once.
    fn of(
        &mut self,
        value: &'a Value,
        depth: usize,
        path: &mut Vec<&'a str>,
    ) -> Result<u64, InvalidSchema> {
        if depth > MAX_CHAIN {
            return Err(InvalidSchema::Chain);
        }
        let address = std::ptr::from_ref(value).addr();
        if let Some(size) = self.known.get(&address) {
            return Ok(*size);
        }
        if !self.under_way.insert(address) {
            self.recursive = true;
            return Ok(1);
        }
        let mut size = 1_u64;
        let mut add = |more: u64| {
            size = size.saturating_add(more);
            if size > MAX_SUBSCHEMAS {
                return Err(InvalidSchema::Explodes);
            }
            Ok(())
        };
        match value {
            Value::Object(fields) => {
                for (key, inner) in fields {
                    let keyword = key.as_str();
                    path.push(key);
                    match inner {
                        Value::String(target) if REFERENCES.contains(&keyword) => {
                            let found = self.survey.resolve(target, path)?;
                            add(self.of(found, depth + 1, path)?)?;
                        }
                        _ if DATA.contains(&keyword) => {}
                        // The keys are names, also those that are spelled like a keyword.
                        Value::Object(named) if NAMED.contains(&keyword) => {
                            for (name, schema) in named {
                                path.push(name);
                                add(self.of(schema, depth + 2, path)?)?;
                                path.pop();
                            }
                        }
                        _ => add(self.of(inner, depth + 1, path)?)?,
                    }
                    path.pop();
                }
            }
            Value::Array(items) => {
                for item in items {
                    add(self.of(item, depth + 1, path)?)?;
                }
            }
            _ => size = 0,
        }
        self.under_way.remove(&address);
        self.known.insert(address, size);
        Ok(size)
    }
}

/// Checks data. Data may have control characters, such as a value that is a line end, but no invisible characters. The limit on
/// the schema's text bounds its size.
fn check_data(value: &Value, path: &[&str]) -> Result<(), InvalidSchema> {
    let check = |text: &str| invisible_in(text).map_or(Ok(()), |c| Err(hidden(c, path)));
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().try_for_each(|item| check_data(item, path)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            check(key)?;
            check_data(value, path)
        }),
        _ => Ok(()),
    }
}

fn check_seen(text: &str, several_lines: bool, path: &[&str]) -> Result<(), InvalidSchema> {
    hidden_in(text, several_lines).map_or(Ok(()), |c| Err(hidden(c, path)))
}

fn hidden(c: char, path: &[&str]) -> InvalidSchema {
    InvalidSchema::Hidden(c.escape_unicode().to_string(), pointer(path))
}

/// Writes a path as a JSON pointer.
fn pointer(path: &[&str]) -> String {
    let parts = path
        .iter()
        .map(|part| part.replace('~', "~0").replace('/', "~1"));
    place(&parts.fold(String::new(), |pointer, part| pointer + "/" + &part))
}
