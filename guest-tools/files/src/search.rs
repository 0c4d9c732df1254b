//! What the tools `search_files` and `find_files` have in common: which files, and which results of all.

mod globs;
mod values;

use toolhost_edit::clean;
use toolhost_sdk::context;
use toolhost_sdk::files::{Error, Files, Page, Scope};

use crate::refusal::{self, Refusal};
use globs::{Base, Globs};
pub(crate) use values::Values;

/// The most results that a search goes over.
const MOST: u64 = 100_000;

/// Which files are meant. The arguments of both tools have these fields: serde refuses no unknown argument of a struct that is flattened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Among<'a> {
    pub(crate) path: Option<&'a str>,
    pub(crate) glob: Option<&'a Values>,
    pub(crate) kinds: Option<&'a Values>,
    pub(crate) hidden: bool,
    pub(crate) ignored: bool,
}

impl Among<'_> {
    pub(crate) fn path(&self) -> &str {
        self.path.filter(|path| !path.is_empty()).unwrap_or(".")
    }

    pub(crate) fn scope(&self, max_depth: Option<u32>) -> Result<Scope, Refusal> {
        Ok(Scope {
            path: refusal::required(self.path())?.into_owned(),
            globs: self.globs()?.lines,
            types: self.kinds.map(Values::words).unwrap_or_default(),
            hidden: self.hidden,
            ignored: self.ignored,
            max_depth,
        })
    }

    fn globs(&self) -> Result<Globs, Refusal> {
        let Some(written) = self.glob else {
            return Ok(Globs::default());
        };
        let workspace = context::workspace_root();
        let path = refusal::required(self.path())?;
        let path = clean(&path, Some(&workspace)).unwrap_or_default();
        let base = Base {
            path: &path,
            workspace: &workspace,
        };
        Globs::read(written, base)
    }

    /// Returns what a search that found nothing says of its globs.
    pub(crate) fn hints(&self) -> Option<String> {
        let hints = self.globs().ok()?.hints;
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// Returns which files a search left out that found nothing. Only a search for a text leaves out binary files.
    pub(crate) fn besides(&self, is_for_text: bool) -> Option<String> {
        let left_out: Vec<_> = [
            (!self.ignored, "files that .gitignore names (ignored)"),
            (!self.hidden, "files whose names begin with a dot (hidden)"),
            (is_for_text, "binary files (name one in path)"),
        ]
        .into_iter()
        .filter_map(|(is_left_out, what)| is_left_out.then_some(what))
        .collect();
        (!left_out.is_empty()).then(|| format!("not searched: {}", left_out.join(", ")))
    }

    /// Says why a search was not possible.
    pub(crate) fn refusal(&self, files: &dyn Files, error: Error) -> Refusal {
        match error {
            Error::Invalid(text) => Refusal::invalid(text),
            error => Refusal::opening(files, self.path(), error),
        }
    }
}

/// Returns the page from an offset on: with so many results if the model gives no limit, and with at most so many.
pub(crate) fn page(
    offset: Option<i64>,
    limit: Option<i64>,
    usual: u64,
    most: u64,
) -> Result<Page, Refusal> {
    let skip = refusal::number("offset", offset)?.unwrap_or_default();
    let limit = refusal::number("limit", limit)?.filter(|limit| *limit > 0);
    if skip >= MOST {
        let text = format!("a search goes over {MOST} results at most: search for less");
        return Err(Refusal::invalid(text));
    }
    let max = limit.unwrap_or(usual).min(most);
    Ok(Page {
        skip,
        max: max.min(MOST - skip),
    })
}

/// Says how many files a search by name could not look at.
pub(crate) fn unreadable(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 file or directory could not be read".to_owned()),
        count => Some(format!("{count} files or directories could not be read")),
    }
}

/// Says how many files a search for a text left out, and why.
pub(crate) fn unsearched(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some(
            "1 file or directory was not searched: it cannot be read, or its name is not UTF-8"
                .to_owned(),
        ),
        count => Some(format!(
            "{count} files or directories were not searched: they cannot be read, or their names are not UTF-8"
        )),
    }
}

/// Puts notes together.
pub(crate) fn note(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_left_out_are_counted() {
        assert_eq!(unreadable(0), None);
        assert_eq!(
            unreadable(1).unwrap(),
            "1 file or directory could not be read"
        );
        assert_eq!(unsearched(0), None);
        let one = unsearched(1).unwrap();
        assert!(one.starts_with("1 file or directory was "), "{one}");
        let two = unsearched(2).unwrap();
        assert!(two.ends_with("names are not UTF-8"), "{two}");
    }
}
