//! Which entries of a directory a search goes on with.
//!
//! Ripgrep finds what a glob matches though it is hidden or ignored, so that `*` goes through `.git`. Models do not mean that: here, a glob
//! must spell out the name that is hidden or ignored.

mod named;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use toolhost_workspace::files::Scope;

use super::ignores::Ignores;
use crate::files::Error;
use named::Named;

/// The most globs and types, and the most bytes of one.
const MOST: usize = 100;
const MOST_BYTES: usize = 1_000;

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'e> {
    /// Its absolute path.
    pub(super) path: &'e Path,
    pub(super) name: &'e OsStr,
    pub(super) is_dir: bool,
    /// The ignore files of its directory, if they are read.
    pub(super) ignores: Option<&'e Ignores>,
}

/// The name of a file or directory that is hidden or ignored. What is below the directory is left out with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut(OsString);

/// The decision about an entry of a directory: whether a search finds it, and goes on below it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether the entry is a result.
    pub(super) is_result: bool,
    /// Whether the search goes on below the entry, if that is a directory.
    pub(super) is_entered: bool,
    /// For what is below the entry: the directory that is hidden or ignored.
    pub(super) left_out: Option<LeftOut>,
}

impl Taken {
    const NOT: Self = Self {
        is_result: false,
        is_entered: false,
        left_out: None,
    };
}

/// The selection that a [`Scope`] describes.
#[derive(Debug)]
pub(super) struct Selection {
    globs: Override,
    /// The globs without `!`, each by itself.
    named: Vec<Named>,
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
            named: named(&scope.globs, base).map_err(invalid)?,
            types: types(&scope.types).map_err(invalid)?,
            hidden: scope.hidden,
            ignores: !scope.ignored,
            max_depth: scope.max_depth.unwrap_or(usize::MAX),
        })
    }

    /// Returns what a search does with an entry. `above` is the directory above it that is hidden or ignored, if there is one.
    pub(super) fn takes(&self, entry: Entry<'_>, above: Option<&LeftOut>) -> Taken {
        let Entry { path, is_dir, .. } = entry;
        let fits = match self.globs.matched(path, is_dir) {
            Match::None => self.globs.num_whitelists() == 0,
            Match::Ignore(_) => return Taken::NOT,
            Match::Whitelist(_) => true,
        };
        // No type is one of directories.
        let is_of_type = match is_dir {
            true => self.types.is_empty(),
            false => !self.types.matched(path, false).is_ignore(),
        };
        let own = || self.leaves_out(entry).then(|| LeftOut(entry.name.into()));
        let Some(LeftOut(name)) = above.cloned().or_else(own) else {
            return Taken {
                is_result: fits && is_of_type,
                is_entered: is_dir,
                left_out: None,
            };
        };
        let mut named = self
            .named
            .iter()
            .filter(|glob| glob.names(&name))
            .peekable();
        Taken {
            is_entered: is_dir && named.peek().is_some(),
            is_result: is_of_type && named.any(|glob| glob.fits(path, is_dir)),
            left_out: Some(LeftOut(name)),
        }
    }

    /// Returns whether an entry is hidden or ignored, and the search leaves that out.
    fn leaves_out(&self, entry: Entry<'_>) -> bool {
        let ignores = entry.ignores;
        let ignored = ignores.map_or(Match::None, |ignores| ignores.of(entry.path, entry.is_dir));
        let is_hidden = entry.name.as_bytes().starts_with(b".");
        ignored.is_ignore() || (is_hidden && !self.hidden && !ignored.is_whitelist())
    }
}

fn globs(globs: &[String], base: &Path) -> Result<Override, ignore::Error> {
    let mut builder = OverrideBuilder::new(base);
    for glob in globs {
        builder.add(glob)?;
    }
    builder.build()
}

fn named(globs: &[String], base: &Path) -> Result<Vec<Named>, ignore::Error> {
    let wanted = globs.iter().filter(|glob| !glob.starts_with('!'));
    wanted.map(|glob| Named::new(glob, base)).collect()
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
