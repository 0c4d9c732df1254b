//! Pages of files in memory.

mod rich;

use proptest::prelude::*;
use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

fn read(files: &FakeFiles, json: &str) -> Result<Page, Refusal> {
    run(files, &testing::arguments(json).unwrap(), Reader::Model)
}

/// Reads a page of a file with this content.
fn page(content: impl AsRef<[u8]>, offset: u64, limit: u64) -> Page {
    let files = FakeFiles::new().with("f", content);
    let json = format!(r#"{{"path": "f", "offset": {offset}, "limit": {limit}}}"#);
    read(&files, &json).unwrap()
}

fn refused(files: &FakeFiles, json: &str) -> String {
    match read(files, json).unwrap_err() {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    }
}

/// What the reference shows of a page: its text, how many lines it has, how many the file has.
fn shown(page: &Page) -> (&str, u64, u64) {
    let text = page.content.as_deref().unwrap();
    (text, page.lines_read.unwrap(), page.total_lines.unwrap())
}

#[test]
fn pages_of_lines() {
    let content = "line1\nline2\nline3";
    assert_eq!(
        shown(&page(content, 1, 0)),
        ("1\tline1\n2\tline2\n3\tline3", 3, 3)
    );
    assert_eq!(shown(&page(content, 2, 0)), ("2\tline2\n3\tline3", 2, 3));
    assert_eq!(shown(&page(content, 1, 1)), ("1\tline1", 1, 3));
    let one = page(content, 2, 1);
    assert_eq!(shown(&one), ("2\tline2", 1, 3));
    assert_eq!(
        (one.next_offset, one.truncated_by),
        (Some(3), Some(TruncatedBy::Lines))
    );
    let last = page(content, 3, 1);
    assert_eq!((last.next_offset, last.truncated_by), (None, None));
    assert_eq!(last.file_size, Some(17));
    // A line feed at the end makes no further line.
    assert_eq!(shown(&page("a\nb\n", 1, 0)), ("1\ta\n2\tb", 2, 2));
    assert_eq!(shown(&page("\n\n", 1, 0)), ("1\t\n2\t", 2, 2));
    let empty = page("", 1, 0);
    assert_eq!((shown(&empty), empty.file_size), (("", 0, 0), Some(0)));
}

#[test]
fn line_endings_are_named() {
    for (content, expected) in [
        ("a\nb", None),
        ("a\r\nb\r\n", Some("CRLF")),
        ("a\r\nb", Some("CRLF")),
        ("a\r\nb\n", Some("CRLF and LF")),
        ("a\nb\r\nc", Some("CRLF and LF")),
    ] {
        let page = page(content, 1, 0);
        assert_eq!(page.line_endings, expected, "{content:?}");
        assert!(!page.content.unwrap().contains('\r'), "{content:?}");
    }
}

#[test]
fn offsets_behind_the_end() {
    for (content, offset, lines) in [
        ("a\nb\nc", 100, "3 lines"),
        ("a\nb\nc\n", 4, "3 lines"),
        ("a\nb\nc", 4, "3 lines"),
        ("a", 2, "1 line"),
        ("", 2, "0 lines"),
    ] {
        let files = FakeFiles::new().with("f", content);
        let text = refused(&files, &format!(r#"{{"path": "f", "offset": {offset}}}"#));
        assert_eq!(
            text,
            format!("offset {offset} is beyond the file length of {lines}")
        );
    }
}

#[test]
fn long_lines_are_cut_within_no_character() {
    let cut = |line: &str| {
        let page = page(line, 1, 0);
        page.content
            .unwrap()
            .strip_prefix("1\t")
            .unwrap()
            .to_owned()
    };
    assert_eq!(cut(&"x".repeat(1024)), "x".repeat(1024));
    assert_eq!(cut(&"x".repeat(1025)), "x".repeat(1024) + "... [truncated]");
    assert_eq!(
        cut(&format!("x{}", "ä".repeat(600))),
        format!("x{}... [truncated]", "ä".repeat(511))
    );
    assert_eq!(cut(&"🦀".repeat(300)), "🦀".repeat(256) + "... [truncated]");
    // The line behind one that is longer than what is read at once is found.
    for length in [1_000_000, 100_000, 262_143, 262_144, 262_145] {
        let page = page(format!("{}\nnext\n", "y".repeat(length)), 1, 0);
        assert!(
            page.content
                .as_deref()
                .unwrap()
                .ends_with("[truncated]\n2\tnext"),
            "{length}"
        );
        assert_eq!(page.total_lines, Some(2));
    }
}

#[test]
fn pages_end_where_they_are_full() {
    let lines: String = (0..5_000).map(|_| "0123456789\n").collect();
    let first = page(&lines, 1, 0);
    assert_eq!(
        (first.lines_read, first.next_offset),
        (Some(2000), Some(2001))
    );
    assert_eq!(
        (first.total_lines, first.truncated_by),
        (Some(5000), Some(TruncatedBy::Lines))
    );
    assert_eq!(page(&lines, 1, 3000).lines_read, Some(2000));
    let wide: String = (0..100).map(|_| "x".repeat(1000) + "\n").collect();
    let first = page(&wide, 1, 0);
    assert_eq!(first.truncated_by, Some(TruncatedBy::Bytes));
    assert!(first.content.unwrap().len() <= 32 << 10);
    assert_eq!((first.lines_read, first.next_offset), (Some(32), Some(33)));
    // Exactly full is not too much.
    let exact = "x".repeat(1022) + "\n";
    let page = page(exact.repeat(40), 10, 0);
    assert_eq!(page.lines_read, Some(31));
    assert!(page.content.unwrap().len() <= 32 << 10);
}

#[test]
fn what_is_no_text() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let described = |content: &[u8]| {
        let page = page(content, 1, 0);
        assert_eq!((page.kind, page.content), (Some(Kind::Binary), None));
        (page.media_type.unwrap(), page.file_size.unwrap())
    };
    assert_eq!(described(png), ("image/png".into(), 16));
    assert!(page(png, 1, 0).note.unwrap().contains("cannot be shown"));
    assert_eq!(described(b"BM\0\0\0\0\0\0"), ("image/bmp".into(), 8));
    assert_eq!(described(b"a\0"), ("application/octet-stream".into(), 2));
    assert_eq!(
        described(b"\xff\xfe\0\0h\0\0\0"),
        ("text/plain; charset=utf-32".into(), 8)
    );
    let invalid = page(
        "\u{e4}\u{e4}\n\u{e4}"
            .as_bytes()
            .iter()
            .chain(b"\xff\n")
            .copied()
            .collect::<Vec<_>>(),
        1,
        0,
    );
    assert_eq!(shown(&invalid).0, "1\t\u{e4}\u{e4}\n2\t\u{e4}\u{fffd}");
    assert!(invalid.note.unwrap().contains("not UTF-8"));
    let mut late = vec![b'\n'; 10_000];
    late.extend(b"a\0b");
    let late = page(late, 10_001, 0);
    assert_eq!(shown(&late).0, "10001\t[3 bytes that are not text]");
}

#[test]
fn encodings_are_known() {
    let utf16: Vec<u8> = "\u{feff}one\r\ntwo \u{e4}\n\u{10a}\u{a05}"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let first = page(&utf16, 1, 1);
    assert_eq!(shown(&first), ("1\tone", 1, 3));
    assert_eq!(
        (first.next_offset, first.file_size),
        (Some(2), Some(utf16.len() as u64))
    );
    assert_eq!(
        first.encoding.as_deref(),
        Some("UTF-16BE with a byte order mark")
    );
    assert_eq!(
        shown(&page(&utf16, 2, 0)),
        ("2\ttwo \u{e4}\n3\t\u{10a}\u{a05}", 2, 3)
    );
    let marked = page("\u{feff}a\nb", 1, 0);
    assert_eq!(shown(&marked).0, "1\ta\n2\tb");
    assert_eq!(
        (marked.encoding.as_deref(), marked.note),
        (Some("UTF-8 with a byte order mark"), None)
    );
    let latin = page(b"caf\xe9\n", 1, 0);
    assert_eq!(
        (shown(&latin).0, latin.encoding.as_deref()),
        ("1\tcaf\u{e9}", Some("windows-1252"))
    );
    // What shows only far behind the start.
    let mut late = b"plain\n".repeat(100_000);
    late.extend(b"\x95\x5c\x8e\xa6\x82\xb7\x82\xe9\n");
    let late = page(late, 100_001, 0);
    assert_eq!(
        (shown(&late), late.encoding.as_deref()),
        (
            ("100001\t\u{8868}\u{793a}\u{3059}\u{308b}", 1, 100_001),
            Some("Shift_JIS")
        )
    );
    // A file that is too large to be edited is read line by line.
    let large = page(b"gr\xf6\xdfe\n".repeat(1 << 20), 1_000_000, 1);
    assert_eq!(
        (shown(&large).0, large.encoding.as_deref()),
        ("1000000\tgr\u{f6}\u{df}e", Some("windows-1252"))
    );
    // What the model says goes before what it looks like.
    let files = FakeFiles::new().with("f", b"\xf6\n");
    let greek = read(&files, r#"{"path": "f", "encoding": "iso-8859-7"}"#).unwrap();
    assert_eq!(
        (shown(&greek).0, greek.encoding.as_deref()),
        ("1\t\u{3c6}", Some("ISO-8859-7"))
    );
    // With an encoding, also a file with zeros is text.
    let zero = FakeFiles::new()
        .with("n.log", b"one\0two\nthree\n")
        .with("u", b"\xff\xfea\0\0\0");
    let shown_as = |json: &str| read(&zero, json).unwrap().content.unwrap();
    for encoding in ["utf-8", "latin1"] {
        let json = format!(r#"{{"path": "n.log", "encoding": "{encoding}"}}"#);
        assert_eq!(shown_as(&json), "1\tone<U+0000>two\n2\tthree");
    }
    let json = r#"{"path": "u", "encoding": "utf-16le"}"#;
    assert_eq!(shown_as(json), "1\ta<U+0000>");
    let wrong = refused(&files, r#"{"path": "f", "encoding": "shift_jis"}"#);
    assert_eq!(wrong, "file is not valid Shift_JIS: f");
    // A file is shown although not all of it is what its beginning looks like.
    let gbk = toolhost_edit::encoding::Encoding::named("gbk").unwrap();
    let chinese = gbk.encode("中文文字处理\n").unwrap().repeat(40_000);
    let mixed = page([&chinese[..], b"\xff\n"].concat(), 40_000, 2);
    assert_eq!(
        (shown(&mixed).0, mixed.encoding.as_deref()),
        ("40000\t中文文字处理\n40001\t\u{fffd}", Some("GBK"))
    );
    assert!(mixed.note.unwrap().contains("cannot edit"));
}

#[test]
fn what_has_no_ink_is_shown_by_its_number() {
    let hidden = page("foo\u{200b}bar\n\u{202e}a\x0c\rb\u{feff}\r\n", 1, 0);
    assert_eq!(
        shown(&hidden).0,
        "1\tfoo<U+200B>bar\n2\t<U+202E>a<U+000C><U+000D>b<U+FEFF>"
    );
    assert_eq!(
        hidden.note.as_deref(),
        Some(
            "5 characters without ink are shown by number, such as <U+200B>; edit_files takes that for the character"
        )
    );
    let one = page("a\u{200b}", 1, 0).note.unwrap();
    assert!(one.starts_with("1 character without ink is shown"), "{one}");
    assert_eq!(page("👨\u{200d}👩 \u{e4}\t", 1, 0).note, None);
}

#[test]
fn directories_are_listed() {
    let files = FakeFiles::new().with("d/b", "").with("d/a/x", "");
    let page = read(&files, r#"{"path": "d"}"#).unwrap();
    assert_eq!(
        (page.kind, page.more_entries),
        (Some(Kind::Directory), false)
    );
    assert_eq!(page.entries.unwrap(), ["a/", "b"]);
    let many = (0..201).fold(FakeFiles::new(), |files, n| {
        files.with(&format!("f{n:03}"), "")
    });
    let page = read(&many, r#"{"path": "."}"#).unwrap();
    assert_eq!(
        (page.entries.unwrap().len(), page.more_entries),
        (200, true)
    );
}

#[test]
fn what_is_wrong_is_said() {
    let files = FakeFiles::new()
        .with("f", "x")
        .with("d/main.rs", "")
        .with("d/other.rs", "")
        .fails("locked", Error::Denied("permission denied".into()))
        .fails("pipe", Error::NotAFile)
        .alias("d/main.link", "gone")
        .with("d/\u{fffd}", "")
        .fails("d/\u{fffd}", Error::NotFound);
    for (json, text) in [
        ("{}", "path is required"),
        (
            "{\"path\": \"d/\u{fffd}\"}",
            "file does not exist: d/\u{fffd}; its name is not UTF-8; use execute for this file",
        ),
        (
            r#"{"path": "d/main.link"}"#,
            "file does not exist: d/main.link; it is a symbolic link, and its target does not exist",
        ),
        (r#"{"path": "x"}"#, "file does not exist: x"),
        (
            r#"{"path": "d/main.r"}"#,
            "file does not exist: d/main.r; did you mean d/main.rs?",
        ),
        (
            r#"{"path": "f "}"#,
            "file does not exist: f  (with the blanks around it; for \"f\" leave them out)",
        ),
        (
            r#"{"path": "~/f"}"#,
            "~/f: \"~\" is not expanded here; use a path in /workspace, absolute or relative to it (or ./ in front, if the name is \
             meant as it is)",
        ),
        (
            r#"{"path": "f", "encoding": "latin-9000"}"#,
            "encoding \"latin-9000\" is not known; use a name such as utf-8, utf-16le, windows-1252 or shift_jis",
        ),
        (r#"{"path": "locked"}"#, "permission denied: locked"),
        (r#"{"path": "pipe"}"#, "not a file: pipe"),
        (
            r#"{"path": "f", "offset": -1}"#,
            "offset must not be negative, and is -1",
        ),
        (
            r#"{"path": "f", "limit": -5}"#,
            "limit must not be negative, and is -5",
        ),
        (
            r#"{"path": "../secret"}"#,
            "../secret is outside of the workspace; use paths in /workspace, and execute for other files",
        ),
    ] {
        assert_eq!(refused(&files, json), text);
    }
    let zero = read(&files, r#"{"path": "f", "offset": 0}"#).unwrap();
    assert_eq!(zero.lines_read, Some(1));
}

#[test]
fn the_schema() {
    let schema = Schema::of_arguments::<Arguments>();
    insta::assert_snapshot!(schema.value().to_string(), @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"The file to read, or a directory to list: absolute, or relative to the workspace directory."},"offset":{"type":"integer","minimum":1,"description":"The line to begin at; the first one is 1."},"limit":{"type":"integer","minimum":1,"description":"How many lines to read at most; 2000 if not given, and never more."},"encoding":{"type":"string","description":"The encoding of the file, such as \"shift_jis\". Default: the one that it seems to have. With an encoding, any file is read as text."},"pages":{"type":"string","description":"The pages of a PDF file to read, such as \"3\", \"2-5\" or \"1,4-6,9-\". Default: from the first one on."}},"required":["path"]}"#);
    insta::assert_snapshot!(ReadFile::output_schema().unwrap().value().to_string(), @r#"{"type":"object","properties":{"kind":{"type":"string","enum":["archive","binary","directory","image","notebook","pdf"],"description":"What it is, if it is not text."},"content":{"type":"string","description":"The lines, each preceded by its number and a tab; for a script, the text as it is. Of a PDF file its text, of a notebook its cells, of an archive its entries with size and time."},"entries":{"type":"array","items":{"type":"string"},"description":"The names in the directory. A `/` is behind those of directories; pipes, sockets and devices are marked."},"more_entries":{"type":"boolean","description":"Whether the directory or the archive has more names than are listed."},"file_size":{"type":"integer","description":"The size of the file in bytes.","minimum":0},"media_type":{"type":"string","description":"What kind of file it seems to be."},"image":{"type":"object","properties":{"width":{"type":"integer","description":"The width of the image in the file, in pixels.","minimum":0},"height":{"type":"integer","description":"Its height.","minimum":0},"shown_width":{"type":"integer","description":"The width of the image that is shown, if it is smaller.","minimum":0},"shown_height":{"type":"integer","description":"Its height.","minimum":0},"shown_as":{"type":"string","description":"The type of the image that is shown, if it is another one than that of the file."}},"required":["width","height"],"description":"The sizes of an image, which follows the reply."},"pages":{"type":"string","description":"The pages of a PDF file that are in the content."},"next_pages":{"type":"string","description":"The pages that follow: the argument pages of the next call."},"total_pages":{"type":"integer","description":"How many pages the PDF file has.","minimum":0},"total_cells":{"type":"integer","description":"How many cells the notebook has.","minimum":0},"total_entries":{"type":"integer","description":"How many entries the archive has.","minimum":0},"encoding":{"type":"string","description":"The encoding of the file, if it is not UTF-8, and whether it has a byte order mark."},"total_lines":{"type":"integer","description":"How many lines the file has; left out where it is too large to be counted.","minimum":0},"line_endings":{"type":"string","description":"The line endings of the page, if they are not LF. The lines are shown without them."},"lines_read":{"type":"integer","description":"How many lines the page has.","minimum":0},"next_offset":{"type":"integer","description":"The offset of the next page.","minimum":0},"truncated_by":{"description":"What ended the page before the end of the file.","oneOf":[{"type":"string","const":"lines","description":"It has as many lines as were asked for, or as a page may have."},{"type":"string","const":"bytes","description":"It has as many bytes as a page may have."}]},"version":{"type":"string","description":"The version of the file, for if_unmodified_since of write_file."},"note":{"type":"string","description":"What else there is to know."}},"description":"The reply. What does not apply is left out."}"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Page by page, the lines are those of the file, each once, and every page keeps to its limits.
    #[test]
    fn pages_make_the_file(
        lines in prop::collection::vec("[a-zä]{0,40}|[x]{900,1100}", 0..120),
        last in any::<bool>(),
        limit in 1_u64..50,
    ) {
        let mut content = lines.join("\n");
        if last && !lines.is_empty() {
            content.push('\n');
        }
        let expected: Vec<&str> = content.lines().collect();
        let files = FakeFiles::new().with("f", &content);
        let mut seen: Vec<String> = Vec::new();
        let mut offset = 1;
        loop {
            let page = read(&files, &format!(r#"{{"path": "f", "offset": {offset}, "limit": {limit}}}"#)).unwrap();
            let text = page.content.unwrap();
            prop_assert!(text.len() <= 32 << 10);
            prop_assert!(page.lines_read.unwrap() <= limit);
            prop_assert_eq!(page.total_lines, Some(expected.len() as u64));
            if page.lines_read != Some(0) {
                seen.extend(text.split('\n').map(str::to_owned));
            }
            match page.next_offset {
                Some(next) => {
                    prop_assert!(next > offset);
                    offset = next;
                }
                None => break,
            }
        }
        prop_assert_eq!(seen.len(), expected.len());
        for (index, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            let (number, line) = seen.split_once('\t').unwrap();
            prop_assert_eq!(number, (index + 1).to_string());
            match line.strip_suffix("... [truncated]") {
                Some(start) => prop_assert!(expected.len() > 1024 && expected.starts_with(start)),
                None => prop_assert_eq!(line, *expected),
            }
        }
    }

    #[test]
    fn any_bytes_can_be_read(content in prop::collection::vec(any::<u8>(), 0..3000), offset in 0_u64..20) {
        let files = FakeFiles::new().with("f", &content);
        // A page or an error, and never a panic.
        _ = read(&files, &format!(r#"{{"path": "f", "offset": {offset}}}"#));
    }
}

#[test]
fn programs_read_the_text_as_it_is() {
    let json = "{\n  \"a\": [1, 2]\n}\n";
    let long = "x".repeat(200_000);
    let files = FakeFiles::new()
        .with("f", json)
        .with("long", &long)
        .with("empty", "");
    let read = |json: &str| {
        let arguments = testing::arguments(json).unwrap();
        run(&files, &arguments, Reader::Program).unwrap()
    };
    let all = read(r#"{"path": "f"}"#);
    assert_eq!(shown(&all), (json, 3, 3));
    assert_eq!((all.next_offset, all.truncated_by), (None, None));
    let one = read(r#"{"path": "f", "offset": 2, "limit": 1}"#);
    assert_eq!(shown(&one), ("  \"a\": [1, 2]\n", 1, 3));
    assert_eq!(
        (one.next_offset, one.truncated_by),
        (Some(3), Some(TruncatedBy::Lines))
    );
    assert_eq!(shown(&read(r#"{"path": "long"}"#)), (long.as_str(), 1, 1));
    assert_eq!(shown(&read(r#"{"path": "empty"}"#)), ("", 0, 0));
}

#[test]
fn a_page_for_programs_ends_with_a_line() {
    let line = format!("{}\n", "x".repeat(1023));
    let files = FakeFiles::new().with("f", line.repeat(9 << 10));
    let read = |json: &str| {
        let arguments = testing::arguments(json).unwrap();
        run(&files, &arguments, Reader::Program).unwrap()
    };
    let first = read(r#"{"path": "f"}"#);
    assert_eq!(
        (first.lines_read, first.next_offset),
        (Some(8 << 10), Some((8 << 10) + 1))
    );
    assert_eq!(
        (first.total_lines, first.truncated_by),
        (Some(9 << 10), Some(TruncatedBy::Bytes))
    );
    let rest = read(r#"{"path": "f", "offset": 8193}"#);
    assert_eq!((rest.lines_read, rest.next_offset), (Some(1 << 10), None));
}
