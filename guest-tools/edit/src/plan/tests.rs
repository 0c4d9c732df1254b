//! Edits of several files in memory.

use std::collections::BTreeMap;

use super::*;

/// Files by path, each with its identity.
struct Fake(BTreeMap<&'static str, Result<(&'static str, &'static str), Problem>>);

impl Source for Fake {
    fn read(&mut self, path: &str) -> Result<Content, Problem> {
        let missing = || Err(Problem::new(Kind::NotFound, "no such file or directory"));
        let found = self.0.get(path).cloned().unwrap_or_else(missing)?;
        Ok(Content {
            data: found.0.into(),
            version: "v".into(),
            identity: found.1.into(),
        })
    }
}

fn source() -> Fake {
    let denied = Problem::new(Kind::Denied, "permission denied");
    Fake(BTreeMap::from([
        ("/w/a", Ok(("one two", "1"))),
        ("a", Ok(("one two", "1"))),
        ("/w/./a", Ok(("one two", "1"))),
        ("/w/link", Ok(("one two", "1"))),
        ("/w/b", Ok(("three", "2"))),
        ("/w/locked", Err(denied)),
    ]))
}

fn edit<'a>(search: &'a str, replace: &'a str) -> Edit<'a> {
    Edit {
        search,
        replace,
        replace_all: false,
    }
}

fn one<'a>(path: &'a str, search: &'a str, replace: &'a str) -> FileEdits<'a> {
    FileEdits {
        path,
        encoding: None,
        edits: vec![edit(search, replace)],
    }
}

