//! Documents that are made here.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

const ALL: Room = Room {
    skipped: 0,
    lines: 2_000,
    bytes: 32 << 10,
};

/// Writes a file of these objects, of which the first one is the catalog.
pub(in crate::read_file) fn file(objects: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n", index + 1).bytes());
        file.extend(object.as_ref());
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = places.len() + 1;
    file.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes(),
    );
    file
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// A document with a page for each of these contents, in Helvetica as `F`, and with further objects from number 4 on.
fn document(contents: &[&str], resources: &str, further: &[Vec<u8>]) -> Vec<u8> {
    let first = 4 + further.len();
    let kids: Vec<_> = (0..contents.len())
        .map(|page| format!("{} 0 R", first + 2 * page))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Count 1000000000 /Kids [{}] >>",
            kids.join(" ")
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    objects.extend(further.iter().cloned());
    for (index, content) in contents.iter().enumerate() {
        let number = first + 2 * index + 1;
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number} 0 R \
                 /Resources << /Font << /F 3 0 R >> {resources} >> >>"
            )
            .into_bytes(),
        );
        objects.push(stream("", content.as_bytes()));
    }
    file(&objects)
}

/// A document whose pages have one line each.
pub(in crate::read_file) fn pages(lines: &[&str]) -> Vec<u8> {
    let contents: Vec<_> = lines
        .iter()
        .map(|line| format!("BT /F 12 Tf 72 700 Td ({line}) Tj ET"))
        .collect();
    let contents: Vec<_> = contents.iter().map(String::as_str).collect();
    document(&contents, "", &[])
}

fn all(file: Vec<u8>) -> Pages {
    read(file, &Selection::default(), ALL).unwrap()
}

/// Returns the text of a document with one page.
fn text(content: &str) -> String {
    let text = all(document(&[content], "", &[])).text;
    text.strip_prefix("--- page 1 of 1 ---\n")
        .unwrap()
        .to_owned()
}

#[test]
fn pages_are_read_in_order() {
    let read_all = all(pages(&["one", "two", "three"]));
    assert_eq!(
        read_all.text,
        "--- page 1 of 3 ---\none\n--- page 2 of 3 ---\ntwo\n--- page 3 of 3 ---\nthree\n"
    );
    assert_eq!(
        (read_all.total, read_all.shown, read_all.note),
        (3, vec![1, 2, 3], None)
    );
    let selection = Selection::parse("3,1").unwrap();
    let some = read(pages(&["one", "two", "three"]), &selection, ALL).unwrap();
    assert_eq!(
        some.text,
        "--- page 1 of 3 ---\none\n--- page 3 of 3 ---\nthree\n"
    );
    let beyond = Selection::parse("4").unwrap();
    let refused = read(pages(&["one"]), &beyond, ALL).unwrap_err();
    assert_eq!(refused, "there is no page 4: it has 1 page");
}

#[test]
fn a_reply_ends_with_a_page() {
    let room = |skipped, lines| Room {
        skipped,
        lines,
        bytes: 32 << 10,
    };
    let file = || pages(&["one", "two", "three"]);
    let read = |room| read(file(), &Selection::default(), room).unwrap();
    let two = read(room(0, 5));
    assert_eq!((two.shown, two.rest), (vec![1, 2], vec![3]));
    // The first one is there even if it is too large.
    let one = read(room(0, 1));
    assert_eq!((one.shown, one.rest), (vec![1], vec![2, 3]));
    // Lines that are left out take no room.
    let behind = read(room(2, 4));
    assert_eq!((behind.shown, behind.rest), (vec![1, 2, 3], vec![]));
}

