//! JSON Schemas of plugins: whether one is sound, and whether a value fits it.
//!
//! An untrusted author writes the schema; the host, providers and models use it. So everything that makes work on a schema grow
//! is bounded: its size, its nesting, its references and its patterns. A schema fetches nothing.

mod survey;

use std::time::Duration;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::cpu_limit::{Unfinished, limited};
use super::text::{shown, shown_up_to};
use survey::Survey;

/// The longest text of a schema, in bytes.
const MAX_SIZE: usize = 64 << 10;

/// The deepest nesting of the text, and the longest chain of references.
const MAX_DEPTH: usize = 64;
const MAX_CHAIN: usize = 256;

/// The most subschemas. Each reference counts as many as its target.
const MAX_SUBSCHEMAS: u64 = 100_000;

/// The most patterns, and the longest one in bytes.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERN: usize = 1024;

/// The most memory of one compiled pattern, and of its matcher's cache, each in bytes.
const PATTERN_MEMORY: usize = 1 << 20;

/// The most backtracking steps of one pattern. Only patterns with lookaround or back-references backtrack.
const BACKTRACKS: usize = 100_000;

/// A sound JSON Schema: of 2020-12, or of 2019-09 or draft 7 if its `$schema` says so.
#[derive(Debug)]
pub struct Schema {
    value: Value,
    validator: Validator,
    recursive: bool,
}

/// Why a schema is not sound. Each text continues a sentence that begins with the name of the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchema {
    /// The text of the schema is too long.
    #[error("has {0} bytes, the most is {MAX_SIZE}: shorten it")]
    TooLarge(usize),
    /// The text is not JSON.
    #[error("is not valid JSON: {0}")]
    NotJson(String),
    /// The text is JSON, but not an object.
    #[error("is not a JSON object")]
    NotAnObject,
    /// The schema nests too deeply.
    #[error("nests deeper than {MAX_DEPTH} levels: flatten it")]
    TooDeep,
    /// The schema names a draft that the host does not support.
    #[error(
        "has the $schema {0}: use \"https://json-schema.org/draft/2020-12/schema\", or leave it out; 2019-09 and draft-07 are understood as well"
    )]
    Draft(String),
    /// A subschema has an address or a draft of its own.
    #[error(
        "has {keyword} at {place}: only the whole schema may have one; put what it holds into $defs"
    )]
    Nested {
        /// The keyword.
        keyword: &'static str,
        /// The JSON pointer to it.
        place: String,
    },
    /// A reference leads out of the schema.
    #[error(
        "refers to {target} at {place}: nothing is fetched, so put that into $defs and refer to \"#/$defs/…\""
    )]
    Remote {
        /// The target of the reference.
        target: String,
        /// The JSON pointer to the reference.
        place: String,
    },
    /// A reference leads to a part that the schema does not have.
    #[error("refers to {target} at {place}, which it does not have")]
    Missing {
        /// The target of the reference.
        target: String,
        /// The JSON pointer to the reference.
        place: String,
    },
    /// A chain of references is too long.
    #[error("has references that lead on more than {MAX_CHAIN} levels: flatten it")]
    Chain,
    /// With the targets of its references the schema is too large.
    #[error(
        "has more than {MAX_SUBSCHEMAS} subschemas, if each reference counts as what it refers to: simplify it"
    )]
    Explodes,
    /// The schema has too many patterns, or one that is too long.
    #[error(
        "has more than {MAX_PATTERNS} patterns, or one with more than {MAX_PATTERN} bytes: simplify it"
    )]
    Patterns,
    /// The schema has a hidden character.
    #[error(
        "has the character {0} at {1}, which a model reads and a person does not see: remove it"
    )]
    Hidden(String, String),
    /// The object is not a valid JSON Schema.
    #[error("is not a valid JSON Schema: {problem}, at {place}")]
    NotASchema {
        /// The problem, as a text.
        problem: String,
        /// The JSON pointer to it.
        place: String,
    },
}

