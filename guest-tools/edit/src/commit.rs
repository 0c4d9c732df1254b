//! Edits of files that others edit at the same time.

use crate::diff::changed_lines;
use crate::encoding::Text;
use crate::plan::{Content, FileEdits, Kind, Planned, Problem, Source, plan};

/// How often the edits are made in all. Of all writers that are at it at the same time, one succeeds at each turn.
const TRIES: usize = 256;

/// Files that can be read, and written if they did not change.
pub trait Files: Source {
    /// Why a write failed.
    type Error;

    /// Writes all of these files or none, if each still has the version that was read.
    ///
    /// # Errors
    ///
    /// Why none was written.
    fn write(&mut self, changed: &[&Planned]) -> Result<(), NotWritten<Self::Error>>;
}

/// A change of a file that was planned, and may have to be planned again.
pub(crate) trait Attempt {
    /// Returns whether there is anything to write.
    fn is_changed(&self) -> bool;

    /// Returns the path and the text that the change was made in; `None` if there was no text.
    fn before(&self) -> Option<(&str, &Text)>;
}

impl Attempt for Planned {
    fn is_changed(&self) -> bool {
        Self::is_changed(self)
    }

    fn before(&self) -> Option<(&str, &Text)> {
        Some((&self.path, self.old()))
    }
}

/// Why no file was written.
#[derive(Debug)]
pub enum NotWritten<E> {
    /// One of them changed since it was read.
    Changed(E),
    /// Something else is wrong.
    Failed(E),
}

/// Why edits were not made.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// They cannot be made.
    Problems(Vec<Problem>),
    /// They could not be written.
    Write(E),
}

/// Makes edits and writes what they change. If a file changed since it was read, reads it again, so that edits of different places
/// are all made, whatever their order. See [`plan`].
///
/// # Errors
///
/// Why nothing is written. If the edits could be made before another writer changed a file, that comes first.
pub fn edit<F: Files>(
    entries: &[FileEdits<'_>],
    base: Option<&str>,
    most: usize,
    files: &mut F,
) -> Result<Vec<Planned>, Failure<F::Error>> {
    retry(
        files,
        |files| plan(entries, base, most, files),
        |files, changed| files.write(changed),
    )
}

/// Plans changes and writes them, and does both again for as long as a file changed since it was read.
///
/// # Errors
///
/// See [`edit`].
pub(crate) fn retry<F: Source, T: Attempt, E>(
    files: &mut F,
    mut plan: impl FnMut(&mut F) -> Result<Vec<T>, Vec<Problem>>,
    write: impl Fn(&mut F, &[&T]) -> Result<(), NotWritten<E>>,
) -> Result<Vec<T>, Failure<E>> {
    let mut first: Option<Vec<T>> = None;
    let mut left = TRIES;
    loop {
        let planned = plan(files).map_err(|problems| {
            let conflicts = first.iter().flatten();
            let conflicts = conflicts.filter_map(|old| {
                let (path, text) = old.before()?;
                conflict(path, text, files.read(path).ok()?)
            });
            let mut all: Vec<_> = conflicts.collect();
            all.extend(problems);
            Failure::Problems(all)
        })?;
        let changed: Vec<_> = planned.iter().filter(|file| file.is_changed()).collect();
        if changed.is_empty() {
            return Ok(planned);
        }
        left -= 1;
        match write(files, &changed) {
            Ok(()) => return Ok(planned),
            Err(NotWritten::Changed(_)) if left > 0 => {
                first.get_or_insert(planned);
            }
            Err(NotWritten::Changed(error) | NotWritten::Failed(error)) => {
                return Err(Failure::Write(error));
            }
        }
    }
}

/// Says which lines of a file another writer changed.
fn conflict(path: &str, old: &Text, now: Content) -> Option<Problem> {
    let now = Text::read(now.data, Some(old.encoding)).ok()?;
    (now.bytes != old.bytes).then(|| {
        let lines = changed_lines(&old.bytes, &now.bytes);
        let text = format!(
            "edit {path}: another writer changed {lines} at the same time; read the file again"
        );
        Problem::new(Kind::Conflict, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::Edit;

    /// A file, and the texts that other writers give it, each right before a write.
    struct Busy {
        text: String,
        others: Vec<&'static str>,
        writes: usize,
    }

    impl Source for Busy {
        fn read(&mut self, _: &str) -> Result<Content, Problem> {
            Ok(Content {
                data: self.text.clone().into(),
                version: self.text.clone(),
                identity: "1".into(),
            })
        }
    }

    impl Files for Busy {
        type Error = &'static str;

        fn write(&mut self, changed: &[&Planned]) -> Result<(), NotWritten<&'static str>> {
            self.writes += 1;
            if let Some(other) = self.others.pop() {
                other.clone_into(&mut self.text);
            }
            if changed[0].version != self.text {
                return Err(NotWritten::Changed("changed"));
            }
            self.text = String::from_utf8(changed[0].data().into()).unwrap();
            Ok(())
        }
    }

    fn busy(others: &[&'static str]) -> Busy {
        Busy {
            text: "one\ntwo\nthree\n".into(),
            others: others.to_vec(),
            writes: 0,
        }
    }

    fn edit_two(files: &mut Busy) -> Result<Vec<Planned>, Failure<&'static str>> {
        let edits = vec![Edit {
            search: "two",
            replace: "2",
            replace_all: false,
        }];
        let entry = FileEdits {
            path: "/f",
            encoding: None,
            edits,
        };
        edit(&[entry], None, 1 << 20, files)
    }

    #[test]
    fn what_others_changed_meanwhile_stays() {
        let mut files = busy(&["1\ntwo\n3\n", "one\ntwo\n3\n"]);
        let planned = edit_two(&mut files).unwrap();
        assert_eq!((&*files.text, files.writes), ("1\n2\n3\n", 3));
        // The difference is the edit's own.
        assert_eq!(
            planned[0].diff(crate::Bounds::NONE),
            "--- /f\n+++ /f\n@@ -1,3 +1,3 @@\n 1\n-two\n+2\n 3\n"
        );
    }

    #[test]
    fn a_conflict_names_the_lines() {
        let mut files = busy(&["one\nTWO\nthree\n"]);
        let Err(Failure::Problems(problems)) = edit_two(&mut files) else {
            panic!("no conflict");
        };
        assert_eq!(problems[0].kind, Kind::Conflict);
        assert_eq!(
            problems[0].text,
            "edit /f: another writer changed line 2 at the same time; read the file again"
        );
        assert!(
            problems[1]
                .text
                .starts_with("edit /f: search string not found")
        );
        assert_eq!(files.text, "one\nTWO\nthree\n");
    }

    #[test]
    fn a_file_that_never_stops_to_change_is_given_up() {
        let mut files = busy(&["two a\n", "two b\n"].repeat(TRIES));
        assert_eq!(edit_two(&mut files), Err(Failure::Write("changed")));
        assert_eq!(files.writes, TRIES);
    }
}
