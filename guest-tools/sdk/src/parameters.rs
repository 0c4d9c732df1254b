//! The parameters of a function with `#[tool]`, read from the text of a call's arguments without serde: a small plugin stays small.
//!
//! What models send is taken as in [`arguments`](crate::arguments), and errors say the same.

mod json;
mod types;
mod whole;

use json::Parts;
pub use json::Value;
pub use types::{Mismatch, Parameter};
pub(crate) use whole::decimal;

use crate::ToolError;
use crate::arguments::unknown_argument;

/// A parameter that is being read.
pub trait Slot {
    /// Returns what is known of the type.
    fn facts(&self) -> Facts;

    /// Takes the value of the argument.
    ///
    /// # Errors
    ///
    /// The value does not fit.
    fn fill(&mut self, value: Value<'_>) -> Result<(), Mismatch>;
}

/// What the reader must know of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Whether the function can be called now: there is a value, or the call may leave it out.
    is_complete: bool,
    /// Whether a text without characters means that the argument is left out.
    leaves_out_empty: bool,
}

/// A parameter that a call must give.
#[derive(Debug)]
pub struct Required<T>(pub Option<T>);

/// A parameter that a call may leave out.
#[derive(Debug)]
pub struct Optional<T>(pub Option<T>);

impl<T: Parameter> Slot for Required<T> {
    fn facts(&self) -> Facts {
        Facts {
            is_complete: self.0.is_some(),
            leaves_out_empty: false,
        }
    }

    fn fill(&mut self, value: Value<'_>) -> Result<(), Mismatch> {
        self.0 = Some(T::read(value)?);
        Ok(())
    }
}

impl<T: Parameter> Slot for Optional<T> {
    fn facts(&self) -> Facts {
        Facts {
            is_complete: true,
            leaves_out_empty: !T::TAKES_EMPTY,
        }
    }

    fn fill(&mut self, value: Value<'_>) -> Result<(), Mismatch> {
        self.0 = Some(T::read(value)?);
        Ok(())
    }
}

impl<T> Required<T> {
    /// Returns the value.
    ///
    /// # Errors
    ///
    /// There is none, which [`read`] has refused before.
    pub fn value(self) -> Result<T, ToolError> {
        self.0.ok_or_else(|| missing(""))
    }
}

/// Fills the slots, each with the argument of its name.
///
/// # Errors
///
/// [`ToolError::InvalidArguments`]: the text is no JSON object, an argument does not fit or does not exist, or a required one is
/// missing.
#[inline(never)]
pub fn read(arguments: &str, slots: &mut [(&str, &mut dyn Slot)]) -> Result<(), ToolError> {
    let is_empty = arguments.trim_ascii().is_empty();
    let value = json::parse(if is_empty { "{}" } else { arguments }).map_err(|at| {
        invalid(&[
            "from byte ",
            &decimal(false, at as u64),
            " on, the text is not JSON",
        ])
    })?;
    let mut parts = match value {
        Value::Object(text) => Parts::of(text),
        other => return Err(invalid(&[&types::mismatch(&other, "an object")])),
    };
    while let Some((name, value)) = parts.property() {
        let Some((_, slot)) = slots.iter_mut().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = slots.iter().map(|(name, _)| *name).collect();
            return Err(invalid(&[&unknown_argument(&name, &names)]));
        };
        let says_nothing = match &value {
            Value::Null => true,
            Value::Text(text) => text.is_empty() && slot.facts().leaves_out_empty,
            _ => false,
        };
        if !says_nothing {
            slot.fill(value).map_err(|mismatch| {
                let Mismatch { place, reason } = &mismatch;
                let parts = ["invalid argument `", &name, place, "`: ", reason];
                ToolError::InvalidArguments(text(&parts))
            })?;
        }
    }
    match slots.iter().find(|(_, slot)| !slot.facts().is_complete) {
        Some((name, _)) => Err(missing(name)),
        None => Ok(()),
    }
}

fn missing(name: &str) -> ToolError {
    invalid(&["missing field `", name, "`"])
}

fn invalid(reason: &[&str]) -> ToolError {
    ToolError::InvalidArguments(text(&["invalid arguments: ", &text(reason)]))
}

/// Joins parts of a text. `format!` would make a small plugin several kilobytes larger, and so would this where it is used.
#[inline(never)]
pub(crate) fn text(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests;
