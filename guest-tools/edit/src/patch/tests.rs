//! Patches of files in memory. The formats are compared with their originals in `guest-tools/files/cases.json`.

use std::collections::BTreeMap;

use proptest::prelude::*;

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

    fn advice(&mut self, _: &str) -> String {
        "advice".to_owned()
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
    // What a file became in the end is what is written; a file that was moved away and made again is not moved.
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
        Some(&"open missing: no such file or directory; advice")
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

#[test]
fn hunks_keep_what_the_file_has() {
    for (name, file, patch, expected) in [
        (
            "indentation",
            "  if a:\n    b()\n",
            "@@\n if a:\n-  b()\n+  c()\n+  d()",
            "  if a:\n    c()\n    d()\n",
        ),
        (
            "blanks",
            "a  \nb\nc\t\n",
            "@@\n a\n-b\n+B\n c",
            "a  \nB\nc\t\n",
        ),
        (
            "context between changes",
            "a \nb \nc \nd \n",
            "@@\n-a\n+A\n+AA\n b\n-c\n d",
            "A \nAA\nb \nd \n",
        ),
        (
            "CRLF",
            "a\r\nb\r\n",
            "@@\n a\n-b\n+B\n+C",
            "a\r\nB\r\nC\r\n",
        ),
        (
            "CRLF in both",
            "a\r\nb\r\n",
            "@@\r\n a\r\n-b\r\n+B\r",
            "a\r\nB\r\n",
        ),
        (
            "other endings",
            "a\r\nb\r\n",
            "@@\n-a\r\n+a\n b\r",
            "a\nb\r\n",
        ),
        (
            "byte order mark",
            "\u{FEFF}a\nb\n",
            "@@\n-a\n+A",
            "\u{FEFF}A\nb\n",
        ),
        ("no last ending", "a\nb", "@@\n-a\n+A\n b", "A\nb"),
        ("nothing before", "b", "@@\n+a\n b", "a\nb"),
        ("nothing behind", "b", "@@\n b\n+c", "b\nc\n"),
        ("the whole file", "a\nb\n", "@@\n-a\n-b", ""),
        ("no file", "", "@@\n+a", "a\n"),
    ] {
        assert_eq!(hunks(file, patch).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn hunks_find_their_place() {
    let file = "def a():\n  x\n  y\ndef b():\n  x\n  y\ndef c():\n  x\n  y\n";
    let at = |line: usize| {
        let mut lines: Vec<_> = file.lines().collect();
        lines[line - 1] = "  z";
        lines.join("\n") + "\n"
    };
    for (name, patch, line) in [
        ("the first one", "@@\n-  x\n+  z", 2),
        ("behind an anchor", "@@ def b():\n-  x\n+  z", 5),
        (
            "an anchor that is in the hunk",
            "@@ def b():\n def b():\n-  x\n+  z",
            5,
        ),
        ("behind two anchors", "@@ def b():\n@@   x\n-  y\n+  z", 6),
        ("at the end", "@@\n   x\n-  y\n+  z\n*** End of File", 9),
        ("near a number", "@@ -4,1 +4,1 @@ def b():\n-  x\n+  z", 5),
        ("nothing behind @@", "@@ ... @@\n-  x\n+  z", 2),
    ] {
        assert_eq!(hunks(file, patch), Ok(at(line)), "{name}");
    }
    let twice = hunks(file, "@@\n-  x\n+  z\n@@\n-  x\n+  z").unwrap();
    assert_eq!(twice.matches("  z").count(), 2);
    let backwards =
        hunks(file, "@@\n def c():\n-  x\n+  z\n@@\n def b():\n-  x\n+  z").unwrap_err();
    assert!(
        backwards
            .starts_with("edit f (hunk 2 of 2): the lines of the hunk are at line 4 only, above"),
        "{backwards}"
    );
    let lost = hunks(file, "@@ def d():\n-  x\n+  z").unwrap_err();
    assert!(
        lost.contains("the line \"def d():\" behind @@ is not in the file"),
        "{lost}"
    );
    let applied = hunks("new text\n", "@@\n-old text\n+new text").unwrap_err();
    assert!(applied.contains("Is the hunk applied already"), "{applied}");
}

#[test]
fn hostile_patches_are_refused_in_time() {
    let many = |line: &str| line.repeat(200_000);
    for patch in [
        format!("diff --git {}", many("a ")),
        format!(
            "*** Begin Patch\n{}*** End Patch",
            many("*** Delete File: f\n")
        ),
        format!(
            "*** Begin Patch\n*** Update File: f\n@@\n{}-x\n*** End Patch",
            many("\n")
        ),
        format!(
            "*** Begin Patch\n*** Update File: f\n{}*** End Patch",
            many("@@ a\n")
        ),
        format!(
            "--- f\n+++ f\n{}",
            many("@@ -1,999999999 +1,999999999 @@\n a\n")
        ),
        format!(
            "--- f\n+++ f\n@@ -1,999999999 +1,999999999 @@\n{}",
            many("--- f\n")
        ),
        format!("--- f\n+++ f\n@@ -{0} +{0} @@\n-b\n+c\n", usize::MAX),
    ] {
        let mut files = fake(&[("f", "a\n".repeat(1000).as_str())]);
        let before = files.clone();
        assert!(apply_to(&mut files, &patch).is_err());
        assert_eq!(files, before);
    }
    let mut files = fake(&[("f", &"a".repeat(1 << 19))]);
    let section = "*** Update File: f\n*** Move to: f\n";
    let text = apply_to(
        &mut files,
        &format!("*** Begin Patch\n{}*** End Patch", section.repeat(900)),
    );
    assert!(
        text.unwrap_err()
            .starts_with("the files together are too large")
    );
}

#[test]
fn hunks_that_overlap_are_refused_or_follow_each_other() {
    let file: String = (1..=20).map(|line| format!("l{line}\n")).collect();
    let overlap =
        "--- f\n+++ f\n@@ -10,0 +11 @@\n+x\n@@ -9,4 +10,4 @@\n l9\n l10\n-l11\n+L11\n l12\n";
    let text = of_one(&file, overlap).unwrap_err();
    assert!(
        text.starts_with("edit f (hunk 2 of 2): the lines of the hunk are at line 9 only, above"),
        "{text}"
    );
    let backwards = "--- f\n+++ f\n@@ -9,2 +9,2 @@\n l9\n-l10\n+L10\n@@ -4,0 +5 @@\n+x\n@@ -12 +13 @@\n-l12\n+L12\n";
    let text = of_one(&file, backwards).unwrap_err();
    assert!(
        text.starts_with("edit f (hunk 2 of 3): the lines of the hunk are at line 4 only"),
        "{text}"
    );
    let in_order =
        "--- f\n+++ f\n@@ -10,0 +11 @@\n+x\n@@ -11 +12 @@\n-l11\n+L11\n@@ -11,0 +13 @@\n+y\n";
    let expected = file.replace("l11\n", "x\nL11\ny\n");
    assert_eq!(of_one(&file, in_order), Ok(expected));
    for (name, file, patch, expected) in [
        (
            "an empty last line",
            "a\nb\n\n",
            "@@\n+x\n@@\n-b\n+B\n ",
            "a\nB\n\nx\n",
        ),
        ("before it", "a\nb\n\n", "@@\n+x\n@@\n-b\n+B", "a\nB\nx\n\n"),
        (
            "the end of the file",
            "a\nb\n",
            "@@\n+x\n*** End of File\n@@\n-a\n+A\n b",
            "A\nb\nx\n",
        ),
    ] {
        assert_eq!(hunks(file, patch).as_deref(), Ok(expected), "{name}");
    }
}

/// A hunk whose context was empty lines, which are lost with the end of the patch.
#[test]
fn a_hunk_that_lost_the_lines_below_adds_before_its_first_line() {
    for (file, patch, expected) in [
        ("\n\n", "@@ -1,2 +1,3 @@\n+a\n\n\n", "a\n\n\n"),
        ("b\n\n\n", "@@ -2,2 +2,3 @@\n+a\n\n\n", "b\na\n\n\n"),
        ("b\n\n\n", "@@ -2,0 +3 @@\n+a\n", "b\n\na\n\n"),
        ("b\n\n\n", "@@ -1 +1,2 @@\n+a\n", "a\nb\n\n\n"),
    ] {
        let made = of_one(file, &format!("--- f\n+++ f\n{patch}"));
        assert_eq!(made.as_deref(), Ok(expected), "{patch}");
        assert_eq!(hunks(file, patch).as_deref(), Ok(expected), "{patch}");
    }
}

#[test]
fn space_below_lines_that_are_added_is_none_of_them() {
    for (name, file, patch, expected) in [
        ("the end", "a\n\nb\n", "@@\n+x\n", "a\n\nb\nx\n"),
        ("two", "a\n\n\nb\n", "@@\n+x\n\n", "a\n\n\nb\nx\n"),
        (
            "another hunk",
            "a\n\nb\n",
            "@@\n+x\n\n@@\n-b\n+B",
            "a\n\nB\nx\n",
        ),
        (
            "no ending",
            "a\n\nb\n",
            "@@\n+x\n\\ No newline at end of file\n",
            "a\n\nb\nx",
        ),
        ("an anchor", "a\n\nb\n\n", "@@ b\n+x\n", "a\n\nb\nx\n\n"),
        (
            "end of file",
            "a\n\nb\n",
            "@@\n+x\n\n*** End of File",
            "a\n\nb\nx\n",
        ),
        ("the blank is meant", "a\n\nb\n", "@@\n+x\n ", "a\nx\n\nb\n"),
    ] {
        assert_eq!(hunks(file, patch).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn lines_at_the_end_are_ended_once() {
    for (name, file, patch, expected) in [
        ("two additions", "a", "@@\n+x\n@@\n+y", "a\nx\ny\n"),
        ("behind a change", "a", "@@\n-a\n+b\n@@\n+x", "b\nx\n"),
        ("behind a removal", "a\nb", "@@\n-b\n@@\n+x", "a\nx\n"),
        ("behind all", "a", "@@\n-a\n@@\n+x", "x\n"),
        ("CRLF", "a\r\nb", "@@\n+x\n@@\n+y", "a\r\nb\r\nx\r\ny\r\n"),
        (
            "a mark alone",
            "\u{FEFF}",
            "@@\n+x\n@@\n+y",
            "\u{FEFF}x\ny\n",
        ),
        (
            "without an end",
            "a",
            "@@\n+x\n\\ No newline at end of file\n@@\n+y\n\\ No newline at end of file",
            "a\nx\ny",
        ),
    ] {
        assert_eq!(hunks(file, patch).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn a_backslash_begins_a_line_like_any_other() {
    let file = "\\section{a}\n\\ x\n\\end\n";
    for line in ["\\section{a}", "\\ x", "\\"] {
        for patch in [
            format!("@@\n{line}\n-\\end\n+\\fin"),
            format!("@@\n-\\end\n{line}\n+\\fin"),
        ] {
            let text = hunks(file, &patch).unwrap_err();
            assert!(text.starts_with("invalid patch at line"), "{text}");
            let unified = format!("--- f\n+++ f\n{patch}\n");
            let text = of_one(file, &unified).unwrap_err();
            assert!(text.starts_with("invalid patch at line"), "{text}");
        }
    }
    let patch = "@@\n \\ x\n-\\end\n+\\fin\n\\ No newline at end of file";
    assert_eq!(
        hunks(file, patch),
        Ok("\\section{a}\n\\ x\n\\fin".to_owned())
    );
}

#[test]
fn what_is_written_and_what_is_held_is_bounded() {
    let apply_most = |files: &mut Fake, most: usize, sections: &str| {
        let patch = format!("*** Begin Patch\n{sections}*** End Patch");
        apply(&patch, None, most, files).map_err(|failure| match failure {
            Failure::Problems(problems) => problems[0].to_string(),
            Failure::Write(text) => text,
        })
    };
    let of = |data: &[u8], count: usize| Fake {
        files: (0..count)
            .map(|index| (format!("/{index}"), data.to_vec()))
            .collect(),
        ..Fake::default()
    };
    let sections = |count: usize, section: &str| -> String {
        (0..count)
            .map(|index| section.replace('#', &index.to_string()))
            .collect()
    };
    let moved = "*** Update File: /#\n*** Move to: /new#\n";
    let changed = "*** Update File: /#\n@@\n-a\n+b\n";
    let deleted = "*** Delete File: /#\n";
    let binary = [&[0; 30_000][..], b"\xFF"].concat();
    let utf16: Vec<u8> = format!("\u{FEFF}a\n{}", "x".repeat(15_000))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let text = format!("a\n{}", "x".repeat(30_000)).into_bytes();
    // Names count as well.
    let (written, held) = (
        "the files together are too large for one call, which writes 100000 bytes",
        "the files together are too large for the memory",
    );
    for (name, data, count, section, expected) in [
        ("binary files moved", &binary, 3, moved, None),
        ("more of them", &binary, 4, moved, Some(written)),
        ("UTF-16", &utf16, 3, changed, None),
        ("more of that", &utf16, 4, changed, Some(written)),
        ("text", &text, 3, changed, None),
        ("more text", &text, 4, changed, Some(written)),
        ("text deleted", &text, 8, deleted, None),
        ("binary files deleted", &binary, 8, deleted, None),
        ("too many deleted", &text, 40, deleted, Some(held)),
        (
            "too many binary files deleted",
            &binary,
            40,
            deleted,
            Some(held),
        ),
    ] {
        let mut files = of(data, count);
        let result = apply_most(&mut files, 100_000, &sections(count, section));
        match (result, expected) {
            (result, None) => assert!(result.is_ok(), "{name}: {result:?}"),
            (Ok(_), Some(_)) => panic!("{name}"),
            (Err(text), Some(expected)) => {
                assert!(
                    text.starts_with(expected) && text.ends_with("; patch fewer at once"),
                    "{name}: {text}"
                );
                assert_eq!(files, of(data, count), "{name}");
            }
        }
    }
    let long = format!("/{}#", "n".repeat(3000));
    let added = format!("*** Add File: {long}\n+x\n");
    let text = apply_most(&mut Fake::default(), 100_000, &sections(40, &added)).unwrap_err();
    assert!(text.starts_with(written), "{text}");
}

/// What a hunk of a model does to a file whose lines all differ.
#[derive(Clone, Debug)]
enum Deed {
    Insert(usize),
    Append,
    /// So many lines from one on, each of which stays or is replaced.
    Replace(usize, Vec<bool>),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        3 => (0..=12_usize).prop_map(Deed::Insert),
        1 => Just(Deed::Append),
        4 => (0..12_usize, prop::collection::vec(any::<bool>(), 1..4)).prop_map(|(start, signs)| Deed::Replace(start, signs)),
    ];
    (prop::collection::vec(deed, 1..6), any::<bool>()).prop_map(|(mut deeds, is_sorted)| {
        if is_sorted {
            deeds.sort_by_key(|deed| match deed {
                Deed::Insert(line) | Deed::Replace(line, _) => *line,
                Deed::Append => usize::MAX,
            });
        }
        deeds
    })
}

/// A text of a patch, of few different pieces, so that many are nearly right.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "*** Begin Patch\n",
        "*** End Patch",
        "*** Add File: f\n",
        "*** Update File: f\n",
        "*** Delete File: f\n",
        "*** Move to: g\n",
        "*** End of File\n",
        "@@\n",
        "@@ a\n",
        "@@ -1 +1 @@\n",
        "@@ -0,0 +1,9 @@\n",
        "@@ -9,2 +18446744073709551615 @@\n",
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "diff --git a/f b/f\n",
        "new file mode 100755\n",
        "rename from f\n",
        "rename to g\n",
        "copy from f\n",
        "copy to g\n",
        "\\ No newline at end of file\n",
        " a\n",
        "-a\n",
        "+b\n",
        "-b\r\n",
        "+\n",
        "\n",
        " \n",
        "-- \n",
        "2.1\n",
        "<<'EOF'\n",
        "EOF",
        "```\n",
        "\u{2014}",
        "\"",
        "\\",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_patch_breaks_anything(
        patch in prop_oneof![pieces(), any::<String>(), pieces().prop_map(|text| format!("*** Begin Patch\n{text}\n*** End Patch"))],
        file in prop_oneof![Just("a\nb\n"), Just(""), Just("a\r\nb"), Just("\n\n")],
    ) {
        let mut files = fake(&[("f", file)]);
        let before = files.clone();
        if apply_to(&mut files, &patch).is_err() {
            prop_assert_eq!(files, before);
        }
    }

    #[test]
    fn a_diff_leads_from_one_text_to_another(
        old in prop::collection::vec("[abc]{0,2}", 0..30),
        new in prop::collection::vec("[abc]{0,2}", 0..30),
        unended in any::<(bool, bool)>(),
        is_crlf in any::<bool>(),
        cut in 0..3_u8,
    ) {
        let ending = if is_crlf { "\r\n" } else { "\n" };
        let text = |lines: &[String], unended: bool| {
            let text: String = lines.iter().map(|line| format!("{line}{ending}")).collect();
            match unended {
                true => text.strip_suffix(ending).unwrap_or(&text).to_owned(),
                false => text,
            }
        };
        let (old, new) = (text(&old, unended.0), text(&new, unended.1));
        prop_assume!(old != new && !new.is_empty());
        let diff = crate::diff("f", old.as_bytes(), new.as_bytes(), Bounds::NONE);
        prop_assert_eq!(of_one(&old, &diff), Ok(new.clone()), "{}", diff);
        // Counts that are wrong do no harm, and neither do blanks that are missing in empty lines.
        let diff = match cut {
            0 => diff.replace(",", ",1"),
            1 => diff.replace("\n \n", "\n\n"),
            _ => format!("Subject: x\n\ndiff --git a/f b/f\nindex 1..2 100644\n{diff}-- \n2.1\n"),
        };
        prop_assert_eq!(of_one(&old, &diff), Ok(new.clone()), "{}", diff);
    }

    #[test]
    fn hunks_do_what_they_say_or_are_refused(deeds in deeds(), is_ended in any::<bool>()) {
        const COUNT: usize = 12;
        let mut file: String = (0..COUNT).map(|line| format!("l{line}\n")).collect();
        if !is_ended {
            file.pop();
        }
        // What becomes of each line, what is added before it or at the end, and how far the hunks have come.
        let mut lines: Vec<_> = (0..COUNT).map(|line| format!("l{line}")).collect();
        let (mut added, mut appended) = (vec![Vec::new(); COUNT + 1], Vec::new());
        let (mut come, mut is_in_order, mut patch) = (0, true, "--- f\n+++ f\n".to_owned());
        for (index, deed) in deeds.iter().enumerate() {
            match deed {
                Deed::Append => {
                    patch += &format!("@@ ... @@\n+n{index}\n");
                    appended.push(format!("n{index}"));
                }
                Deed::Insert(line) => {
                    patch += &format!("@@ -{line},0 +1 @@\n+n{index}\n");
                    is_in_order &= *line >= come;
                    // At the end of the file, it is one of those that are added there.
                    match *line == COUNT {
                        true => appended.push(format!("n{index}")),
                        false => (come, _) = (*line, added[*line].push(format!("n{index}"))),
                    }
                }
                Deed::Replace(start, signs) => {
                    patch += &format!("@@ -{} +1 @@\n", start + 1);
                    is_in_order &= *start >= come;
                    for (line, is_replaced) in (*start..COUNT).zip(signs) {
                        match is_replaced {
                            true => {
                                patch += &format!("-l{line}\n+r{index}.{line}\n");
                                lines[line] = format!("r{index}.{line}");
                            }
                            false => patch += &format!(" l{line}\n"),
                        }
                        come = line + 1;
                    }
                }
            }
        }
        let result = of_one(&file, &patch);
        if !is_in_order {
            prop_assert!(result.is_err(), "{patch}\n{result:?}");
            return Ok(());
        }
        let mut expected = Vec::new();
        for (before, line) in added.into_iter().zip(lines) {
            expected.extend(before);
            expected.push(line);
        }
        expected.extend(appended);
        let result = result.unwrap();
        let made: Vec<_> = result.lines().collect();
        prop_assert_eq!(made, expected, "{}", patch);
    }
}
