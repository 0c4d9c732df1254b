//! The files that fit a pattern.

use std::collections::VecDeque;

use super::{Error, Files, Kind};

/// The most names that are asked for at once.
const PAGE: u32 = 10_000;

/// Returns the paths of the files that fit a pattern such as `src/**/*.rs`: those of a directory by name, then those below it.
///
/// `*` and `?` stand for characters of one name, and `**` for any number of directories. A name that begins with a dot fits only a
/// part of the pattern that begins with one. Links to directories are not followed, and directories that cannot be read are left
/// out; but if the directory at the beginning of the pattern cannot be read, its error is all that comes.
///
/// ```
/// use toolhost_sdk::files::walk;
/// use toolhost_sdk::testing::FakeFiles;
///
/// let files = FakeFiles::new().with("src/main.rs", "").with("src/a/b.rs", "");
/// let found: Result<Vec<_>, _> = walk(&files, "src/**/*.rs").collect();
/// assert_eq!(found?, ["src/main.rs", "src/a/b.rs"]);
/// # Ok::<(), toolhost_sdk::files::Error>(())
/// ```
pub fn walk<'a>(
    files: &'a dyn Files,
    pattern: &str,
) -> impl Iterator<Item = Result<String, Error>> + use<'a> {
    let mut walk = Walk {
        files,
        pattern: Pattern::new(pattern),
        waiting: vec![Vec::new()],
        found: VecDeque::new(),
    };
    std::iter::from_fn(move || walk.next())
}

struct Walk<'a> {
    files: &'a dyn Files,
    pattern: Pattern,
    /// The directories to read, each as the names that lead to it; the next one is the last.
    waiting: Vec<Vec<String>>,
    /// The files of the directory that was read last.
    found: VecDeque<String>,
}

impl Walk<'_> {
    fn next(&mut self) -> Option<Result<String, Error>> {
        loop {
            if let Some(path) = self.found.pop_front() {
                return Some(Ok(path));
            }
            let names = self.waiting.pop()?;
            match self.read(&names) {
                Ok(()) => {}
                Err(Error::NotFound | Error::NotADirectory | Error::Denied(_))
                    if !names.is_empty() => {}
                Err(error) => {
                    self.waiting.clear();
                    return Some(Err(error));
                }
            }
        }
    }

    /// Reads a directory: finds files, and directories to read.
    fn read(&mut self, above: &[String]) -> Result<(), Error> {
        let directory = self.pattern.path(above);
        let mut below = Vec::new();
        let mut last: Option<String> = None;
        loop {
            let (entries, more) = self
                .files
                .read_directory(&directory, last.as_deref(), PAGE)?;
            last = entries.last().map(|entry| entry.name.clone());
            for entry in entries {
                let names = [above, &[entry.name]].concat();
                match entry.kind {
                    Kind::Directory if self.pattern.goes_into(&names) => below.push(names),
                    Kind::File if self.pattern.fits(&names) => {
                        self.found.push_back(self.pattern.path(&names));
                    }
                    Kind::Symlink if self.pattern.fits(&names) => {
                        let path = self.pattern.path(&names);
                        let target = self.files.metadata(&path);
                        if target.is_ok_and(|target| target.kind == Kind::File) {
                            self.found.push_back(path);
                        }
                    }
                    _ => {}
                }
            }
            if !more || last.is_none() {
                break;
            }
        }
        self.waiting.extend(below.into_iter().rev());
        Ok(())
    }
}

