//! Where hunks are applied, and what they keep.

use super::*;

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
