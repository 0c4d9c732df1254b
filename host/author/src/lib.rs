//! The folder of a plugin: its template, the contract in it, and the way from its sources to a component.
//!
//! Nothing here loads or runs a component.

mod bindings;
mod cases;
mod contract;
mod embedded;
mod manifest;
mod program;
mod template;
mod toolchain;

pub use bindings::{BindingsError, write_bindings};
pub use cases::{Answer, Case, Cases, CasesError, Difference, Exchange, Got, Request};
pub use contract::{CONTRACT, write_contract};
pub use embedded::{File, WriteError};
pub use manifest::{Language, Manifest, ManifestError};
pub use program::{Program, ProgramError};
pub use template::{Template, TemplateError};
pub use toolchain::{Build, BuildError, Missing, without_names};
