//! Files in encodings of all kinds.

use proptest::prelude::*;

use super::*;

fn named(name: &str) -> Encoding {
    Encoding::named(name).unwrap()
}

/// Texts as they stand in files, and the encodings that they are found in.
const TEXTS: &[(&str, &str)] = &[
    ("windows-1252", "# naïve café\nname = \"Müller\"\n"),
    ("windows-1252", "x = 1 # größe\n"),
    ("windows-1252", "El Niño llegó a España el año pasado.\r\n"),
    ("windows-1252", "São Paulo não é a capital\n"),
    ("Shift_JIS", "表示する\nパス = C:\\テスト\\ソース\n"),
    ("Shift_JIS", "# 日本語のコメントです。\nprint(1)\n"),
    ("EUC-JP", "# 日本語のコメントです。これはテスト。\n"),
    (
        "gb18030",
        "// \u{8FD9}\u{662F}\u{4E00}\u{4E2A}\u{6CE8}\u{91CA} \u{20AC} \u{3400}\n",
    ),
    ("GBK", "// 这是一个注释，说明函数的用途\nint x;\n"),
    ("Big5", "// 這是一個註解，說明函式的用途\nint x;\n"),
    ("EUC-KR", "// 이것은 주석입니다. 함수의 용도를 설명합니다\n"),
    (
        "windows-1251",
        "# Привет, мир! Это комментарий к программе\n",
    ),
    ("KOI8-U", "# Привет, мир! Это комментарий к программе\n"),
    ("windows-1250", "# Příliš žluťoučký kůň úpěl ďábelské ódy\n"),
    ("windows-1253", "# Καλημέρα κόσμε, αυτό είναι ένα σχόλιο\n"),
    (
        "UTF-16LE",
        "\u{FEFF}Windows Registry Editor Version 5.00\r\n\"ä\"=\"😀\"\r\n",
    ),
    ("UTF-16BE", "\u{FEFF}plain\n"),
    ("UTF-16LE", "no mark\n日本語 and 😀\n"),
    ("UTF-16BE", "no mark\n日本語 and 😀\n"),
    ("UTF-16LE", "没有标记的中文文本，只有一个换行\n"),
    ("UTF-8", "ä 日本語 😀\n"),
    ("UTF-8", "\u{FEFF}with a mark\n"),
    ("UTF-8", "ascii\n"),
    ("UTF-8", ""),
];

#[test]
fn texts_are_read_in_the_encoding_that_they_have() {
    for (name, text) in TEXTS {
        let encoding = named(name);
        let bytes = encoding.encode(text).unwrap();
        let read = Text::read(bytes.clone(), None).unwrap();
        assert_eq!(
            (read.encoding.name(), str::from_utf8(&read.bytes)),
            (*name, Ok(*text))
        );
        assert_eq!(read.encoded(&read.bytes), Ok(bytes.clone()));
        assert_eq!(Text::read(bytes, Some(encoding)), Ok(read));
    }
}

#[test]
fn what_is_no_text_is_told() {
    let elf = [&b"\x7FELF\x02\x01\x01"[..], &[0; 64]].concat();
    let random: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let no_zeros: Vec<u8> = random.iter().copied().filter(|byte| *byte != 0).collect();
    for (bytes, why) in [
        (
            &b"PK\x03\x04\x14\0\0\0\x08\0"[..],
            "file is binary (application/zip), not text",
        ),
        (&elf, "file is binary (application/x-executable), not text"),
        (
            b"\x89PNG\r\n\x1A\n\xFF\xC0",
            "file is binary (image/png), not text",
        ),
        (
            b"\x1F\x8B\x08\xFF\xC0\xC1",
            "file is binary (application/gzip), not text",
        ),
        (b"a\0b\n", "file is binary, not text"),
        (b"text and\0\0more", "file is binary, not text"),
        (&random, "file is binary, not text"),
        (&no_zeros, "file is binary, not text"),
        (b"\x01\0\x02\0\x03\0", "file is binary, not text"),
        (b"\xFF\xFE\0\xD8\n\0", "file is binary, not text"),
        (
            b"\xFF\xFE\0\0a\0\0\0",
            "file is text in UTF-32, which is not supported",
        ),
    ] {
        let refused = Text::read(bytes.to_vec(), None).unwrap_err();
        assert_eq!(refused.to_string(), why, "{bytes:?}");
        // A name does not make it text.
        assert!(Text::read(bytes.to_vec(), Some(named("latin1"))).is_err() || bytes == no_zeros);
    }
}

#[test]
fn utf_8_with_some_other_bytes_stays_utf_8() {
    let bytes = b"\xC3\xA4 \xE6\x97\xA5 \xFF\n";
    let text = Text::read(bytes.to_vec(), None).unwrap();
    assert_eq!((text.encoding, &*text.bytes), (Encoding::Utf8, &bytes[..]));
    assert_eq!(text.encoded(b"\xFF!").unwrap(), b"\xFF!");
}