impl Schema {
    /// Reads the text of a schema.
    ///
    /// It takes little time, and up to some megabytes of stack.
    ///
    /// # Errors
    ///
    /// See [`InvalidSchema`].
    pub fn parse(text: &str) -> Result<Self, InvalidSchema> {
        if text.len() > MAX_SIZE {
            return Err(InvalidSchema::TooLarge(text.len()));
        }
        // serde_json goes no deeper than 128 levels.
        match serde_json::from_str(text) {
            Ok(value) => Self::new(value),
            Err(error) if error.to_string().starts_with("recursion limit") => {
                Err(InvalidSchema::TooDeep)
            }
            Err(error) => Err(InvalidSchema::NotJson(error.to_string())),
        }
    }

    /// Makes a schema of a JSON value: as [`Schema::parse`], without the text.
    ///
    /// # Errors
    ///
    /// See [`InvalidSchema`].
    pub fn new(value: Value) -> Result<Self, InvalidSchema> {
        if !value.is_object() {
            return Err(InvalidSchema::NotAnObject);
        }
        let draft = draft(&value)?;
        let recursive = Survey::of(&value)?.follow()?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(PATTERN_MEMORY)
            .dfa_size_limit(PATTERN_MEMORY);
        let validator = jsonschema::options()
            .with_draft(draft)
            .with_pattern_options(patterns)
            .build(&value)
            .map_err(|error| InvalidSchema::NotASchema {
                problem: shown_up_to(&error.to_string(), 200),
                place: place(error.instance_path().as_str()),
            })?;
        Ok(Self {
            value,
            validator,
            recursive,
        })
    }

    /// Returns the schema as it was written.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns whether the schema refers to itself. Comparing a value with such a schema can take for ever.
    pub fn is_recursive(&self) -> bool {
        self.recursive
    }

    /// Compares a value with the schema. If the schema refers to itself, the time for this is not bounded.
    ///
    /// # Errors
    ///
    /// The first mismatch, as a text.
    pub fn fits(&self, value: &Value) -> Result<(), String> {
        self.validator.validate(value).map_err(|error| {
            let problem = shown_up_to(&error.to_string(), 200);
            match error.instance_path().as_str() {
                "" => problem,
                path => format!("{problem}, at {}", shown(path)),
            }
        })
    }

    /// Compares a value with a schema on a thread of its own, and gives up when the thread has used `limit` of CPU time. The
    /// thread cannot be stopped and runs on, so call this only in a process that ends soon.
    ///
    /// # Errors
    ///
    /// A text that names the first mismatch, or says that the schema is not sound or that the comparison takes too long.
    pub async fn compare(schema: Value, value: Value, limit: Duration) -> Result<(), String> {
        let compared = limited(limit, move || {
            let schema = Self::new(schema).map_err(|error| format!("the schema {error}"))?;
            schema.fits(&value)
        });
        compared.await.unwrap_or_else(|unfinished| {
            Err(match unfinished {
                Unfinished::Limit(limit) => format!(
                    "comparing takes more than {} s of CPU time: make the schema simpler",
                    limit.as_secs_f64()
                ),
                other => format!("the comparison failed: {other}"),
            })
        })
    }

    pub(super) fn into_value(self) -> Value {
        self.value
    }
}

/// Returns the draft that the schema names, if the host supports that draft.
fn draft(schema: &Value) -> Result<Draft, InvalidSchema> {
    let Some(name) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let known = name.as_str().map(|name| {
        let name = name.trim_end_matches('#');
        let name = name
            .strip_prefix("https://")
            .or_else(|| name.strip_prefix("http://"));
        name.unwrap_or_default()
    });
    match known {
        Some("json-schema.org/draft/2020-12/schema") => Ok(Draft::Draft202012),
        Some("json-schema.org/draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("json-schema.org/draft-07/schema") => Ok(Draft::Draft7),
        _ => Err(InvalidSchema::Draft(shown(&name.to_string()))),
    }
}

/// Returns a JSON pointer as an error shows it.
fn place(pointer: &str) -> String {
    match pointer {
        "" => "its root".into(),
        pointer => shown(pointer),
    }
}

#[cfg(test)]
mod tests;
