//! Globs as models write them: several in one text, with `./` in front, or absolute.

mod absolute;

use std::ops::Range;

use super::values::Values;
use crate::refusal::Refusal;

/// The directory that a search begins at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    /// Its absolute path, without `.` and `..`.
    pub(crate) path: &'a str,
    /// The absolute path of the workspace.
    pub(crate) workspace: &'a str,
}

/// The globs of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Globs {
    /// The globs as the host takes them: lines of a `.gitignore` in the directory that is searched.
    pub(crate) lines: Vec<String>,
    /// The sentences about the globs for a search that found nothing.
    pub(crate) hints: Vec<String>,
}

impl Globs {
    /// Reads the globs of an argument.
    ///
    /// # Errors
    ///
    /// A glob names no file of the directory that is searched.
    pub(crate) fn read(written: &Values, base: Base<'_>) -> Result<Self, Refusal> {
        let mut globs = Self::default();
        let (parts, whole) = match written {
            Values::List(list) => (list.clone(), Vec::new()),
            Values::Text(text) => divided(text),
        };
        let hint = |glob| format!("glob {glob:?} is one name; pass several globs as a list");
        globs.hints.extend(whole.iter().map(hint));
        for part in parts.iter().filter(|part| !part.is_empty()) {
            globs.add(part, base)?;
        }
        Ok(globs)
    }

    fn add(&mut self, written: &str, base: Base<'_>) -> Result<(), Refusal> {
        let (mark, glob) = match written.strip_prefix('!') {
            Some(glob) => ("!", glob),
            None => ("", written),
        };
        let is_relative = glob == "." || glob.starts_with("./") || glob.starts_with("../");
        if !glob.starts_with('/') && !is_relative {
            // A line of a `.gitignore` that begins with this mark is a comment.
            let escape = if written.starts_with('#') { "\\" } else { "" };
            self.lines.push(format!("{escape}{written}"));
            return Ok(());
        }
        let full = match is_relative {
            true => format!("{}/{glob}", absolute::escaped(base.path)),
            false => glob.to_owned(),
        };
        if let Some(line) = absolute::below(&full, base.path) {
            self.lines.push(format!("{mark}{line}"));
            return Ok(());
        }
        if is_relative || absolute::below(&full, base.workspace).is_some() {
            // The search has none of the files that this glob leaves out.
            if mark == "!" {
                return Ok(());
            }
            return Err(Refusal::invalid(format!(
                "glob {glob:?} names nothing below {}, which is searched; set path to a directory that holds these files",
                base.path
            )));
        }
        // As in a `.gitignore`, the slash stands for the directory that is searched.
        self.lines.push(written.to_owned());
        let hint = format!(
            "glob {glob:?} is taken relative to {}, which is searched",
            base.path
        );
        self.hints.push(hint);
        Ok(())
    }
}

/// Returns the globs in a text, and those of them that have blanks or commas. A text is several globs where all of its parts look like
/// globs, and where a part begins with `!`. Otherwise it is one glob, as it is written.
fn divided(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut globs, mut whole) = (Vec::new(), Vec::new());
    let parts = separated(text);
    let of = |range: Range<usize>| text.get(range).unwrap_or_default();
    let begins = |part: &Range<usize>| of(part.clone()).starts_with('!');
    for group in parts.chunk_by(|_, next| !begins(next)) {
        let all = || group.iter().map(|part| of(part.clone()));
        match group {
            [first, .., last] if !all().all(is_glob) => {
                let one = of(first.start..last.end).to_owned();
                whole.push(one.clone());
                globs.push(one);
            }
            _ => globs.extend(all().map(str::to_owned)),
        }
    }
    (globs, whole)
}

/// Returns whether a text looks like a glob, and not like a part of a name.
fn is_glob(text: &str) -> bool {
    text.starts_with(['!', '.', '/']) || text.contains(['*', '?', '[', '{'])
}

/// Divides a text at white space and commas, except in brackets and behind a backslash.
fn separated(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut begin, mut depth, mut is_escaped) = (0, 0_usize, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' | ' ' | '\t' | '\r' | '\n' if depth == 0 => {
                parts.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(begin..text.len());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Base<'_> = Base {
        path: "/w/k",
        workspace: "/w",
    };

    fn lines(text: &str) -> Vec<String> {
        let written = Values::Text(text.to_owned());
        Globs::read(&written, BASE).unwrap().lines
    }

    #[test]
    fn a_text_is_one_glob_unless_all_parts_are_globs() {
        for (text, expected) in [
            ("*.py *.txt", &["*.py", "*.txt"][..]),
            ("*.py, *.txt", &["*.py", "*.txt"]),
            ("*.py,*.txt", &["*.py", "*.txt"]),
            ("*.rs !src", &["*.rs", "!src"]),
            ("f !g !h i", &["f", "!g", "!h i"]),
            ("My Docs/** !*.py", &["My Docs/**", "!*.py"]),
            (".env .envrc", &[".env", ".envrc"]),
            ("*.{ts, tsx} *.[a b]", &["*.{ts, tsx}", "*.[a b]"]),
            ("My Docs/**", &["My Docs/**"]),
            ("a b.txt", &["a b.txt"]),
            ("a,b.txt", &["a,b.txt"]),
            ("*,v", &["*,v"]),
            (r"a\ *.txt", &[r"a\ *.txt"]),
            (r"*\ ", &[r"*\ "]),
            (" *.py ", &["*.py"]),
            ("{a b.txt,zzz}", &["{a b.txt,zzz}"]),
            ("#notes*", &[r"\#notes*"]),
            ("", &[]),
        ] {
            assert_eq!(lines(text), expected, "{text}");
        }
        let list = Values::List(vec!["a b*".to_owned(), "*.md".to_owned()]);
        let list = Globs::read(&list, BASE).unwrap();
        assert_eq!(list.lines, ["a b*", "*.md"]);
        let one = Values::Text("Makefile *.mk".to_owned());
        let hints = Globs::read(&one, BASE).unwrap().hints;
        assert!(hints[0].contains("as a list"), "{hints:?}");
    }

    #[test]
    fn a_path_in_a_glob_is_relative_to_the_search() {
        for (text, expected) in [
            ("./calc/*.py", &["/calc/*.py"][..]),
            ("./*.py !./a.py", &["/*.py", "!/a.py"]),
            ("././**/*.py", &["**/*.py"]),
            ("../k/*.py", &["/*.py"]),
            ("/w/k/calc/*.py", &["/calc/*.py"]),
            ("/w/**/calc/*.py", &["**/calc/*.py"]),
            ("!/w/k/calc/", &["!/calc/"]),
            ("!/w/other/**", &[]),
            ("/w/k", &["**"]),
            ("src/*.py", &["src/*.py"]),
        ] {
            assert_eq!(lines(text), expected, "{text}");
        }
    }

    #[test]
    fn a_glob_that_leads_elsewhere_is_told() {
        for text in ["/w/other/*.py", "../x/*.py"] {
            let written = Values::Text(text.to_owned());
            let refusal = Globs::read(&written, BASE).unwrap_err();
            let text = format!("{refusal:?}");
            assert!(text.contains("names nothing below /w/k"), "{text}");
        }
        let elsewhere = Values::Text("/etc/*.conf".to_owned());
        let globs = Globs::read(&elsewhere, BASE).unwrap();
        assert_eq!(globs.lines, ["/etc/*.conf"]);
        assert!(globs.hints[0].contains("relative to /w/k"), "{globs:?}");
    }
}