/// A pattern: the directory from which the search begins, and the parts below it.
struct Pattern {
    directory: String,
    parts: Vec<String>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let mut parts: Vec<&str> = text.split('/').collect();
        if parts.pop_if(|last| matches!(*last, "" | "**")).is_some() {
            parts.extend(["**", "*"]);
        }
        let wild = parts.iter().position(|part| part.contains(['*', '?']));
        let below = parts.split_off(wild.unwrap_or(parts.len().saturating_sub(1)));
        let directory = match parts.join("/") {
            empty if empty.is_empty() && text.starts_with('/') => "/".to_owned(),
            empty if empty.is_empty() => ".".to_owned(),
            directory => directory,
        };
        let below = below.into_iter().filter(|part| *part != ".");
        Self {
            directory,
            parts: below.map(str::to_owned).collect(),
        }
    }

    /// Returns whether files below this directory can fit.
    fn goes_into(&self, names: &[String]) -> bool {
        let enters_hidden = self.parts.iter().any(|part| part.starts_with('.'));
        let is_hidden = names.last().is_some_and(|name| name.starts_with('.'));
        let is_deep = self.parts.iter().any(|part| part == "**");
        (enters_hidden || !is_hidden) && (is_deep || names.len() < self.parts.len())
    }

    /// Returns whether the path of a file below the directory fits.
    fn fits(&self, names: &[String]) -> bool {
        fits(&self.parts, names)
    }

    /// Returns the path of what is below the directory, which is left out if it is `.`.
    fn path(&self, names: &[String]) -> String {
        match (names, self.directory.as_str()) {
            ([], directory) => directory.to_owned(),
            (names, ".") => names.join("/"),
            (names, directory) => {
                format!("{}/{}", directory.trim_end_matches('/'), names.join("/"))
            }
        }
    }
}

fn fits(parts: &[String], names: &[String]) -> bool {
    match (parts, names) {
        ([], names) => names.is_empty(),
        (_, []) => false,
        ([part, rest @ ..], [name, below @ ..]) if part == "**" => {
            fits(rest, names) || (!name.starts_with('.') && fits(parts, below))
        }
        ([part, rest @ ..], [name, below @ ..]) => fits_name(part, name) && fits(rest, below),
    }
}

fn fits_name(part: &str, name: &str) -> bool {
    if name.starts_with('.') && !part.starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    // Whether the part so far fits that many characters of the name.
    let mut fits = vec![false; name.len() + 1];
    if let Some(first) = fits.first_mut() {
        *first = true;
    }
    for wanted in part.chars() {
        let mut before = false;
        for (at, fits) in fits.iter_mut().enumerate() {
            let here = *fits;
            let reads = |is: bool| before && is;
            let last = at.checked_sub(1).and_then(|at| name.get(at));
            *fits = match wanted {
                '*' => here || before,
                '?' => reads(true),
                other => reads(last == Some(&other)),
            };
            before = if wanted == '*' { *fits } else { here };
        }
    }
    fits.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeFiles;

    #[test]
    fn files_that_fit_a_pattern_are_found() {
        let names = [
            "a.js",
            "b.txt",
            ".hidden/c.js",
            "src/d.js",
            "src/deep/e.js",
            "src/deep/.f.js",
            "tests/g.js",
        ];
        let files = names
            .iter()
            .fold(FakeFiles::new(), |files, name| files.with(name, ""))
            .fails("tests", Error::Denied("no".to_owned()));
        let found = |pattern: &str| walk(&files, pattern).collect::<Result<Vec<_>, _>>();
        for (pattern, expected) in [
            ("*.js", &["a.js"][..]),
            ("**/*.js", &["a.js", "src/d.js", "src/deep/e.js"]),
            ("**", &["a.js", "b.txt", "src/d.js", "src/deep/e.js"]),
            ("src/*/?.js", &["src/deep/e.js"]),
            ("src/**/deep/*", &["src/deep/e.js"]),
            ("/workspace/src/*.js", &["/workspace/src/d.js"]),
            (".hidden/*", &[".hidden/c.js"]),
            ("**/.*", &["src/deep/.f.js"]),
            ("src/d.js", &["src/d.js"]),
            ("*.[jt]*", &[]),
        ] {
            assert_eq!(found(pattern).unwrap(), expected, "{pattern}");
        }
        assert_eq!(found("nowhere/*"), Err(Error::NotFound));
        assert_eq!(found("tests/*"), Err(Error::Denied("no".to_owned())));
    }

    #[test]
    fn stars_stand_for_any_number_of_characters() {
        for (part, name, expected) in [
            ("*", "é", true),
            ("a*b*c", "axxbc", true),
            ("a*b*c", "axxcb", false),
            ("**a", "a", true),
            ("?", "é", true),
            ("??", "é", false),
            ("", "a", false),
            ("*.rs", ".rs", false),
        ] {
            assert_eq!(fits_name(part, name), expected, "{part} {name}");
        }
    }
}
