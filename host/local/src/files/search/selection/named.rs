//! The names that a glob spells out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

/// A glob and the names in it.
#[derive(Debug)]
pub(super) struct Named {
    glob: Override,
    names: Vec<Name>,
}

/// The beginning of a name, up to the first character that stands for others.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    beginning: String,
    /// Whether the name ends there.
    is_whole: bool,
}

impl Named {
    pub(super) fn new(glob: &str, base: &Path) -> Result<Self, ignore::Error> {
        let mut builder = OverrideBuilder::new(base);
        builder.add(glob)?;
        Ok(Self {
            glob: builder.build()?,
            names: names(glob),
        })
    }

    /// Returns whether the glob spells out a name, or begins with the dot of one.
    pub(super) fn names(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        self.names.iter().any(|own| {
            let beginning = own.beginning.as_bytes();
            match own.is_whole {
                true => name == beginning,
                false => beginning.starts_with(b".") && name.starts_with(beginning),
            }
        })
    }

    /// Returns whether a path fits the glob.
    pub(super) fn fits(&self, path: &Path, is_dir: bool) -> bool {
        self.glob.matched(path, is_dir).is_whitelist()
    }
}

/// Returns the beginnings of all names in a glob, also of those in braces.
fn names(glob: &str) -> Vec<Name> {
    let mut names = Vec::new();
    let mut name = Some(String::new());
    let mut end = |name: &mut Option<String>, is_whole| {
        let ended = name.take().filter(|beginning| !beginning.is_empty());
        names.extend(ended.map(|beginning| Name {
            beginning,
            is_whole,
        }));
    };
    let mut letters = glob.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '/' | ',' | '}' => {
                end(&mut name, true);
                name = Some(String::new());
            }
            '{' => {
                end(&mut name, false);
                name = Some(String::new());
            }
            '*' | '?' | '[' => end(&mut name, false),
            letter => {
                let literal = if letter == '\\' {
                    letters.next()
                } else {
                    Some(letter)
                };
                if let (Some(name), Some(literal)) = (&mut name, literal) {
                    name.push(literal);
                }
            }
        }
    }
    end(&mut name, true);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_spells_out_names() {
        for (glob, name, expected) in [
            ("*", ".git", false),
            ("**/*.yml", ".github", false),
            (".github/**", ".github", true),
            (".git/**", ".github", false),
            ("**/.git*/x", ".github", true),
            (".*", ".git", true),
            (".env{,.local}", ".env.local", true),
            ("{.git,*.py}", ".github", false),
            ("{.a,.b}/*", ".b", true),
            ("src/out/*.rs", "out", true),
            ("out*/**", "output", false),
            (r"a\*b/**", "a*b", true),
            ("*.log", "debug.log", false),
        ] {
            let named = Named::new(glob, Path::new("/w")).unwrap();
            assert_eq!(named.names(OsStr::new(name)), expected, "{glob} {name}");
        }
    }
}