fn problems(files: &[FileEdits<'_>]) -> Vec<String> {
    let problems = plan(files, Some("/w"), 1 << 20, &mut source()).unwrap_err();
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn entries_of_one_file_are_one() {
    let files = [
        one("a", "one", "1"),
        one("/w/b", "three", "3"),
        one("/w/./a", "1", "uno"),
    ];
    let planned = plan(&files, Some("/w"), 1 << 20, &mut source()).unwrap();
    let new: Vec<_> = planned
        .iter()
        .map(|file| (file.path.as_str(), file.data()))
        .collect();
    assert_eq!(new, [("a", b"uno two".as_slice()), ("/w/b", b"3")]);
    assert_eq!(
        problems(&[one("/w/a", "one", "1"), one("/w/link", "1", "2")]),
        [
            "duplicate file path \"/w/link\" aliases \"/w/a\" (same real file): combine edits into a single entry's \"edits\" list"
        ]
    );
}

/// A file system gives the inode of a file that was replaced to the next file that is made.
#[test]
fn a_file_with_the_identity_of_one_that_was_replaced_is_another() {
    struct Replaced(Vec<&'static str>);
    impl Source for Replaced {
        fn read(&mut self, _: &str) -> Result<Content, Problem> {
            Ok(Content {
                data: b"one".into(),
                version: "v".into(),
                identity: self.0.pop().unwrap().into(),
            })
        }
    }
    let files = [one("/w/a", "one", "1"), one("/w/b", "one", "1")];
    let mut source = Replaced(vec!["2", "1", "1"]);
    let planned = plan(&files, None, 1 << 20, &mut source).unwrap();
    assert_eq!((planned.len(), source.0.len()), (2, 0));
}

#[test]
fn everything_that_is_wrong_is_said() {
    assert_eq!(problems(&[]), ["must specify at least one file"]);
    assert_eq!(problems(&[one("", "a", "b")]), ["\"path\" is required"]);
    let none = FileEdits {
        path: "/w/a",
        encoding: None,
        edits: vec![],
    };
    assert_eq!(problems(&[none]), ["must specify at least one edit"]);
    let many = FileEdits {
        path: "/w/a",
        encoding: None,
        edits: vec![edit("one", "1"); MAX_EDITS + 1],
    };
    assert_eq!(
        problems(&[many]),
        ["1001 edits are too many for one call, which takes 1000"]
    );
    let relative = plan(&[one("./a", "a", "b")], None, 1 << 20, &mut source()).unwrap_err();
    assert_eq!(relative[0].text, "file path must be absolute: \"./a\"");
    let files = [
        one("/w/locked", "a", "b"),
        one("/w/a", "one", "1"),
        one("/w/missing", "a", "b"),
        one("/w/missing", "a", "b"),
    ];
    assert_eq!(
        problems(&files),
        [
            "open /w/locked: permission denied",
            "open /w/missing: no such file or directory"
        ]
    );
    let worst = plan(&files, None, 1 << 20, &mut source()).unwrap_err();
    assert_eq!(
        worst.iter().map(|problem| problem.kind).max(),
        Some(Kind::NotFound)
    );
    let several = FileEdits {
        path: "/w/a",
        encoding: None,
        edits: vec![edit("one", "1"), edit("one", "2")],
    };
    let text = &problems(&[several])[0];
    assert!(
        text.starts_with("edit /w/a (edit 2 of 2): search string not found in file"),
        "{text}"
    );
    let after = "; the error describes the file as the earlier edits would leave it";
    assert!(
        text.ends_with(&format!("No edit was written{after}")),
        "{text}"
    );
    let first = FileEdits {
        path: "/w/a",
        encoding: None,
        edits: vec![edit("nowhere", "1"), edit("one", "2")],
    };
    let text = &problems(&[first])[0];
    assert!(text.ends_with("No edit was written"), "{text}");
    let text = &problems(&[one("/w/a", "one", "1"), one("/w/a", "one", "2")])[0];
    assert!(text.ends_with(after), "{text}");
    let text = &problems(&[one("/w/a", "x", "y")])[0];
    assert!(
        text.starts_with("edit /w/a: search string not found in file"),
        "{text}"
    );
}

#[test]
fn the_file_that_is_too_large_is_named() {
    let both = [one("/w/a", "one", "1234567890"), one("/w/b", "three", "3")];
    let problems = |most| plan(&both, None, most, &mut source()).unwrap_err()[0].to_string();
    assert_eq!(
        problems(10),
        "edit /w/a: the file would become 14 bytes, and the most that one call can write is 10; replace less"
    );
    assert_eq!(
        problems(16),
        "the files together are too large for one call, which takes 16 bytes: the largest, /w/a, has 14; edit fewer at once"
    );
}

#[test]
fn edits_keep_the_encoding() {
    struct One(&'static [u8]);
    impl Source for One {
        fn read(&mut self, _: &str) -> Result<Content, Problem> {
            Ok(Content {
                data: self.0.into(),
                version: "v".into(),
                identity: "1".into(),
            })
        }
    }
    let edit = |data, search, replace| {
        let planned = plan(&[one("/f", search, replace)], None, 1 << 20, &mut One(data));
        planned.map(|mut planned| planned.remove(0))
    };
    for (data, search, replace, expected) in [
        (
            &b"\xFF\xFEa\0\r\0\n\0b\0"[..],
            "a\n",
            "cd\n",
            &b"\xFF\xFEc\0d\0\r\0\n\0b\0"[..],
        ),
        (
            b"\xFE\xFF\0a\0\n",
            "a",
            "\u{1F600}",
            b"\xFE\xFF\xD8\x3D\xDE\0\0\n",
        ),
        (
            b"\x95\x5C\x8E\xA6\x83\x65\x83\x58\x83\x67\\\n",
            "\\",
            "/",
            b"\x95\x5C\x8E\xA6\x83\x65\x83\x58\x83\x67/\n",
        ),
        (
            b"# caf\xE9\nx=1\n",
            "x=1",
            "x=\u{E9}",
            b"# caf\xE9\nx=\xE9\n",
        ),
    ] {
        let planned = edit(data, search, replace).unwrap();
        assert_eq!(planned.data(), expected, "{search}");
        assert!(planned.diff(Bounds::NONE).contains(replace.trim_end()));
    }
    let problem = |data, replace| edit(data, "a", replace).unwrap_err()[0].to_string();
    assert_eq!(
        problem(b"# caf\xE9\n", "\u{2192}"),
        "edit /f: windows-1252 has no character U+2192 \"\u{2192}\", which line 1 of the new text has; use other characters, or \
         convert the file to UTF-8 first"
    );
    assert_eq!(
        problem(b"PK\x03\x04a\0", "b"),
        "edit /f: file is binary (application/zip), not text"
    );
    // A second entry of the same file.
    let files = [one("/f", "a", "b"), one("/f", "b", "c")];
    let planned = plan(&files, None, 1 << 20, &mut One(b"\xFF\xFEa\0")).unwrap();
    assert_eq!((planned.len(), planned[0].data()), (1, &b"\xFF\xFEc\0"[..]));
}
