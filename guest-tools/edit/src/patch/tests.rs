//! Patches of files in memory. The formats are compared with their originals in `guest-tools/files/cases.json`.

mod bounds;
mod hunks;
mod properties;

use std::collections::BTreeMap;

use super::*;
use crate::plan::{Content, Source};
use crate::{Bounds, Kind, NotWritten};

/// Files by path, and the texts that other writers give to the first one, each right before a change.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fake {
    files: BTreeMap<String, Vec<u8>>,
    others: Vec<(&'static str, &'static str)>,
    changes: Vec<String>,
}

impl Source for Fake {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let seen = self.look(path)?;
        let seen = seen.ok_or_else(|| Problem::new(Kind::NotFound, "no such file or directory"))?;
        Ok(seen.content)
    }
}

impl PatchFiles for Fake {
    type Error = String;

    fn look(&mut self, path: &str) -> Result<Option<Seen>, Problem> {
        Ok(self.files.get(path).map(|data| Seen {
            content: Content {
                data: data.clone(),
                version: format!("{data:?}"),
                identity: path.to_owned(),
            },
            is_cut: None,
        }))
    }

    fn advice(&mut self, _: &str, deletes: bool) -> String {
        if deletes { "it is gone" } else { "advice" }.to_owned()
    }

    fn change(&mut self, changes: &[&Change]) -> Result<(), NotWritten<String>> {
        if let Some((path, text)) = self.others.pop() {
            self.files.insert(path.to_owned(), text.into());
        }
        for change in changes {
            let now = self.files.get(&change.path).map(|data| format!("{data:?}"));
            if now != change.version {
                return Err(NotWritten::Changed(change.path.clone()));
            }
        }
        for change in changes {
            match &change.data {
                Some(data) => _ = self.files.insert(change.path.clone(), data.clone()),
                None => _ = self.files.remove(&change.path),
            }
            let from = change.moved_from.as_deref().unwrap_or("-");
            self.changes.push(format!("{} {from}", change.path));
        }
        Ok(())
    }
}

fn fake(files: &[(&str, &str)]) -> Fake {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).into()));
    Fake {
        files: files.collect(),
        ..Fake::default()
    }
}

fn apply_to(files: &mut Fake, patch: &str) -> Result<Vec<Shown>, String> {
    apply(patch, Some("/w"), 1 << 20, files).map_err(|failure| match failure {
        Failure::Problems(problems) => {
            let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
            texts.join("\n")
        }
        Failure::Write(text) => text,
    })
}

/// Applies a patch of one file.
fn of_one(text: &str, patch: &str) -> Result<String, String> {
    let mut files = fake(&[("f", text)]);
    apply_to(&mut files, patch)?;
    Ok(String::from_utf8(files.files["f"].clone()).unwrap())
}

/// Applies hunks in the format of GPT models to a file.
fn hunks(text: &str, hunks: &str) -> Result<String, String> {
    of_one(
        text,
        &format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch"),
    )
}

#[test]
fn sections_of_one_file_are_one_change() {
    let mut files = fake(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    let patch = "*** Begin Patch
*** Update File: a
*** Move to: new
@@
-1
+one
*** Update File: new
*** Move to: newer
*** Add File: a
+again
*** Delete File: b
*** Add File: b
+2
*** Add File: gone
+x
*** Delete File: gone
*** Update File: c
*** Move to: d
*** End Patch";
    let shown = apply_to(&mut files, patch).unwrap();
    let text = |path: &str| {
        files
            .files
            .get(path)
            .map(|data| String::from_utf8_lossy(data).into_owned())
    };
    let texts = ["a", "b", "c", "d", "new", "newer", "gone"].map(text);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        texts,
        [
            some("again\n"),
            some("2\n"),
            None,
            some("3\n"),
            None,
            some("one\n"),
            None
        ]
    );
    // The last content of a file is written; a file that was moved away and made again is not moved.
    assert_eq!(files.changes, ["a -", "newer -", "c -", "d c"]);
    assert_eq!(shown.len(), 8);
    assert_eq!(
        (shown[0].done, shown[0].to.as_deref()),
        (Done::Moved, Some("new"))
    );
    assert_eq!(
        shown[0].diff(Bounds::NONE),
        "--- new\n+++ new\n@@ -1 +1 @@\n-1\n+one\n"
    );
}

#[test]
fn all_or_none_and_everything_that_is_wrong_is_said() {
    let mut files = fake(&[("a", "1\n")]);
    let before = files.clone();
    let patch = "*** Begin Patch
*** Add File: new
+x
*** Update File: a
@@
-2
+3
*** Update File: a
@@
-4
*** Delete File: missing
*** End Patch";
    let text = apply_to(&mut files, patch).unwrap_err();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("edit a: the lines of the hunk are not in the file."),
        "{text}"
    );
    assert_eq!(
        lines.last(),
        Some(&"open missing: no such file or directory; it is gone")
    );
    assert_eq!(files, before);
}

#[test]
fn what_others_change_meanwhile_stays_or_conflicts() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-two\n+2\n*** End Patch";
    let mut files = fake(&[("f", "one\ntwo\nthree\n")]);
    files.others = vec![("f", "1\ntwo\n3\n")];
    apply_to(&mut files, patch).unwrap();
    assert_eq!(files.files["f"], b"1\n2\n3\n");
    let mut files = fake(&[("f", "one\ntwo\nthree\n")]);
    files.others = vec![("f", "one\nTWO\nthree\n")];
    let text = apply_to(&mut files, patch).unwrap_err();
    assert!(
        text.starts_with("edit f: another writer changed line 2 at the same time; read the file again\nedit f: the lines"),
        "{text}"
    );
}
