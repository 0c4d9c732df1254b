//! Which entries of a directory a search goes on with.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use toolhost_workspace::files::Scope;

use super::ignores::Ignores;
use crate::files::Error;

/// The most globs and types, and the most bytes of one.
const MOST: usize = 100;
const MOST_BYTES: usize = 1_000;

/// What a search does with an entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether the entry is a result.
    pub(super) is_result: bool,
    /// Whether the search goes on below the entry, if that is a directory.
    pub(super) is_entered: bool,
}

impl Taken {
    const NOT: Self = Self {
        is_result: false,
        is_entered: false,
    };
}

/// The selection that a [`Scope`] describes.
#[derive(Debug)]
pub(super) struct Selection {
    globs: Override,
    types: Types,
    hidden: bool,
    /// Whether ignore files are read.
    pub(super) ignores: bool,
    pub(super) max_depth: usize,
}

impl Selection {
    pub(super) fn new(scope: &Scope, base: &Path) -> Result<Self, Error> {
        let all = || scope.globs.iter().chain(&scope.types);
        if all().count() > MOST || all().any(|text| text.len() > MOST_BYTES) {
            let text =
                format!("globs and types are at most {MOST}, each of {MOST_BYTES} bytes at most");
            return Err(Error::Invalid(text));
        }
        Ok(Self {
            globs: globs(&scope.globs, base).map_err(invalid)?,
            types: types(&scope.types).map_err(invalid)?,
            hidden: scope.hidden,
            ignores: !scope.ignored,
            max_depth: scope.max_depth.unwrap_or(usize::MAX),
        })
    }

    /// Returns what a search does with an entry.
    pub(super) fn takes(
        &self,
        path: &Path,
        name: &OsStr,
        is_dir: bool,
        ignores: Option<&Ignores>,
    ) -> Taken {
        let of_globs = self.globs.matched(path, is_dir);
        let is_named = match of_globs {
            Match::None => self.globs.num_whitelists() == 0,
            Match::Ignore(_) => return Taken::NOT,
            Match::Whitelist(_) => true,
        };
        let taken = Taken {
            // No type is one of directories.
            is_result: is_named && (!is_dir || self.types.is_empty()),
            is_entered: is_dir,
        };
        if of_globs.is_whitelist() {
            return taken;
        }
        let ignored = ignores.map_or(Match::None, |ignores| ignores.of(path, is_dir));
        let of_type = match self.types.is_empty() {
            true => Match::None,
            false => self.types.matched(path, is_dir).map(drop),
        };
        if ignored.is_ignore() || of_type.is_ignore() {
            return Taken::NOT;
        }
        let is_hidden = name.as_bytes().starts_with(b".");
        match self.hidden || !is_hidden || ignored.is_whitelist() || of_type.is_whitelist() {
            true => taken,
            false => Taken::NOT,
        }
    }
}

fn globs(globs: &[String], base: &Path) -> Result<Override, ignore::Error> {
    let mut builder = OverrideBuilder::new(base);
    for glob in globs {
        builder.add(glob)?;
    }
    builder.build()
}

fn types(names: &[String]) -> Result<Types, ignore::Error> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    names.iter().for_each(|name| _ = builder.select(name));
    builder.build()
}

#[expect(clippy::needless_pass_by_value, reason = "this maps errors")]
fn invalid(error: ignore::Error) -> Error {
    Error::Invalid(match &error {
        ignore::Error::UnrecognizedFileType(name) => format!(
            "there is no type {name:?} of files: use one of ripgrep's names, such as rust, py, js, ts, go, c, cpp, java, md, json, yaml or toml, or a glob such as *.{name}"
        ),
        error => error.to_string(),
    })
}