#[test]
fn a_character_that_an_encoding_lacks_is_named_with_its_line() {
    for (name, text, why) in [
        (
            "latin1",
            "a\né\n→",
            "windows-1252 has no character U+2192 \"→\", which line 3 of the new text has",
        ),
        (
            "shift_jis",
            "\u{A0}",
            "Shift_JIS has no character U+00A0, which line 1 of the new text has",
        ),
        (
            "gbk",
            "中\n中😀",
            "GBK has no character U+1F600 \"😀\", which line 2 of the new text has",
        ),
    ] {
        let refused = named(name).encode(text).unwrap_err();
        assert_eq!(refused.to_string(), why);
    }
}

#[test]
fn what_would_not_come_back_is_not_edited() {
    // Two codes of Shift_JIS for one character.
    let twice = b"\x87\x90\x81\xE0\n".to_vec();
    let encoding = Some(named("shift_jis"));
    assert_eq!(
        Text::read(twice.clone(), encoding),
        Err(NotText::Lossy(named("shift_jis")))
    );
    let (text, lossless) = Text::decode(twice, encoding).unwrap();
    assert_eq!((str::from_utf8(&text.bytes), lossless), (Ok("≒≒\n"), false));
    let invalid = Text::read(b"\x82".to_vec(), encoding).unwrap_err();
    assert_eq!(invalid.to_string(), "file is not valid Shift_JIS");
    // The guess is based on the beginning.
    let chinese = "中文文字处理\n".repeat(40_000);
    let mut mixed = named("gbk").encode(&chinese).unwrap();
    mixed.push(0xFF);
    let why = Text::read(mixed, None).unwrap_err().to_string();
    assert_eq!(
        why,
        "file seems to be GBK, but some of its bytes are not; if it has another encoding, pass that as encoding"
    );
}

#[test]
fn a_mark_says_more_than_a_name() {
    let big = named("utf-16be").encode("\u{FEFF}a").unwrap();
    let text = Text::read(big.clone(), Encoding::named("utf-16")).unwrap();
    assert_eq!(text.encoding, Encoding::Utf16Be);
    let refused = Text::read(big, Encoding::named("latin1")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "file begins with the byte order mark of UTF-16BE"
    );
    assert_eq!(Encoding::named("klingon"), None);
    assert_eq!(Encoding::named("hz-gb-2312"), None);
}

proptest! {
    /// Whatever a file is taken for, writing it back changes no byte.
    #[test]
    fn every_file_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = Text::read(bytes.clone(), None) {
            prop_assert_eq!(text.encoded(&text.bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn every_text_comes_back(text in "\\PC{0,80}", name in prop::sample::select(&["utf-16le", "utf-16be", "gb18030"][..])) {
        let encoding = named(name);
        if let Ok(bytes) = encoding.encode(&text) {
            let decoded = encoding.decode(&bytes);
            prop_assert!(decoded.as_ref() == Some(&text) || name == "gb18030");
        }
    }
}

/// A word or two, as they stand in source code.
#[test]
fn short_texts_are_read_as_well() {
    for (name, text) in [
        ("Shift_JIS", "\u{8868}\u{793A}"),
        ("Shift_JIS", "\u{8868}\u{793A}\n\u{30C6}\u{30B9}\u{8868}/\n"),
        ("Shift_JIS", "\u{65E5}\u{672C}\u{8A9E}\n"),
        ("Shift_JIS", "x = \"\u{3042}\"\n"),
        ("Shift_JIS", "\u{30BD}\u{30FC}\u{30B9}"),
        ("EUC-JP", "\u{65E5}\u{672C}\u{8A9E}"),
        ("GBK", "\u{6CE8}\u{91CA}"),
        ("windows-1251", "\u{41F}\u{440}\u{438}\u{432}\u{435}\u{442}"),
        ("windows-1250", "\u{141}\u{F3}d\u{17A}\n"),
        ("windows-1252", "\u{E9}"),
        ("windows-1252", "na\u{EF}ve"),
        ("windows-1252", "don\u{2019}t\n"),
        ("windows-1252", "\u{201C}Hello\u{201D} \u{2014} world\n"),
        ("windows-1252", "\u{152}uvre, b\u{153}uf\n"),
        ("windows-1252", "pr\u{E9}f\u{E9}r\u{E9}, v\u{E9}rit\u{E9}\n"),
        ("windows-1252", "\u{A3}5 and \u{BD}\n"),
        ("windows-1252", "25 \u{B0}C \u{B1} 3\n"),
        ("windows-1252", "\u{A9} 2020\n"),
        ("windows-1252", "\u{C5}se \u{D8}ster\n"),
    ] {
        let read = Text::read(named(name).encode(text).unwrap(), None).unwrap();
        assert_eq!(
            (read.encoding.name(), str::from_utf8(&read.bytes)),
            (name, Ok(text))
        );
    }
}
