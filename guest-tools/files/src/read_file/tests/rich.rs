//! Files that are no text.

use super::*;

fn parsed(file: impl AsRef<[u8]>, json: &str) -> Result<Page, String> {
    let files = FakeFiles::new().with("f", file);
    match read(&files, json) {
        Ok(page) => Ok(page),
        Err(Refusal::Report(text)) => Err(text),
        Err(Refusal::Error(error)) => Err(error.to_string()),
    }
}

#[test]
fn documents_are_read_page_by_page() {
    let lines: Vec<_> = (1..=1200).map(|page| format!("page {page}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let file = pdf::tests::pages(&lines);
    let first = parsed(&file, r#"{"path": "f"}"#).unwrap();
    assert_eq!(
        (first.kind, first.total_pages),
        (Some(Kind::Pdf), Some(1200))
    );
    assert_eq!(first.pages.as_deref(), Some("1-659"));
    assert_eq!(first.next_pages.as_deref(), Some("660-1200"));
    assert!(first.content.unwrap().len() <= 32 << 10);
    assert_eq!((first.next_offset, first.total_lines), (None, None));
    let next = parsed(&file, r#"{"path": "f", "pages": "660-1200"}"#).unwrap();
    assert!(
        next.content
            .unwrap()
            .starts_with("1\t--- page 660 of 1200 ---\n2\tpage 660\n3\t--- page 661")
    );
    let some = parsed(&file, r#"{"path": "f", "pages": "2,1190-", "limit": 4}"#).unwrap();
    assert_eq!(
        some.content.as_deref(),
        Some("1\t--- page 2 of 1200 ---\n2\tpage 2\n3\t--- page 1190 of 1200 ---\n4\tpage 1190")
    );
    assert_eq!(
        (some.pages.as_deref(), some.next_pages.as_deref()),
        (Some("2,1190"), Some("1191-1200"))
    );
    for (json, text) in [
        (
            r#"{"path": "f", "pages": "1201"}"#,
            "there is no page 1201: it has 1200 pages: f",
        ),
        (
            r#"{"path": "f", "pages": "1", "encoding": "utf-8"}"#,
            "pages cannot be combined with encoding, with which the file is read as text; leave one of them out",
        ),
        (
            r#"{"path": "f", "pages": "two"}"#,
            "pages \"two\" are no pages; write them as in \"3\", \"2-5\" or \"1,4-6\"",
        ),
        (
            r#"{"path": "f", "pages": "1", "offset": 9}"#,
            "offset 9 is beyond the file length of 2 lines",
        ),
    ] {
        assert_eq!(parsed(&file, json).unwrap_err(), text);
    }
    assert_eq!(
        parsed("text", r#"{"path": "f", "pages": "1"}"#).unwrap_err(),
        "pages is for PDF files, and this is none: f"
    );
    // A strict model sends null for an argument that it leaves out.
    let none = r#"{"path": "f", "offset": null, "limit": null, "encoding": null, "pages": null}"#;
    assert_eq!(
        parsed("text", none).unwrap().content.as_deref(),
        Some("1\ttext")
    );
    assert_eq!(
        parsed("text", r#"{"path": "f", "pages": ""}"#)
            .unwrap()
            .lines_read,
        Some(1)
    );
}

#[test]
fn a_page_that_is_too_long_is_read_with_offsets() {
    let lines = vec!["x"; 3000].join(") Tj 0 -14 Td (");
    let file = pdf::tests::pages(&[&lines, "last"]);
    let first = parsed(&file, r#"{"path": "f"}"#).unwrap();
    assert_eq!(
        (first.pages.as_deref(), first.next_offset),
        (Some("1"), Some(2001))
    );
    assert_eq!((first.next_pages, first.total_lines), (None, None));
    let note =
        "these pages have more lines; to read on, call again with offset: 2001 and the same pages";
    assert_eq!(first.note.as_deref(), Some(note));
    let rest = parsed(&file, r#"{"path": "f", "offset": 2001}"#).unwrap();
    assert!(rest.content.unwrap().ends_with("3003\tlast"));
    assert_eq!((rest.pages.as_deref(), rest.note), (Some("1-2"), None));
    assert_eq!(
        (rest.next_offset, rest.next_pages, rest.total_lines),
        (None, None, Some(3003))
    );
}

#[test]
fn texts_that_begin_like_a_format_are_texts() {
    for text in ["%PDF-1.7 is a version", "GIF89a", "{\"cells\": 3}"] {
        let page = parsed(text, r#"{"path": "f"}"#).unwrap();
        assert_eq!(
            (page.kind, page.content),
            (None, Some(format!("1\t{text}")))
        );
    }
    // With an encoding, a file is text whatever it has.
    let notebook = notebook::tests::notebook(&serde_json::json!([]));
    let cells = parsed(&notebook, r#"{"path": "f"}"#).unwrap();
    assert_eq!(
        (cells.kind, cells.total_cells),
        (Some(Kind::Notebook), Some(0))
    );
    let text = parsed(&notebook, r#"{"path": "f", "encoding": "utf-8"}"#).unwrap();
    assert_eq!((text.kind, text.total_lines), (None, Some(10)));
    // A script takes it apart itself.
    let files = FakeFiles::new().with("f", &notebook);
    let arguments = testing::arguments(r#"{"path": "f"}"#).unwrap();
    let raw = run(&files, &arguments, Reader::Program).unwrap();
    assert_eq!(raw.content.unwrap().as_bytes(), notebook);
}

#[test]
fn images_of_notebooks_are_shown_with_their_lines() {
    use base64::Engine as _;
    let png = base64::engine::general_purpose::STANDARD.encode(image::tests::picture());
    let output = serde_json::json!({ "output_type": "display_data", "data": { "image/png": png } });
    let cell = serde_json::json!({ "cell_type": "code", "source": "x", "outputs": [output] });
    let file = notebook::tests::notebook(&vec![cell; 6].into());
    let first = parsed(&file, r#"{"path": "f", "limit": 4}"#).unwrap();
    assert_eq!((first.images.len(), first.total_lines), (1, Some(24)));
    let all = parsed(&file, r#"{"path": "f"}"#).unwrap();
    assert_eq!(all.images.len(), 4);
    assert!(
        all.note
            .unwrap()
            .contains("2 images of these cells are not shown")
    );
    let none = parsed(&file, r#"{"path": "f", "offset": 21, "limit": 2}"#).unwrap();
    assert_eq!(
        (none.images.len(), none.note.unwrap().contains("not shown")),
        (0, false)
    );
}

/// One file of each kind that is told by content.
fn kinds() -> Vec<Vec<u8>> {
    let tar = archive::tests::tar(&[("a", b"text"), ("b/c", b"")]);
    let image = |format| image::tests::encoded(&image::tests::drawing(9, 5), format);
    vec![
        image(::image::ImageFormat::Png),
        image(::image::ImageFormat::Jpeg),
        image(::image::ImageFormat::Gif),
        image(::image::ImageFormat::WebP),
        pdf::tests::pages(&["one", "two"]),
        notebook::tests::notebook(
            &serde_json::json!([{ "cell_type": "code", "source": "x", "outputs": [] }]),
        ),
        archive::tests::gzip(&tar),
        tar,
        archive::tests::zip(&[("a", b"text"), ("b/c", b"")]),
    ]
}

#[test]
fn every_kind_is_told_by_content() {
    let found: Vec<_> = kinds()
        .iter()
        .map(|file| parsed(file, r#"{"path": "f"}"#).unwrap())
        .map(|page| (page.kind.unwrap(), page.images.len()))
        .collect();
    let (image, archive) = ((Kind::Image, 1), (Kind::Archive, 0));
    let others = [
        (Kind::Pdf, 0),
        (Kind::Notebook, 0),
        archive,
        archive,
        archive,
    ];
    assert_eq!(found, [[image; 4].as_slice(), &others].concat());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A page or an error, and never a panic, whatever some bytes become and wherever the file ends.
    #[test]
    fn damaged_files_of_every_kind_are_read(
        kind in 0..9_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<Option<prop::sample::Index>>(),
    ) {
        let mut file = kinds().swap_remove(kind);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(end) = end {
            file.truncate(end.index(file.len()));
        }
        _ = parsed(file, r#"{"path": "f"}"#);
    }
}