#[test]
fn lines_and_spaces_follow_from_the_places() {
    for (content, expected) in [
        ("BT /F 12 Tf 72 700 Td (Hello) Tj ET", "Hello\n"),
        (
            "BT /F 12 Tf 72 700 Td [(Hel) 20 (lo) -400 (world)] TJ ET",
            "Hello world\n",
        ),
        (
            "BT /F 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj (three) ' ET",
            "one\ntwo\nthree\n",
        ),
        (
            "BT /F 12 Tf 72 700 Td (one) Tj 0 -40 Td (two) Tj ET",
            "one\n\ntwo\n",
        ),
        (
            "BT /F 12 Tf 1 0 0 1 72 700 Tm (a) Tj 1 0 0 1 200 700 Tm (b) Tj ET",
            "a b\n",
        ),
        (
            "BT /F 12 Tf 0 1 -1 0 72 72 Tm (up) Tj ( there) Tj ET",
            "up there\n",
        ),
        (
            "q 2 0 0 2 0 0 cm BT /F 6 Tf 30 300 Td (big) Tj ET Q",
            "big\n",
        ),
        (
            "BT /F 12 Tf 72 700 Td (x) Tj /F 7 Tf 4 Ts (2) Tj ET",
            "x2\n",
        ),
        ("BT /F 12 Tf 10 0 0 (w) \" (x) Tj ET", "wx\n"),
        ("BT /F 12 Tf 72 700 Td (gr\\374n) Tj ET", "gr\u{fc}n\n"),
        ("BT /F 12 Tf 72 700 Td (a\\012b) Tj ET", "ab\n"),
        ("BT (no font) Tj ET", "[no text]\n"),
        ("", "[no text]\n"),
    ] {
        let found = text(content);
        let found = match content.contains("\\012") {
            true => found.replace([' ', '\u{fffd}'], ""),
            false => found,
        };
        assert_eq!(found, expected, "{content}");
    }
}

#[test]
fn text_in_forms_is_read() {
    let form = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 100 100] /Resources << /Font << /F 3 0 R >> >>",
        b"BT /F 12 Tf 0 0 Td (inside) Tj ET",
    );
    let resources = "/XObject << /X 4 0 R >>";
    let read = all(document(
        &["q 1 0 0 1 72 700 cm /X Do Q"],
        resources,
        &[form],
    ));
    assert_eq!(read.text, "--- page 1 of 1 ---\ninside\n");
}

#[test]
fn scans_and_damage_are_said() {
    let image = stream(
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray",
        b"x",
    );
    let scan = all(document(&["/X Do"], "/XObject << /X 4 0 R >>", &[image]));
    assert_eq!(scan.text, "--- page 1 of 1 ---\n[no text, but images]\n");
    assert!(scan.note.unwrap().contains("scans"));
    let damaged = |file: &[u8]| read(file.to_vec(), &Selection::default(), ALL).unwrap_err();
    assert_eq!(damaged(b"%PDF-1.7\n"), "it is damaged");
    assert_eq!(damaged(b"%PDF-"), "it is damaged");
    let none = file(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [] /Count 0 >>",
    ]);
    assert_eq!(damaged(&none), "it has no pages, or is damaged");
    // A file without its table of objects is mended.
    let whole = pages(&["one"]);
    let cut = whole.windows(4).position(|four| four == b"xref").unwrap();
    assert_eq!(
        all(whole[..cut].to_vec()).text,
        "--- page 1 of 1 ---\none\n"
    );
}

#[test]
fn what_is_encrypted_needs_a_password() {
    let text = String::from_utf8(pages(&["secret"])).unwrap();
    let key = "00".repeat(32);
    let encrypt = format!(
        "/ID [<00><00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{key}> /U <{key}> >> >>\nstartxref"
    );
    let file = text.replace(">>\nstartxref", &encrypt).into_bytes();
    let why = read(file, &Selection::default(), ALL).unwrap_err();
    assert!(
        why.starts_with("it is encrypted and needs a password"),
        "{why}"
    );
}

/// Documents that try to take forever.
#[test]
fn what_goes_in_circles_ends() {
    // Each form has the next one ten times.
    let form = |next: usize| {
        let entries = format!(
            "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {next} 0 R >> >>"
        );
        stream(&entries, "/X Do ".repeat(10).as_bytes())
    };
    let forms: Vec<_> = (5..18).map(form).collect();
    let resources = "/XObject << /X 4 0 R >>";
    let bomb = document(&["/X Do", "BT /F 9 Tf (b) Tj ET"], resources, &forms);
    let read = all(bomb);
    assert_eq!((&read.shown, &read.rest), (&vec![1], &vec![2]));
    assert!(read.note.unwrap().contains("too much"));
    // A form that has itself.
    let own =
        "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 4 0 R >> >>";
    let circle = document(
        &["/X Do BT /F 9 Tf (b) Tj ET"],
        resources,
        &[stream(own, b"/X Do /X Do")],
    );
    assert_eq!(all(circle).text, "--- page 1 of 1 ---\nb\n");
    // A tree of pages that has itself.
    let circle = file(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>",
    ]);
    assert!(super::read(circle, &Selection::default(), ALL).is_err());
    // Nested without end.
    let deep = format!("<< /Type /Catalog /Pages 2 0 R /X {}", "[".repeat(100_000));
    assert!(super::read(file(&[deep]), &Selection::default(), ALL).is_err());
    let content = format!("{} BT /F 9 Tf (b) Tj ET", "q ".repeat(100_000));
    assert_eq!(text(&content), "b\n");
}

#[test]
fn a_page_that_unpacks_to_a_lot_ends() {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"BT /F 9 Tf (begin) Tj ET ").unwrap();
    let operators = b"(x) Tj ".repeat(10_000);
    for _ in 0..40 {
        packed.write_all(&operators).unwrap();
    }
    let content = stream("/Filter /FlateDecode", &packed.finish().unwrap());
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Count 1 /Kids [4 0 R] >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 3 0 R >> >> >>"
            .to_vec(),
        content,
    ];
    let read = all(file(&objects));
    assert!(read.text.starts_with("--- page 1 of 1 ---\nbegin"));
    assert!(read.text.len() < 3 << 20);
}

/// Pages count with all that they unpack to, whatever little of it is text.
#[test]
fn pages_that_unpack_to_a_lot_are_read_by_several_calls() {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"BT /F 9 Tf (x) Tj ET ").unwrap();
    packed.write_all(&vec![b' '; 17 << 20]).unwrap();
    let page =
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F 3 0 R >> >> >>";
    let parts = "<< /Type /Page /Parent 2 0 R /Contents [4 0 R 4 0 R 4 0 R 4 0 R 4 0 R] /Resources << /Font << /F 3 0 R >> >> >>";
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Count 6 /Kids [5 0 R 6 0 R 7 0 R 8 0 R 9 0 R 10 0 R] >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        stream("/Filter /FlateDecode", &packed.finish().unwrap()),
    ];
    objects.extend(vec![page.as_bytes().to_vec(); 5]);
    objects.push(parts.as_bytes().to_vec());
    let file = file(&objects);
    let read = |pages: &str| {
        let selection = Selection::parse(pages).unwrap();
        super::read(file.clone(), &selection, ALL).unwrap()
    };
    let first = read("1-5");
    assert_eq!((first.shown, first.rest), (vec![1, 2, 3], vec![4, 5]));
    assert_eq!(first.note, None);
    // One page with more than that.
    let large = read("6");
    assert_eq!(large.text, "--- page 6 of 6 ---\nx\n");
    assert!(large.note.unwrap().contains("too much"));
}

#[test]
fn one_long_string_is_bounded() {
    let content = format!("BT /F 9 Tf ({}) Tj ET", "x".repeat(3 << 20));
    let read = all(document(&[&content], "", &[]));
    assert!(read.text.len() < (1 << 20) + 100, "{}", read.text.len());
    assert!(read.note.unwrap().contains("too much"));
}

#[test]
fn a_state_that_is_not_kept_is_not_brought_back() {
    let content = format!(
        "{} BT /F 12 Tf ET q q Q Q BT 72 700 Td (x) Tj ET",
        "q ".repeat(256)
    );
    assert_eq!(text(&content), "x\n");
}
